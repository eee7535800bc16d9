"""Replicas of a simulated cluster: producers and followers, and what each step of a broker has done to its logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from crc32c import crc32c

from impl.kraft.broker import Broker, FetchRequest, FetchResponse, InMemoryReplicaLog, ReplicaLog
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, PartitionKey
from impl.kraft.simulation.core import Core
from impl.kraft.simulation.invariants import BrokenRuleError, NotRecoveredError
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.simulation.swarm import ELECTION_MS
from impl.kraft.storage.batches import Entry

if TYPE_CHECKING:
    from impl.kraft.simulation.cluster import Cluster

FETCH_MS = 2 * ELECTION_MS
FETCH_BYTES = 200
"""What a follower is sent at once of a partition."""


class Replicas:
    """What brokers have done to their replicas, as rules are told of it."""

    def __init__(self) -> None:
        self.rules = ReplicaRules()
        self._marks: dict[tuple[int, PartitionKey], int] = {}
        self._roles: dict[tuple[int, PartitionKey], tuple[bool, int]] = {}

    def start(self, broker: Broker) -> None:
        """A process has these logs."""
        self.rules.start(broker.broker_id, {key: entries_of(log) for key, log in broker.logs.items()})
        self._marks |= {(broker.broker_id, key): log.high_watermark for key, log in broker.logs.items()}
        for key in [one for one in self._roles if one[0] == broker.broker_id]:
            del self._roles[key]

    def look_at(self, broker: Broker, decided: Image) -> None:
        """After each step of a broker. decided: what is committed. Raises BrokenRuleError."""
        number = broker.broker_id
        self.rules.apply(number, broker.applied_offset)
        self._look_at_leaders(broker, decided)
        for key, seen in self.rules.partitions.items():
            if key not in broker.logs and number in seen.replicas and number not in seen.deleted:
                self.rules.delete(number, key)
        for key, log in broker.logs.items():
            self._look_at_role(broker, key)
            self._look_at_log(number, key, log)
            if self._marks.get((number, key), 0) != log.high_watermark:
                self._marks[number, key] = log.high_watermark
                leader = broker.leaders.get(key)
                isr = None if leader is None else sorted(leader.maximal_isr)
                self.rules.commit(number, key, log.high_watermark, isr)

    def _look_at_leaders(self, broker: Broker, decided: Image) -> None:
        for key, leader in broker.leaders.items():
            now = decided.partitions.get(key)
            if now is None or now.leader_epoch != leader.leader_epoch:
                continue
            self.reckons_with(broker, key, now.isr)

    def reckons_with(self, broker: Broker, key: PartitionKey, isr: tuple[int, ...]) -> None:
        """S12. isr: as it is decided, in the epoch of the leader."""
        maximal = broker.leaders[key].maximal_isr
        if not maximal.issuperset(isr):
            raise BrokenRuleError(f"S12: {broker.broker_id} reckons with {sorted(maximal)} of {isr}")

    def serve(self, broker: Broker, request: FetchRequest, response: FetchResponse) -> None:
        """A leader answers a follower, and has taken note of how far that is."""
        if response.error is ErrorCode.NONE:
            leader, follower = broker.leaders[request.key], request.replica_id
            self.rules.serve(request.key, leader.leader_epoch, follower, leader.followers[follower].log_end_offset)

    def look_at_decided(self, image: Image) -> None:
        """After each batch that is committed."""
        for key in {**image.partitions, **self.rules.partitions}:
            isr = image.partitions[key].isr if key in image.partitions else ()
            if self.rules.of(key).isr != isr:
                self.rules.decide(key, isr)

    def _look_at_role(self, broker: Broker, key: PartitionKey) -> None:
        leader, follower = broker.leaders.get(key), broker.followers.get(key)
        either = leader or follower
        role = leader is not None, -1 if either is None else either.leader_epoch
        if self._roles.get((broker.broker_id, key)) == role:
            return
        self._roles[broker.broker_id, key] = role
        if leader is None:
            self.rules.follow(broker.broker_id, key, role[1])
        else:
            self.rules.lead(broker.broker_id, key, role[1])

    def _look_at_log(self, number: int, key: PartitionKey, log: ReplicaLog) -> None:
        seen = self.rules.of(key).replica(number)
        if log.end_offset < seen.end_offset:
            self.rules.truncate(number, key, log.end_offset)
        elif log.end_offset > seen.end_offset:
            self.rules.append(number, key, entries_of(log)[len(seen.entries) :])


def entries_of(log: ReplicaLog) -> list[Entry]:
    """A batch of a log in memory is a record."""
    assert isinstance(log, InMemoryReplicaLog)
    return [Entry(end, entry.leader_epoch, crc32c(entry.value)) for end, entry in enumerate(log.entries, 1)]


def left_logs(logs: Mapping[PartitionKey, ReplicaLog]) -> dict[PartitionKey, ReplicaLog]:
    """What a process leaves to the next: all records, and no high watermark."""
    found: dict[PartitionKey, ReplicaLog] = {}
    for key, log in logs.items():
        assert isinstance(log, InMemoryReplicaLog)
        found[key] = InMemoryReplicaLog(log.entries)
    return found


def produce(run: Cluster, number: int, rng: Random) -> None:
    """A producer writes a few records to partitions that a broker takes itself to lead, once it is not paused.

    A follower fetches out of its turn, so that it awaits two answers, perhaps of two leaders.
    """
    run.numbers += 1
    values = [b"%d %d" % (run.numbers, one) for one in range(rng.randrange(1, 4))]

    def append(_: object) -> tuple[()]:
        broker = run.broker_node(number).broker
        for key in sorted(broker.leaders)[: 1 + rng.randrange(2)]:
            error, end_offset = broker.append(key, *values)
            run.note(number, "produced", key[0].int, key[1], error, end_offset)
        return ()

    run.alive(number, run.nodes[number].life, lambda: run.hand_in(number, append))()
    follower = run.swarm.voters + rng.randrange(run.swarm.brokers)
    run.alive(follower, run.nodes[follower].life, partial(fetch, run, follower))()


def fetch_now_and_then(run: Cluster, number: int) -> None:
    """What a broker follows, it fetches from who leads."""
    fetch(run, number)
    life = run.nodes[number].life
    run.after(FETCH_MS, run.alive(number, life, partial(fetch_now_and_then, run, number)))


def fetch(run: Cluster, number: int) -> None:
    broker = run.broker_node(number).broker
    for key, follower in sorted(broker.followers.items()):
        if (request := broker.fetch_request(key)) is not None:
            fetch_from(run, number, follower.leader, request)


def fetch_from(run: Cluster, number: int, leader: int, request: FetchRequest) -> None:
    broker = run.broker_node(number).broker

    def served(call: int, _: Core) -> Sequence[object]:
        serving = run.broker_node(leader)
        response, effects = serving.on_fetch(request, run.clock_ms(leader))
        run.replicas.serve(serving.broker, request, response)
        run.answer(call, response)
        return effects

    def fetched(response: FetchResponse | None, _: Core) -> Sequence[object]:
        if response is not None:
            broker.on_fetch_response(request, response)
        return ()

    run.exchange(number, leader, request, served, fetched)


def look_whether_alike(run: Cluster) -> None:
    """After the quiet: all replicas are in the ISR, and have what its leader has, which is committed."""
    brokers = [run.broker_node(number).broker for number in range(run.swarm.voters, len(run.nodes))]
    for broker in brokers:
        for key, leader in broker.leaders.items():
            if leader.log.high_watermark != leader.log.end_offset:
                raise NotRecoveredError(
                    f"records are not committed: of partition {key}, from {leader.log.high_watermark} on"
                )
            behind = sorted(set(leader.replicas) - leader.isr)
            if behind:
                raise NotRecoveredError(f"replicas do not catch up: of partition {key}, {behind}")
            others = (other for other in brokers if other.broker_id in leader.isr)
            lacking = [other.broker_id for other in others if entries_of(other.logs[key]) != entries_of(leader.log)]
            if lacking:
                raise NotRecoveredError(f"replicas are not alike: of partition {key}, {lacking} and its leader")
