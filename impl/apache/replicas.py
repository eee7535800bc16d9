"""A released broker in the place of our core, in a simulation: its lifecycle, its replicas and their logs.

`Partition`, `AlterPartitionManager`, `ReplicaFetcherThread` and the logs are Kafka's, on real files; metadata is ours.
Its classes run in a JVM (`releases/4.3/fencepost/Broker.java`), without threads, clock and network.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import UUID

from impl.apache.jvm import Jvm
from impl.apache.lifecycle import OpenLifecycle, configs_of
from impl.kraft.broker import Broker, BrokerSettings, BrokerState, FetchRequest, FetchResponse, InMemoryReplicaLog
from impl.kraft.broker.core import BrokerRequest, BrokerResponse
from impl.kraft.broker.fetch import PartitionFollower
from impl.kraft.broker.leader import PartitionLeader
from impl.kraft.broker.replica_log import EpochEnd, LogEntry
from impl.kraft.broker.timers import Timer
from impl.kraft.effects import Effects, Send, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Partition, PartitionKey
from impl.kraft.messages import AlterPartitionRequest, AlterPartitionResponse, IsrMember
from impl.kraft.records import NO_LEADER
from impl.kraft.storage.directories import decode_id, encode_id

SCHEDULED, AGAIN = "scheduled", "alter partition again"
"""Timers: what the broker itself has put off, and a request to the controller that got no answer."""
_OF_WHOLE_REQUESTS = {ErrorCode.STALE_BROKER_EPOCH}
"""Errors of a whole AlterPartition request; others are of one partition."""


class End(NamedTuple):
    """What a leader knows of a follower."""

    log_end_offset: int


@dataclass(frozen=True, slots=True)
class KafkaLeader:
    """What rules look at of a leader. asks: for a change of the ISR, which is not settled."""

    log: InMemoryReplicaLog
    leader_epoch: int
    partition_epoch: int
    asks: bool
    replicas: tuple[int, ...]
    isr: frozenset[int]
    maximal_isr: frozenset[int]
    followers: Mapping[int, End]


@dataclass(slots=True)
class Asked:
    """A request for ISRs that is under way, a message for each partition. answers: by the place of the partition."""

    number: int
    requests: Sequence[AlterPartitionRequest]
    answers: dict[int, AlterPartitionResponse]


class KafkaBroker(Broker):
    """The inputs of `Broker`. An entry of a log is a batch of Kafka's, of one record."""

    def __init__(
        self, jvm: Jvm, settings: BrokerSettings, incarnation_id: UUID, folder: Path, clock_ms: Callable[[], int],
        session_ms: int,
    ) -> None:  # fmt: skip
        """folder: where its logs are. clock_ms: of its machine.

        forgetful: at which partition epoch it has dropped a change of the ISR that is under way.
        """
        super().__init__(settings, incarnation_id)
        self.lifecycle = OpenLifecycle(jvm, self, clock_ms)
        self._jvm, self._clock_ms = jvm, clock_ms
        self._names: dict[PartitionKey, str] = {}
        self._told_brokers: list[Mapping[str, Any]] = []
        self._told_partitions: dict[PartitionKey, Partition] = {}
        self._timers: set[int] = set()
        self._has_caught_up = False
        self._followed: dict[tuple[PartitionKey, int], int] = {}
        self.forgetful: dict[PartitionKey, int] = {}
        self._asked: Asked | None = None
        folder.mkdir(exist_ok=True)
        answer = self._ask("open", configs=configs_of(settings, folder, session_ms))
        for told in answer["logs"]:
            key = decode_id(told["topicId"]), told["partition"]
            self._names[key] = told["topic"]
            self.logs[key] = InMemoryReplicaLog(_entries(told["batches"]))

    def _ask(self, kind: str, **more: Any) -> Mapping[str, Any]:
        """Raises ApacheError for what is thrown."""
        command = {"kind": kind, "node": self.broker_id, "nowMs": self._clock_ms()}
        return self._jvm.ask({**command, **more})

    def _step(self, kind: str, **more: Any) -> tuple[Mapping[str, Any], Effects]:
        """What it tells, and what is to be done."""
        answer = self._ask(kind, **more)
        for told in answer["partitions"]:
            self._look(told)
        effects: Effects = [SetTimer((SCHEDULED, at_ms), at_ms) for at_ms in sorted({*answer["timers"]} - self._timers)]
        self._timers = {*answer["timers"]}
        for told in answer["requests"]:
            requests = [_request(self.broker_id, told["brokerEpoch"], one) for one in told["partitions"]]
            self._asked = Asked(told["number"], requests, {})
            effects += map(Send, requests)
        return answer, effects

    def _look(self, told: Mapping[str, Any]) -> None:
        """Take note of what a partition is now."""
        key = decode_id(told["topicId"]), told["partition"]
        log = cast(InMemoryReplicaLog, self.logs.setdefault(key, InMemoryReplicaLog()))
        del log.entries[told["from"] :]
        log.append(_entries(told["batches"]))
        log.high_watermark = told["highWatermark"]
        if not told["leads"]:
            self.leaders.pop(key, None)
            return
        followers = {int(number): End(end) for number, end in told["followers"].items()}
        leader = KafkaLeader(
            log, told["leaderEpoch"], told["partitionEpoch"], told["asks"], self.image.partitions[key].replicas,
            frozenset(told["isr"]), frozenset(told["maximalIsr"]), followers,
        )  # fmt: skip
        self.leaders[key] = cast(PartitionLeader, leader)

    def _named(self, key: PartitionKey) -> dict[str, Any]:
        return {"topic": self._names[key], "partition": key[1], "topicId": encode_id(key[0])}

    # The life of the process.

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        match timer:
            case (str(kind), int()) if kind == SCHEDULED:
                return self._step("scheduled")[1]
            case (str(kind), int(number), int(place)) if kind == AGAIN:
                asked = self._asked
                return [Send(asked.requests[place])] if asked is not None and asked.number == number else []
        return super().on_timer(timer, now_ms)

    def on_response(self, request: BrokerRequest, response: BrokerResponse | None, now_ms: int) -> Effects:
        """One that has caught up acts on its metadata at once."""
        effects = super().on_response(request, response, now_ms)
        return effects if self._has_caught_up else [*effects, *self._publish((), now_ms)]

    # Metadata.

    def _publish(self, changed: Iterable[PartitionKey], now_ms: int) -> Effects:
        """Of a broker that is not registered any more, too. Of a partition, what its partition epoch tells from before.

        That is what Kafka's `TopicDelta.localChanges` gives its replicas, from a snapshot, too.
        """
        self._has_caught_up = self._has_caught_up or self.state is BrokerState.RECOVERY
        if not self._has_caught_up:
            return []
        if self.applied_offset < 0:
            changed = self._placed_here()
        self.applied_offset = self.image.offset
        deleted, assigned = self._changes(changed)
        brokers = self._told_now()
        if not deleted and not assigned and brokers == self._told_brokers:
            return []
        self._told_brokers = brokers
        leaders = dict(self.leaders)
        effects = self._step("publish", brokers=brokers, deleted=deleted, assigned=assigned)[1]
        self._look_what_is_forgotten(leaders)
        return effects

    def _changes(self, changed: Iterable[PartitionKey]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """The partitions that are placed here no more, and what is new of those that are."""
        deleted: list[Mapping[str, Any]] = []
        assigned: list[Mapping[str, Any]] = []
        for key in sorted(changed):
            partition, before = self.image.partitions.get(key), self._told_partitions.pop(key, None)
            if partition is None or self.broker_id not in partition.replicas:
                self.leaders.pop(key, None)
                self.followers.pop(key, None)
                if self.logs.pop(key, None) is not None:
                    deleted.append(self._named(key))
                continue
            self._told_partitions[key] = partition
            if before is None or before.partition_epoch != partition.partition_epoch:
                self._names[key] = self.image.topics[key[0]]
                assigned.append(self._told_partition(key, partition))
                self._follow(key, partition)
        return deleted, assigned

    def _follow(self, key: PartitionKey, partition: Partition) -> None:
        self.followers.pop(key, None)
        if partition.leader not in {NO_LEADER, self.broker_id}:
            self.followers[key] = PartitionFollower(partition.leader, partition.leader_epoch)
            self._followed[key, partition.leader_epoch] = partition.leader

    def _look_what_is_forgotten(self, before: Mapping[PartitionKey, PartitionLeader]) -> None:
        """What a leader has asked for, when metadata says what it knew already: `known_record_settles_nothing`."""
        for key in before.keys() & self.leaders.keys():
            was, now = cast(KafkaLeader, before[key]), cast(KafkaLeader, self.leaders[key])
            if was.asks and not now.asks and was.partition_epoch == now.partition_epoch:
                self.forgetful[key] = now.partition_epoch

    def _resign(self) -> None:
        """It goes on until its process ends."""

    def _told_now(self) -> list[Mapping[str, Any]]:
        """The brokers, as far as its image goes."""
        return [
            {
                "id": one.broker_id, "epoch": one.broker_epoch, "fenced": one.fenced,
                "shuttingDown": one.in_controlled_shutdown,
            }
            for one in self.image.registrations.values()
        ]  # fmt: skip

    def _told_partition(self, key: PartitionKey, partition: Partition) -> Mapping[str, Any]:
        return {
            **self._named(key),
            "minInsyncReplicas": self.min_insync_replicas(key[0]),
            "replicas": partition.replicas,
            "isr": partition.isr,
            "adding": partition.adding_replicas,
            "removing": partition.removing_replicas,
            "leader": partition.leader,
            "leaderEpoch": partition.leader_epoch,
            "recoveryState": partition.leader_recovery_state,
            "partitionEpoch": partition.partition_epoch,
        }

    # As a leader.

    def append(self, key: PartitionKey, *values: bytes, acks_of_all: bool = True) -> tuple[ErrorCode, int]:
        answer, effects = self._step("append", **self._named(key), values=[value.decode() for value in values])
        assert not effects
        return ErrorCode(answer.get("refused", 0)), answer.get("end", -1)

    def on_fetch(self, request: FetchRequest, now_ms: int) -> tuple[FetchResponse, Effects]:
        if request.topic_id not in self.image.topics:
            return FetchResponse(ErrorCode.UNKNOWN_TOPIC_ID), []
        if request.key not in self._names:
            return FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER), []
        answer, effects = self._step(
            "serve", **self._named(request.key), **_told_fetch(request), replica=request.replica_id,
            replicaEpoch=request.replica_epoch, maxBytes=self.settings.replica_fetch_max_bytes,
        )  # fmt: skip
        if "refused" in answer:
            return FetchResponse(ErrorCode(answer["refused"])), effects
        end = answer.get("diverging")
        diverging = None if end is None else EpochEnd(end["epoch"], end["end"])
        entries = _entries(answer["batches"])
        return FetchResponse(ErrorCode.NONE, answer["highWatermark"], diverging, entries), effects

    def expire_isr(self, now_ms: int) -> Effects:
        return self._step("expire")[1]

    def _altered(self, request: AlterPartitionRequest, response: AlterPartitionResponse | None, now_ms: int) -> Effects:
        """A request without an answer of the active controller is sent again, until there is one."""
        asked = self._asked
        if asked is None or not any(one is request for one in asked.requests):
            return []
        place = next(place for place, one in enumerate(asked.requests) if one is request)
        if response is None or response.error is ErrorCode.NOT_CONTROLLER:
            return [SetTimer((AGAIN, asked.number, place), now_ms + self.settings.alter_partition_retry_ms)]
        asked.answers[place] = response
        if len(asked.answers) < len(asked.requests):
            return []
        self._asked = None
        errors = {answer.error for answer in asked.answers.values()} & _OF_WHOLE_REQUESTS
        answers = [_told_answer(one, asked.answers[place]) for place, one in enumerate(asked.requests)]
        error = int(next(iter(errors), ErrorCode.NONE))
        return self._step("altered", number=asked.number, error=error, answers=answers)[1]

    # As a follower.

    def fetch_request(self, key: PartitionKey) -> FetchRequest | None:
        if self.broker_epoch is None:
            return None
        answer, effects = self._step("poll", **self._named(key))
        assert not effects
        if "fetchOffset" not in answer:
            return None
        last_epoch = answer["lastFetchedEpoch"]
        return FetchRequest(
            self.broker_id, self.broker_epoch, *key, answer["leaderEpoch"], answer["fetchOffset"], last_epoch
        )

    def on_fetch_response(self, request: FetchRequest, response: FetchResponse) -> None:
        if request.key not in self.logs:
            return
        end = response.diverging
        diverging = {} if end is None else {"diverging": {"epoch": end.epoch, "end": end.end_offset}}
        answer = {
            "leader": self._followed[request.key, request.current_leader_epoch],
            "error": int(response.error),
            "highWatermark": response.high_watermark,
            "batches": [b64encode(entry.value).decode() for entry in response.entries],
            **diverging,
        }
        _, effects = self._step("fetched", **self._named(request.key), **_told_fetch(request), **answer)
        assert not effects


def _entries(batches: Iterable[Mapping[str, Any]]) -> tuple[LogEntry, ...]:
    return tuple(LogEntry(batch["epoch"], b64decode(batch["data"])) for batch in batches)


def _told_fetch(request: FetchRequest) -> Mapping[str, int]:
    return {
        "fetchOffset": request.fetch_offset,
        "leaderEpoch": request.current_leader_epoch,
        "lastFetchedEpoch": request.last_fetched_epoch,
    }


def _request(broker_id: int, broker_epoch: int, told: Mapping[str, Any]) -> AlterPartitionRequest:
    return AlterPartitionRequest(
        broker_id, broker_epoch, decode_id(told["topicId"]), told["partition"], told["leaderEpoch"],
        told["partitionEpoch"], tuple(IsrMember(*member) for member in told["isr"]), told["recoveryState"],
    )  # fmt: skip


def _told_answer(request: AlterPartitionRequest, response: AlterPartitionResponse) -> Mapping[str, Any]:
    return {
        "topicId": encode_id(request.topic_id),
        "partition": request.partition_id,
        "error": int(response.error),
        "leader": response.leader,
        "leaderEpoch": response.leader_epoch,
        "isr": response.isr,
        "partitionEpoch": response.partition_epoch,
        "recoveryState": response.leader_recovery_state,
    }
