"""Simulated quorums of released voters, on our storage and network, held to the rules of the quorum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from impl.apache.jvm import Jvm
from impl.apache.voters import FlushNow, KafkaVoter
from impl.kraft.simulation.core import Core
from impl.kraft.simulation.invariants import Rules
from impl.kraft.simulation.simulation import REQUEST_TIMEOUT_MS, Simulation
from impl.kraft.simulation.swarm import ELECTION_MS, FETCH_MS, QUIET_MS, Kind, Plan, plan_of
from impl.kraft.storage.batches import Record
from impl.kraft.storage.storage import QuorumStorage

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

    def core_on(self, number: int, storage: QuorumStorage) -> Core:
        if self.is_ours(number):
            return super().core_on(number, storage)
        configs = {
            "election.timeout.ms": ELECTION_MS,
            "election.backoff.max.ms": ELECTION_MS,
            "fetch.timeout.ms": FETCH_MS,
            "request.timeout.ms": REQUEST_TIMEOUT_MS,
            "append.linger.ms": 0,
            "fetch.max.bytes": self.swarm.fetch_max_bytes,
        }
        stored, seed = storage.log.read(storage.log.start_offset), self.rng.randrange(1 << 30)
        return KafkaVoter(self._jvm, self.raft_settings(number), storage.election, stored, configs, seed)

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
