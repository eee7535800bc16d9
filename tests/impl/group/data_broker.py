"""A broker that has partitions and never runs for coordinator: no fault of a schedule is meant for it."""

from __future__ import annotations

from collections.abc import Sequence

from impl.group.coordinator import ELECTION_ID, Policy
from impl.group.process import Process
from impl.group.settings import BrokerSettings, load_broker
from impl.group.znodes import SEAT
from impl.runtime.command import run_broker
from impl.runtime.recorder import Recorder
from impl.zookeeper.election import Election


class NeverRun(Policy):
    """Nobody runs."""

    def may_run(self) -> bool:
        return False


class DataBroker(Process):
    """One broker of the cluster: it answers who the coordinator is, too."""

    def __init__(self, settings: BrokerSettings, recorder: Recorder | None = None) -> None:
        super().__init__(settings, recorder)
        self.coordinator.election = Election(settings.broker_id, NeverRun(), id=ELECTION_ID, seat=SEAT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is told to stop. Returns the exit code."""
    return run_broker("group", "A broker that is never the coordinator.", load_broker, DataBroker, arguments)
