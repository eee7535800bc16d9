"""Simulated quorums of released voters, on our storage and network, held to the rules of the quorum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from impl.apache.jvm import Jvm
from impl.apache.voters import FlushNow, KafkaVoter
from impl.kraft.simulation.core import Core
from impl.kraft.simulation.invariants import Rules
from impl.kraft.simulation.simulation import DIRECTORY, REQUEST_TIMEOUT_MS, Simulation
from impl.kraft.simulation.swarm import ELECTION_MS, FETCH_MS, QUIET_MS, Kind, Plan, plan_of
from impl.kraft.storage.batches import Record, entries_of
from impl.kraft.storage.log import LogSettings
from impl.kraft.storage.storage import QuorumStorage, StorageSettings

OURS = (Kind.STRANGER, Kind.FULL_DISK)
"""Steps whose rules are about our core."""


class KafkaQuorum(Simulation):
    """A run whose voters are Kafka's. mixed: every second one is ours."""

    handover_ms = QUIET_MS // 2
    """Followers of Kafka that have fetched from who resigns refuse pre-votes for a while (KAFKA-20895)."""

    def __init__(
        self, jvm: Jvm, plan: Plan, watch: Callable[[str], None] | None = None, rules: Rules | None = None,
        *, mixed: bool = False,
    ) -> None:  # fmt: skip
        self._jvm, self._mixed = jvm, mixed
        super().__init__(plan, watch, rules)

    def is_ours(self, number: int) -> bool:
        return self._mixed and number % 2 == 1

    def recover(self, number: int) -> None:
        if self.is_ours(number):
            super().recover(number)
            return
        node, swarm = self.nodes[number], self.swarm
        settings = StorageSettings(LogSettings(segment_bytes=swarm.segment_bytes), reserve_bytes=swarm.reserve_bytes)
        storage = node.storage = QuorumStorage.open(node.disk, DIRECTORY, settings)
        node.rot = None
        stored = storage.log.read(0)
        self.rules.start(number, storage.election, entries_of(stored))
        configs = {
            "election.timeout.ms": ELECTION_MS,
            "election.backoff.max.ms": ELECTION_MS,
            "fetch.timeout.ms": FETCH_MS,
            "request.timeout.ms": REQUEST_TIMEOUT_MS,
            "append.linger.ms": 0,
            "fetch.max.bytes": swarm.fetch_max_bytes,
        }
        raft_settings = self.raft_settings(number)
        node.raft = KafkaVoter(self._jvm, raft_settings, storage.election, stored, configs, self.rng.randrange(1 << 30))
        self.note(number, "start", storage.election, storage.log.end_offset)
        self.hand_in(number, lambda raft: raft.start(self.clock_ms(number)))

    def carry_out(self, number: int, raft: Core, effect: object) -> None:
        storage = self.nodes[number].storage
        if isinstance(effect, FlushNow) and storage is not None:
            end = storage.flush()
            self.note(number, "flushed", end)
            self.rules.flush(number, end)
        else:
            super().carry_out(number, raft, effect)

    def look_at(self, number: int, raft: Core) -> None:
        if self.is_ours(number):
            super().look_at(number, raft)
        else:
            self.rules.look_at(number, raft.voter)

    def append(self, number: int, records: tuple[Record, ...], began: int) -> None:
        if self.is_ours(number):
            super().append(number, records, began)
            return
        node = self.nodes[number]
        if (epoch := node.claimed) is None:
            return
        self.describe(number, began)
        self.note(number, "append", epoch)
        now_ms, life, before = self.clock_ms(number), node.life, self.rules.logs[number].end_offset
        values = [record.value or b"" for record in records]

        def appended(raft: Core) -> Sequence[object]:
            assert isinstance(raft, KafkaVoter)
            return raft.append(epoch, values, now_ms)

        self.hand_in(number, appended)
        if node.life == life and self.rules.logs[number].end_offset > before:
            last = self.rules.logs[number].entries[-1]
            self.clients.begin(number, last.end_offset, last.crc, began)


def kafka_plan_of(seed: int) -> Plan:
    """Kafka's voter asks for pre-votes before it stands, always."""
    plan = plan_of(seed)
    steps = tuple(step for step in plan.schedule if step.kind not in OURS)
    return replace(plan, swarm=replace(plan.swarm, uses_prevote=True), schedule=steps)
