"""A replica of one partition, as its broker has it: who leads, the log, and what a leader knows of its followers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from impl.heartbeat.control_requests import NO_LEADER, PartitionState, TopicPartition
from impl.heartbeat.log import Batch, Log
from impl.heartbeat.messages import UNKNOWN, ErrorCode
from impl.heartbeat.replica_fetch import Fetched, FetchPosition

OpenLog = Callable[[TopicPartition], Log]
_MOST_FETCH_BYTES = 1 << 20


def in_memory(of: TopicPartition) -> Log:
    """A log that begins empty."""
    return Log()


@dataclass(frozen=True, slots=True)
class Follower:
    """A follower as its leader has seen it.

    incarnation: of its last fetch. is_caught_up: it has all of the log; caught_up_ms: when that was so last.
    """

    end_offset: int = 0
    incarnation: int = 0
    is_caught_up: bool = False
    caught_up_ms: int = 0


@dataclass(frozen=True, slots=True)
class Produced:
    """A request to produce that was accepted, and is not answered: up to here it has to be replicated."""

    call: int
    base_offset: int
    end_offset: int


@dataclass
class Replica:
    """leader_epoch: the newest that it was sent; -1: none. isr, version: as its leader knows them committed.

    proposed: the ISR that the leader has asked for, and has no answer about; none: it waits for nothing. since_ms: when
    it began to lead.
    """

    of: TopicPartition
    broker: int
    log: Log
    leader: int = NO_LEADER
    leader_epoch: int = UNKNOWN
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    version: int = UNKNOWN
    controller_epoch: int = 0
    proposed: tuple[int, ...] = ()
    followers: dict[int, Follower] = field(default_factory=dict)
    high_watermark: int = 0
    in_hand: list[Produced] = field(default_factory=list)
    since_ms: int = 0

    @property
    def leads(self) -> bool:
        return self.leader == self.broker

    @property
    def maximal_isr(self) -> set[int]:
        """The ISR that a leader has to reckon with: as it knows it, and as it has asked for."""
        return {*self.isr, *self.proposed}

    def take(self, state: PartitionState, now_ms: int) -> list[int] | None:
        """Take what a controller sends. Returns the calls whose requests fail by that; None: nothing is new in it."""
        begins = state.leader_epoch > self.leader_epoch
        leads = state.leader == self.broker
        if not begins and (state.leader_epoch < self.leader_epoch or not leads or state.version <= self.version):
            return None
        self.leader, self.leader_epoch, self.replicas = state.leader, state.leader_epoch, state.replicas
        self.isr, self.version = (state.isr, state.version) if leads else ((), UNKNOWN)
        self.controller_epoch = state.controller_epoch
        self.proposed = ()
        if not begins:
            return []
        self.followers, self.since_ms = {}, now_ms
        failed, self.in_hand = [one.call for one in self.in_hand], []
        return failed

    # Leading.

    def seen(self, broker: int) -> Follower:
        """A follower as it was seen last."""
        return self.followers.get(broker, Follower())

    def append(self, call: int, count: int, data: bytes) -> int:
        """Append a batch as the leader. Returns the offset of its first record."""
        offset = self.log.end_offset
        self.log.append(Batch(offset, count, self.leader_epoch, data))
        self.in_hand.append(Produced(call, offset, self.log.end_offset))
        self.followers = {one: replace(seen, is_caught_up=False) for one, seen in self.followers.items()}
        return offset

    def completed(self, min_insync: int) -> list[Produced]:
        """The requests in hand that every member of the maximal ISR has by now. They are in hand no more."""
        if not self.leads:
            return []
        others = self.maximal_isr - {self.broker}
        least = min((self.seen(one).end_offset for one in others), default=self.log.end_offset)
        self.high_watermark = max(self.high_watermark, min(least, self.log.end_offset))
        if len(self.isr) < min_insync:
            return []
        done = [one for one in self.in_hand if one.end_offset <= self.high_watermark]
        self.in_hand = self.in_hand[len(done) :]
        return done

    def serve(self, broker: int, incarnation: int, at: FetchPosition, now_ms: int) -> Fetched:
        """What a follower gets, and the leader learns by it."""
        if not self.leads:
            return Fetched(self.of, ErrorCode.NOT_LEADER_FOR_PARTITION)
        if at.leader_epoch != self.leader_epoch:
            return Fetched(self.of, ErrorCode.FENCED_LEADER_EPOCH)
        epoch, end_offset = self.log.end_of(at.last_epoch)
        if at.offset > end_offset or epoch != at.last_epoch:
            return Fetched(self.of, ErrorCode.NONE, min(at.offset, end_offset))
        is_caught_up = at.offset >= self.log.end_offset
        seen_ms = now_ms if is_caught_up else self.seen(broker).caught_up_ms
        self.followers[broker] = Follower(at.offset, incarnation, is_caught_up, seen_ms)
        batches = self.log.read(at.offset, _MOST_FETCH_BYTES)
        return Fetched(self.of, ErrorCode.NONE, -1, self.high_watermark, batches)

    def lagging(self, now_ms: int, lag_ms: int) -> set[int]:
        """The members of the ISR that have not had all of the log for so long."""
        return {
            one
            for one in self.isr
            if one != self.broker
            and not self.seen(one).is_caught_up
            and now_ms - max(self.seen(one).caught_up_ms, self.since_ms) > lag_ms
        }

    def caught_up(self) -> set[int]:
        """The replicas outside of the ISR that have all of the log."""
        return {one for one in self.replicas if one not in self.isr and self.seen(one).is_caught_up}

    def want(self, out: Collection[int], joining: Collection[int]) -> None:
        """Want an ISR without some members and with others."""
        self.proposed = (
            *(one for one in self.isr if one not in out), *(one for one in self.replicas if one in joining),
        )  # fmt: skip

    def incarnations(self, isr: Collection[int], own: int) -> tuple[int, ...]:
        """The incarnations of members, as the leader has seen them; -1: it has not."""
        return tuple(own if one == self.broker else self.seen(one).incarnation or UNKNOWN for one in isr)

    def take_result(self, code: int, isr: tuple[int, ...], version: int, *, names_state: bool) -> None:
        """Take the answer about the ISR that was asked for. names_state: isr and version are what is there now."""
        if code in (ErrorCode.INVALID_INCARNATION_ID, ErrorCode.NOT_LEADER_FOR_PARTITION):
            return  # it will be sent who leads
        if names_state and version > self.version:
            self.isr, self.version, self.proposed = isr, version, ()
        elif code != ErrorCode.NOT_CONTROLLER:
            self.isr = self.proposed if code == ErrorCode.NONE else self.isr
            self.proposed = ()

    # Following.

    def position(self) -> FetchPosition:
        return FetchPosition(self.of, self.leader_epoch, self.log.end_offset, self.log.last_epoch)

    def take_fetched(self, fetched: Fetched, asked: FetchPosition) -> None:
        """Take what the leader sent, if it still leads in the same epoch, and the log is as it was."""
        if self.leads or fetched.error_code != ErrorCode.NONE or asked != self.position():
            return
        if fetched.truncate_to >= 0:
            _, end_offset = self.log.end_of(asked.last_epoch - 1)
            self.log.truncate(fetched.truncate_to if fetched.truncate_to < asked.offset else end_offset)
            return
        for batch in fetched.batches:
            self.log.append(batch)
        self.high_watermark = max(self.high_watermark, min(fetched.high_watermark, self.log.end_offset))
