"""The metrics of a broker: what a group's life adds to each."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from impl.group.effects import Effects
from impl.group.measures import Measures
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.runtime.effects import Did, Log
from impl.runtime.lag import Lag
from tests.impl.group.simulated import Simulation

S = 6_000


class Measured(Simulation):
    """A simulation whose coordinator is measured as a process does it."""

    def __init__(self, settings: BrokerSettings) -> None:
        self.registry = CollectorRegistry()
        self.measures = Measures(self.registry)
        super().__init__(settings, {"t": 2})

    def coordinate(self, effects: Effects) -> None:
        super().coordinate(effects)
        self.measures.after(self.core)

    def carried_out(self, effect: object) -> None:
        if isinstance(effect, Did):
            self.measures.did(effect)
        elif isinstance(effect, Log):
            self.measures.logged(effect)

    def value(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def run() -> Measured:
    started = Measured(BrokerSettings(0, "", max_consumer_session_ms=S, max_failed_pings=1, commit_interval_ms=1_000))
    started.add(ConsumerSettings((("h", 1),), "g", "a", '{"t": 1}', S))
    assert started.run(60_000, lambda: started.all_fetch(1))
    return started


def test_a_coordinator_counts_its_groups_members_and_rebalances(run: Measured) -> None:
    assert (run.value("IsCoordinator"), run.value("Groups"), run.value("Members")) == (1, 1, 1)
    labels = {"cause": "a consumer has joined", "outcome": "done"}
    assert run.value("RebalancesPerSec_total", **labels) == 1
    for phase in ("STOPPING", "COMMITTING", "WRITING", "STARTING"):
        assert run.value("RebalanceTimeMs_count", phase=phase) == 1
    assert run.value("RebalanceTimeMs_sum", phase="STOPPING") == 2, "a request and a response, of 1 ms each"
    assert run.value("RebalanceTimeMs_count", phase="IDLE") == 0


def test_time_is_counted_for_the_phase_that_took_it(run: Measured) -> None:
    run.links["a"].delay_ms = 100
    run.add(ConsumerSettings((("h", 1),), "g", "b", '{"t": 1}', S))
    assert run.run(60_000, lambda: run.all_fetch(2))
    assert run.value("RebalanceTimeMs_sum", phase="STOPPING") == 2 + 200
    assert run.value("RebalanceTimeMs_sum", phase="STARTING") == 2 + 200


def test_failed_pings_deaths_and_committed_offsets_are_counted(run: Measured) -> None:
    link = run.links["a"]
    for of, fetched in list(link.core.fetched.items()):
        link.core.begin_at(of, 0)
        link.core.consume(of, fetched.offset, 20, run.now_ms)
    run.run(S)
    assert run.value("CommittedOffsetsPerSec_total") == 2
    link.answers_cut = True
    assert run.run(5 * S, lambda: run.members == 0)
    assert run.value("FailedPings_total") >= 2 and run.value("PingTimeMs_count") >= 3
    assert run.value("PingTimeMs_bucket", le="2.0") == run.value("PingTimeMs_count"), "1 ms each way"
    assert run.value("SuspectedDead_total", cause="its pings have failed") == 1
    run.end_session()
    assert (run.value("IsCoordinator"), run.value("Members")) == (0, 0)


def test_how_late_the_loop_is_and_for_how_long_it_waited_are_counted(run: Measured) -> None:
    run.measures.lagged(Lag(late_ms=60, waited_ms=5, used_ms=50))
    run.measures.lagged(Lag(late_ms=1, waited_ms=0, used_ms=0))
    assert (run.value("LoopLagMs_sum"), run.value("ProcessorWaitMs_total")) == (61, 5)
