"""Traces of simulated clusters: what their controllers decided, projected to a partition, by `kraft/recorded`.

usage: python -m tests.impl.kraft.simulation.decided [--seeds N] [--first SEED] [--keep FOLDER]

The projection is that of real clusters (`impl.apache.recording`). A trace ends before a broker is unregistered, which
the model leaves out. Seeds of more than three brokers are passed over. Exit codes: 0 all are accepted, 1 some are not.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from checker.lang.loader import load
from checker.validate.corpus import CorpusOptions, Summary, validate
from impl.apache.recording.decisions import Decision
from impl.apache.recording.driving import CRASH, SIGTERM, START, Done
from impl.apache.recording.projection import FENCING, HEARTBEAT, places, trace
from impl.kraft.broker import BrokerState
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    BrokerHeartbeatRequest,
    ElectPreferredLeaderRequest,
    Request,
)
from impl.kraft.metadata.encoding import decode
from impl.kraft.raft.effects import AppendToLog
from impl.kraft.recorded.records import numbered
from impl.kraft.simulation.cluster import Cluster
from impl.kraft.simulation.core import Core
from impl.kraft.simulation.metadata_rules import MetadataRules
from impl.kraft.simulation.swarm import Plan, cluster_plan_of
from impl.kraft.storage.batches import RecordBatch, decode_all
from impl.kraft.storage.control import ControlType, control_type, read_leader_change

OPERATIONS: Mapping[type, str] = {
    AlterPartitionReassignmentRequest: "alterPartitionReassignments",
    ElectPreferredLeaderRequest: "electLeaders",
    BrokerHeartbeatRequest: HEARTBEAT,
    type(None): FENCING,
}
"""As Kafka's controller calls what decides on a request, or without one."""


class Committed(MetadataRules):
    """The rules, and the batches that are committed."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[RecordBatch] = []

    def commit(self, data: bytes, end_offset: int) -> None:
        super().commit(data, end_offset)
        self.log += [batch for batch in decode_all(data) if batch.end_offset <= end_offset]


class RecordedCluster(Cluster):
    """A run that remembers what is done to brokers, what is decided, when, and on which request."""

    def __init__(self, plan: Plan, watch: Callable[[str], None] | None = None) -> None:
        super().__init__(plan, watch)
        self.seed = plan.seed
        self.metadata = self.committed = Committed()
        self.journal: list[Done] = []
        self.decided: dict[tuple[int, int], tuple[int, str]] = {}
        """By epoch and offset of a batch."""
        self._request: Request | None = None

    def done(self, what: str, number: int) -> None:
        """A process that ends as it is told to, before it runs, has died once."""
        broker = number - self.swarm.voters
        last = next((done.what for done in reversed(self.journal) if done.broker == broker), None)
        if what != CRASH or last != CRASH:
            self.journal.append(Done(self.now_ms, what, broker))

    def recover(self, number: int) -> None:
        if self.is_broker(number):
            self.done(START, number)
        super().recover(number)

    def stop(self, number: int, *, loses_power: bool) -> None:
        if self.is_broker(number) and self.broker_node(number).broker.state is not BrokerState.SHUTTING_DOWN:
            self.done(CRASH, number)
        super().stop(number, loses_power=loses_power)

    def shut_down(self, number: int) -> None:
        """A broker that does not run yet ends at once, its registration may land later; a second SIGTERM is none."""
        match self.broker_node(number).broker.state:
            case BrokerState.RUNNING:
                self.done(SIGTERM, number)
            case BrokerState.STARTING | BrokerState.RECOVERY:
                self.done(CRASH, number)
        super().shut_down(number)

    def handle(self, number: int, call: int, request: Request, core: Core) -> Sequence[object]:
        self._request = request
        return super().handle(number, call, request, core)

    def hand_in(self, number: int, handed: Any) -> None:
        self._request = None
        super().hand_in(number, handed)

    def carry_out(self, number: int, raft: Core, effect: object) -> None:
        if isinstance(effect, AppendToLog) and not self.is_broker(number):
            operation = OPERATIONS.get(type(self._request), "")
            for batch in decode_all(effect.data):
                self.decided.setdefault((batch.epoch, batch.base_offset), (self.now_ms, operation))
        super().carry_out(number, raft, effect)

    def decisions(self) -> Iterator[Decision]:
        """Up to where a broker is unregistered."""
        numbers = {self.swarm.voters + number: number for number in range(self.swarm.brokers)}
        for batch in self.committed.log:
            time_ms, operation = self.decided[batch.epoch, batch.base_offset]
            if batch.is_control:
                changes = [one for one in batch.records if control_type(one) == ControlType.LEADER_CHANGE]
                yield Decision(time_ms, batch.epoch, batch.base_offset, "", (), read_leader_change(changes[0]).leader)
                continue
            records = tuple(numbered(decode(record.value or b""), numbers) for record in batch.records)
            if any(record.type == "UNREGISTER_BROKER_RECORD" for record in records):
                return
            yield Decision(time_ms, batch.epoch, batch.end_offset - 1, operation, records)

    def traces(self) -> dict[str, str]:
        """By name: of each partition that was created, and of none where there is none."""
        found = list(self.decisions())
        about = f"seed {self.seed}"
        return {
            f"{about}, {topic_id.int} {number}": trace(
                f"{about}, {topic_id.int} {number}",
                found,
                self.journal,
                (topic_id, number),
                self.swarm.brokers,
                batch_ms=0,
            )
            for topic_id, number in dict.fromkeys(places(found))
        }


def traces_of(plan: Plan) -> dict[str, str]:
    run = RecordedCluster(plan)
    run.go()
    return run.traces()


def judged(brokers: int, traces: Mapping[str, str], setting: str | None = None) -> Summary:
    """setting: of the design; None: the repaired one."""
    model = load("kraft/recorded", {"brokers": str(brokers)}, setting)
    return validate(model, [(name, text.encode()) for name, text in traces.items()], CorpusOptions())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.simulation.decided")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    traces: dict[int, dict[str, str]] = {}
    for seed in range(options.first, options.first + options.seeds):
        plan = cluster_plan_of(seed)
        traces.setdefault(plan.swarm.brokers, {}).update(traces_of(plan))
    counts, events = Counter[str](), 0
    for brokers, texts in sorted(traces.items()):
        summary = judged(brokers, texts)
        counts += Counter(summary.counts)
        events += summary.events
        print(f"{brokers} brokers, {len(texts)} traces: {summary.counts}, {summary.seconds:.0f} s", flush=True)
        for verdict in summary.verdicts:
            print(f"  {verdict.trace}: {verdict.status} at line {verdict.line}: {verdict.reason}")
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{verdict.trace}.ndjson").write_text(texts[verdict.trace])
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())) + f"; {events} events")
    return int(counts.total() > counts["accepted"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
