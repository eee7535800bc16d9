"""The leader of a partition: its followers, its high watermark, and the changes of the ISR that it asks for.

Whatever the leader has asked for may be committed before it hears of it. So until a change is settled it reckons with
the maximal ISR: the committed one and the one asked for together (KIP-497). A change is settled by a response that
grants it, by INELIGIBLE_REPLICA, for which the controller raises the partition epoch so that no copy of the request
can be granted any more, and by metadata with a newer partition epoch. Any other error settles nothing: the leader
asks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from impl.kraft.broker.fetch import FetchRequest, FetchResponse
from impl.kraft.broker.replica_log import NO_EPOCH, EpochEnd, LogEntry, ReplicaLog
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Partition, PartitionKey
from impl.kraft.messages import AlterPartitionRequest, AlterPartitionResponse, IsrMember


@dataclass(frozen=True, slots=True)
class FollowerState:
    """A leader's knowledge of a follower since its last fetch.

    log_end_offset: up to which the follower's log is known to be the leader's. broker_epoch: at which it fetched.
    caught_up_ms: the last time at which it had all that the leader had. fetched_ms: time of the last fetch.
    leader_end_offset: where the leader's log ended then.
    """

    log_end_offset: int
    broker_epoch: int
    caught_up_ms: int
    fetched_ms: int
    leader_end_offset: int


@dataclass(slots=True, eq=False)
class PartitionLeader:
    """A replica that leads, for as long as its leader epoch lasts.

    isr: the committed ISR as far as it knows. pending_change: the one that is not resolved. in_flight: the request
    whose response it awaits, which may be about a change that is settled by now. since_ms: when it became the leader.
    """

    key: PartitionKey
    broker_id: int
    broker_epoch: int
    log: ReplicaLog
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    epoch_start_offset: int
    since_ms: int
    followers: dict[int, FollowerState] = field(default_factory=dict)
    pending_change: AlterPartitionRequest | None = None
    in_flight: AlterPartitionRequest | None = None

    @classmethod
    def of(
        cls, key: PartitionKey, partition: Partition, broker_epoch: int, log: ReplicaLog, now_ms: int
    ) -> PartitionLeader:
        """The leader that the metadata names. broker_epoch: at which it is registered."""
        return cls(
            key=key,
            broker_id=partition.leader,
            broker_epoch=broker_epoch,
            log=log,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            replicas=partition.replicas,
            isr=frozenset(partition.isr),
            epoch_start_offset=log.end_offset,
            since_ms=now_ms,
        )

    def copy(self, log: ReplicaLog) -> PartitionLeader:
        """A leader that changes on its own. log: a copy of its log."""
        return replace(self, log=log, followers=dict(self.followers))

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Every replica that may be in the ISR by now."""
        if self.pending_change is None:
            return self.isr
        return self.isr.union(member.broker_id for member in self.pending_change.new_isr)

    def update(self, partition: Partition) -> None:
        """Take over the partition from the metadata. What is older than the last response is known already."""
        if partition.partition_epoch <= self.partition_epoch:
            return
        self.partition_epoch = partition.partition_epoch
        self.replicas = partition.replicas
        self.isr = frozenset(partition.isr)
        self.pending_change = None

    # Records.

    def append(self, values: Iterable[bytes], min_insync_replicas: int) -> ErrorCode:
        """Append what a producer sends with acks=all, unless too few replicas are in sync."""
        if len(self.isr) < min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        self.log.append(LogEntry(self.leader_epoch, value) for value in values)
        return ErrorCode.NONE

    def acknowledgement(self, end_offset: int, min_insync_replicas: int) -> ErrorCode | None:
        """The answer to the producer whose records end at this offset; None: it has to wait."""
        if self.log.high_watermark < end_offset:
            return None
        enough = len(self.isr) >= min_insync_replicas
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    @property
    def replicated_offset(self) -> int:
        """Up to which the whole maximal ISR is known to have the log. It is the high watermark unless that is ahead."""
        offset = self.log.end_offset
        for member in self.maximal_isr:
            if member != self.broker_id:
                follower = self.followers.get(member)
                offset = min(offset, follower.log_end_offset if follower is not None else 0)
        return offset

    def advance_high_watermark(self) -> bool:
        """Commit what the whole maximal ISR has. The high watermark never goes back. Returns whether it moved."""
        offset = self.replicated_offset
        if offset <= self.log.high_watermark:
            return False
        self.log.high_watermark = offset
        return True

    # Fetches.

    def divergence(self, request: FetchRequest) -> EpochEnd | None:
        """The point where the follower's log parts from this one, if it does before its end.

        Where this log has only newer epochs, that is at its start, in the epoch that was asked for: Kafka's followers
        take an epoch below 0 for no answer, and keep what they have (FetchResponse.isDivergingEpoch).
        """
        end = self.log.end_of_epoch(request.last_fetched_epoch)
        if end.epoch < request.last_fetched_epoch or end.end_offset < request.fetch_offset:
            return end if end.epoch != NO_EPOCH else EpochEnd(request.last_fetched_epoch, end.end_offset)
        return None

    def note_fetch(self, request: FetchRequest, now_ms: int) -> None:
        """Take note of how far a follower is. Where its log continues differently, that is to where they part."""
        offset, diverging = request.fetch_offset, self.divergence(request)
        if diverging is not None:
            offset = diverging.end_offset if diverging.epoch == request.last_fetched_epoch else 0
        before = self.followers.get(request.replica_id)
        caught_up_ms = self.since_ms if before is None else before.caught_up_ms
        if offset >= self.log.end_offset:
            caught_up_ms = now_ms
        elif before is not None and offset >= before.leader_end_offset:
            caught_up_ms = max(caught_up_ms, before.fetched_ms)
        self.followers[request.replica_id] = FollowerState(
            log_end_offset=offset,
            broker_epoch=request.replica_epoch,
            caught_up_ms=caught_up_ms,
            fetched_ms=now_ms,
            leader_end_offset=self.log.end_offset,
        )

    def read(self, request: FetchRequest, max_bytes: int) -> FetchResponse:
        """The response to a follower's fetch."""
        diverging = self.divergence(request)
        entries = () if diverging is not None else self.log.read(request.fetch_offset, max_bytes)
        return FetchResponse(ErrorCode.NONE, self.log.high_watermark, diverging, entries)

    # Changes of the ISR.

    def may_join(self, broker_id: int, image: Image) -> bool:
        """True when the leader should ask to add a follower to the ISR.

        It must be caught up to the high watermark and to the start of the leader epoch, and at the broker epoch at
        which the image has it as active (KIP-903).
        """
        follower = self.followers.get(broker_id)
        if (
            follower is None
            or self.pending_change is not None
            or broker_id in self.isr
            or broker_id not in self.replicas
        ):
            return False
        registration = image.registrations.get(broker_id)
        if registration is None or not registration.is_active:
            return False
        is_unknown = follower.broker_epoch == -1 and not image.knows_member_epochs
        if registration.broker_epoch != follower.broker_epoch and not is_unknown:
            return False
        return follower.log_end_offset >= max(self.log.high_watermark, self.epoch_start_offset)

    def out_of_sync(self, now_ms: int, max_lag_ms: int) -> frozenset[int]:
        """The members of the ISR that have not been caught up for too long."""
        return frozenset(
            member for member in self.isr if member != self.broker_id and self._lag_ms(member, now_ms) > max_lag_ms
        )

    def _lag_ms(self, broker_id: int, now_ms: int) -> int:
        follower = self.followers.get(broker_id)
        if follower is None:
            return now_ms - self.since_ms
        return 0 if follower.log_end_offset == self.log.end_offset else now_ms - follower.caught_up_ms

    def ask_to_add(self, broker_id: int) -> None:
        """Ask for a follower that may join to be added to the ISR. One change is asked for at a time."""
        self._ask(self.isr | {broker_id})

    def ask_to_remove(self, broker_ids: Iterable[int]) -> None:
        """Ask for followers that are out of sync to be removed from the ISR. One change is asked for at a time."""
        self._ask(self.isr.difference(broker_ids))

    def _ask(self, isr: frozenset[int]) -> None:
        assert self.pending_change is None and self.broker_id in isr
        self.pending_change = AlterPartitionRequest(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            topic_id=self.key[0],
            partition_id=self.key[1],
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            new_isr=tuple(IsrMember(member, self._seen_epoch(member)) for member in sorted(isr)),
        )

    def _seen_epoch(self, broker_id: int) -> int:
        if broker_id == self.broker_id:
            return self.broker_epoch
        follower = self.followers.get(broker_id)
        return -1 if follower is None else follower.broker_epoch

    def next_request(self) -> AlterPartitionRequest | None:
        """The request to send now, if there is one: it is in flight from now on, and one is at a time."""
        if self.in_flight is not None:
            return None
        self.in_flight = self.pending_change
        return self.pending_change

    def answered(self, response: AlterPartitionResponse | None) -> None:
        """Take over what the controller says of the request in flight, or that it was given up.

        Where the change that it asks for is settled already, the response is nothing to the leader. A success at a
        newer leader epoch completed a reassignment: the leader waits for the metadata.
        """
        request, self.in_flight = self.in_flight, None
        if response is None or self.pending_change != request:
            return
        if response.error == ErrorCode.NONE and response.leader_epoch == self.leader_epoch:
            self.isr = frozenset(response.isr)
            self.partition_epoch = response.partition_epoch
            self.pending_change = None
        elif response.error == ErrorCode.INELIGIBLE_REPLICA:
            self.pending_change = None
