"""Rebalances: who is stopped, what is committed and written, who is started (Consumer Coordinator, 9).

A state machine per group. So many groups as there are rebalance threads are in it at once; the others wait their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from impl.group.assignment import Owners, consumer_of, ranges
from impl.group.design import Design
from impl.group.effects import Context, Send, Timing
from impl.group.offsets import DeposedError, Store
from impl.group.pings import Pings, Watcher, mark_of
from impl.group.protocol import (
    UNKNOWN,
    BrokerAddress,
    Position,
    RequestToConsumer,
    StartFetcherRequest,
    StopFetcherRequest,
    ThreadShare,
    TopicPartition,
)
from impl.group.registry import Group, Member, Phase, Rebalance
from impl.group.scripts import RefusedError, Script
from impl.group.topics import Topics


class Limits(Protocol):
    """The numbers of a configuration that rebalances go by."""

    @property
    def rebalance_threads(self) -> int: ...
    @property
    def max_retries(self) -> int: ...
    @property
    def backoff_ms(self) -> int: ...
    @property
    def max_consumer_session_ms(self) -> int: ...


class Rebalances:
    """The rebalances of a coordinator.

    groups: its own. remove: declares members dead (8). step_down: is called where a write was refused.
    """

    def __init__(
        self, context: Context, design: Design, limits: Limits, store: Store, topics: Topics, pings: Pings,
        remove: Callable[[Member, str], None], step_down: Callable[[DeposedError], None],
    ) -> None:  # fmt: skip
        self.context = context
        self.design = design
        self.limits = limits
        self.store = store
        self.topics = topics
        self.pings = pings
        self.remove = remove
        self.step_down = step_down
        self.epoch = 0
        self.queue: list[Group] = []
        self.to_go_on: list[Group] = []
        """Groups in 4.3 or 4.6, whose write has not begun."""
        self.again: list[Group] = []
        """Groups whose back-off is over."""
        self._busy: list[Group] = []
        self._attempts = 0
        self._readings = 0

    def clear(self, epoch: int) -> None:
        """A term begins, or has ended."""
        self.epoch = epoch
        self.queue, self.to_go_on, self.again, self._busy = [], [], [], []
        self._attempts = 0

    # Asking for a rebalance.

    def ask(self, group: Group, cause: str) -> None:
        """Try to rebalance: if the bit is not set, set it, and queue the group."""
        if group.bit:
            return
        group.bit, group.gave_up, group.cause = True, False, cause
        if group not in self.queue:
            self.queue.append(group)

    def resume(self, group: Group) -> None:
        """The last retry was some time ago. A group without members waits for one."""
        if group.gave_up and group.members:
            self.ask(group, "given up before")

    def next(self) -> Group | None:
        """The group whose rebalance may begin, or be tried again, now."""
        if self.again:
            return self.again[0]
        if len(self._busy) >= self.limits.rebalance_threads:
            return None
        return next((group for group in self.queue if group not in self._busy), None)

    # 1 to 4.1.

    def begin(self, group: Group) -> Script[None]:
        """Compute the assignment, and have every member stop its fetchers; if nothing is to be done, it ends there."""
        reading = self._take(group)
        topics: set[str] | None = None
        while topics != group.topics(self.topics.known):  # again, if who has joined meanwhile brings further topics
            topics = group.topics(self.topics.known)
            try:
                partitions = yield from self.topics.partitions(topics)
                owners = yield from self._owners(group)
            except RefusedError as refused:
                if group.reading == reading:
                    self._read_in_vain(group, refused)
                return
            if group.reading != reading:
                return  # a member has died meanwhile: the rebalance has failed
        group.reading = 0
        assignment = ranges(partitions, group.threads(partitions))
        if not group.members or self._is_done(group, owners, assignment):
            group.bit = False
            self._end(group, "nothing to do")
            self.context.did("begin", group=group.name, skipped=True)
            return
        self._stop_all(group, assignment)

    def _owners(self, group: Group) -> Script[Owners]:
        """Owners in ZooKeeper (3.1, 3.2)."""
        if group.is_read_ahead:
            group.is_read_ahead = False
            return group.owners
        return (yield from self.store.read_owners(group))

    def _read_in_vain(self, group: Group, refused: RefusedError) -> None:
        now_ms = self.context.now_ms
        group.reading = 0
        if group.rebalance is None:
            group.rebalance = Rebalance(Phase.IDLE, self._attempts, 0, group.cause, now_ms, now_ms)
        self._refused(group, refused)

    def _take(self, group: Group) -> int:
        """A handler takes a group. Returns the number of the reading that begins."""
        if group in self.again:
            self.again.remove(group)
        else:
            self._busy.append(group)
        if group in self.queue:
            self.queue.remove(group)
        if self.design.bit_cleared_first:
            group.bit = False
        self._readings += 1
        group.reading = self._readings
        return group.reading

    def _is_done(self, group: Group, owners: Owners, assignment: Owners) -> bool:
        """Owners in ZooKeeper are as computed (3.1 to 3.5), and every member fetches its share."""
        are_started = group.members.keys() <= group.started and not self.is_misled(group)
        return owners == assignment and (are_started or not self.design.starts_registered)

    def is_misled(self, group: Group) -> bool:
        """Members were told another address of a broker that has partitions of theirs, or none."""
        brokers = {of.partition.partition("-")[0] for of in group.owners}
        return any(
            str(broker) in brokers and group.told.get(broker) != address
            for broker, address in self.topics.brokers.items()
        )

    def _stop_all(self, group: Group, assignment: Owners) -> None:
        self._attempts += 1
        now_ms, before = self.context.now_ms, group.rebalance
        retries = 0 if before is None else before.retries
        phase, since_ms = (Phase.IDLE, now_ms) if before is None else (before.phase, before.phase_ms)
        rebalance = Rebalance(phase, self._attempts, retries, group.cause, now_ms, since_ms, assignment)
        group.started, group.rebalance = set(), rebalance
        rebalance.waits_for = set(group.members)
        self._move(group, rebalance, Phase.STOPPING)
        self.context.did(
            "begin", group=group.name, attempt=rebalance.attempt, epoch=self.epoch, cause=group.cause, skipped=False
        )
        for member in group.members.values():
            self._send(member, StopFetcherRequest(member.consumer, self.epoch, rebalance.attempt))
            self.pings.watch(group, member, rebalance)

    # 4.2, 4.5, 5.

    def answered(self, group: Group, member: Member, phase: Phase, attempt: int) -> None:
        """A response of 4.2 or 4.5 clears its watcher; when none is left, the handler goes on."""
        rebalance = group.rebalance
        if rebalance is None or rebalance.phase is not phase or member.consumer not in rebalance.waits_for:
            return
        if self.design.attempt_ids and attempt != rebalance.attempt:
            self.context.log("a late response is refused", group=group.name, consumer=member.consumer, attempt=attempt)
            return
        rebalance.waits_for.remove(member.consumer)
        if phase is Phase.STARTING:
            group.started.add(member.consumer)
        if rebalance.waits_for:
            return
        if phase is Phase.STOPPING:
            self._go_to(group, Phase.COMMITTING)
        elif self.design.owners_first:
            self._end(group, "done")
        else:
            self._go_to(group, Phase.WRITING)

    def watcher_fires(self, watcher: Watcher) -> None:
        """A member has not answered in time."""
        group, rebalance = watcher.group, watcher.rebalance
        if (
            group.rebalance is rebalance
            and mark_of(rebalance) == watcher.mark
            and watcher.consumer in rebalance.waits_for
        ):
            self.time_out(group)

    def time_out(self, group: Group) -> None:
        """Responses do not come in time (5): the rebalance has failed, to be tried again, or is given up."""
        rebalance = group.rebalance
        assert rebalance is not None and rebalance.waits_for, "watchers are set"
        late = sorted(rebalance.waits_for)
        self.context.did("time_out", group=group.name, attempt=rebalance.attempt, epoch=self.epoch)
        self.context.log(
            "responses are late", is_warning=True, group=group.name, attempt=rebalance.attempt, consumers=late
        )
        if rebalance.phase is Phase.STOPPING and self.design.join_barrier:
            self._go_on_without(group, rebalance, late)
        else:
            self._try_again(group, rebalance)

    def _refused(self, group: Group, refused: RefusedError) -> None:
        """ZooKeeper refuses what a rebalance asks of it: as where responses do not come in time."""
        assert group.rebalance is not None, "it reads or writes"
        self.context.log("ZooKeeper refuses", is_warning=True, group=group.name, why=str(refused))
        self._try_again(group, group.rebalance)

    def _try_again(self, group: Group, rebalance: Rebalance) -> None:
        """A rebalance has failed (5): it backs off, to be tried again, or is given up."""
        if rebalance.retries < self.limits.max_retries:
            rebalance.retries += 1
            rebalance.assignment, rebalance.waits_for = {}, set()
            self._go_to(group, Phase.BACKOFF)
            self.context.set_timer(self.context.now_ms + self.limits.backoff_ms, Timing.BACKOFF, group.name)
        else:
            group.gave_up = True
            self.context.log(
                "ConsumerRebalanceFailedException", is_warning=True, group=group.name, attempts=rebalance.retries + 1
            )
            self._end(group, "given up")
            if self.design.retries_resume:
                resume_ms = self.context.now_ms + self.limits.max_consumer_session_ms
                self.context.set_timer(resume_ms, Timing.RESUME, group.name)

    def _go_on_without(self, group: Group, rebalance: Rebalance, late: list[str]) -> None:
        """At a barrier, who is late is removed, and the others go on."""
        partitions: dict[str, list[str]] = {}
        for of in rebalance.assignment:
            partitions.setdefault(of.topic, []).append(of.partition)
        for consumer in late:
            self.remove(group.members[consumer], "late at the barrier")
        if not group.members:
            self._end(group, "nobody is left")
            return
        rebalance.assignment = ranges(partitions, group.threads(list(partitions)))
        rebalance.waits_for = set()
        self._go_to(group, Phase.COMMITTING)

    def back_off_is_over(self, group: Group) -> None:
        if group.phase is Phase.BACKOFF and group not in self.again:
            self.again.append(group)

    # 4.3, 4.4, 4.6.

    def go_on(self, group: Group) -> Script[None]:
        """Commit the offsets, write the owners, or start everybody: whatever is next."""
        self.to_go_on.remove(group)
        rebalance = group.rebalance
        assert rebalance is not None, "it is in 4.3 or 4.6"
        try:
            if rebalance.phase is Phase.COMMITTING:
                yield from self.store.commit(group, read=rebalance.assignment)
            else:
                yield from self.store.write_owners(group, rebalance)
            if not self.design.fenced_writes:
                yield from self.store.read_offsets(group, rebalance.assignment)
        except DeposedError as deposed:
            self.step_down(deposed)
            return
        except RefusedError as refused:
            if group.rebalance is rebalance:
                self._refused(group, refused)
            return
        if group.rebalance is not rebalance:
            return  # it has failed meanwhile
        was_committing = rebalance.phase is Phase.COMMITTING
        action = "commit_and_go_on" if was_committing else "write_owners"
        self.context.did(action, group=group.name, attempt=rebalance.attempt, epoch=self.epoch)
        if was_committing and self.design.owners_first:
            self._go_to(group, Phase.WRITING)
        elif was_committing or self.design.owners_first:
            self._start_all(group, rebalance)
        else:
            group.bit = False
            self._end(group, "done")

    def _start_all(self, group: Group, rebalance: Rebalance) -> None:
        """Start every member (4.4), also those that have joined since 4.1."""
        self._move(group, rebalance, Phase.STARTING)
        rebalance.waits_for = set(group.members)
        group.told = dict(self.topics.brokers)
        brokers = tuple(group.told.values())
        shares = self._shares(group, rebalance.assignment)
        for member in group.members.values():
            threads = tuple(
                ThreadShare(thread, tuple(self._start(group, member, of) for of in partitions))
                for thread, partitions in shares.get(member.consumer, {}).items()
            )
            self._send(member, self._start_request(member, threads, brokers, rebalance.attempt))
            self.pings.watch(group, member, rebalance)

    def _start_request(
        self, member: Member, threads: tuple[ThreadShare, ...], brokers: tuple[BrokerAddress, ...], attempt: int
    ) -> StartFetcherRequest:
        return StartFetcherRequest(member.consumer, threads, brokers, self.epoch, attempt)

    @staticmethod
    def _shares(group: Group, assignment: Owners) -> dict[str, dict[str, list[TopicPartition]]]:
        """By consumer and thread, the partitions that it is assigned."""
        shares: dict[str, dict[str, list[TopicPartition]]] = {}
        for of in sorted(assignment):
            thread = assignment[of]
            shares.setdefault(consumer_of(thread), {}).setdefault(thread, []).append(of)
        return shares

    @staticmethod
    def _start(group: Group, member: Member, of: TopicPartition) -> Position:
        """From where a partition is fetched: the offset last reported, else ZooKeeper's, else as the member wants."""
        offset = group.reported.get(of)
        if offset is None:
            offset = group.committed.get(of)
        return Position(of.topic, of.partition, member.start_offset if offset is None else offset)

    # Ends and phases.

    def fail(self, group: Group) -> None:
        """A member has died: a rebalance under way fails (8, handleConsumerFailure 4)."""
        if group.rebalance is not None or group.reading:
            self._end(group, "a member has died")

    def begin_again(self) -> None:
        """The connection was lost, and with it what was under way: read, or write, again."""
        for group in tuple(self._busy):
            if group.phase in (Phase.COMMITTING, Phase.WRITING) and group not in self.to_go_on:
                self.to_go_on.append(group)
            elif group.reading:
                group.reading = 0
                if group.phase is Phase.BACKOFF:
                    self.again.append(group)
                else:
                    self._busy.remove(group)
                    group.bit = False
                    self.ask(group, group.cause)

    def _go_to(self, group: Group, phase: Phase) -> None:
        assert group.rebalance is not None
        self._move(group, group.rebalance, phase)
        if phase in (Phase.COMMITTING, Phase.WRITING):
            self.to_go_on.append(group)

    def _move(self, group: Group, rebalance: Rebalance, phase: Phase) -> None:
        """A line of the log for the phase that ends, and the next."""
        before, rebalance.phase = rebalance.phase, phase
        now_ms = self.context.now_ms
        self.context.log(
            "rebalance", group=group.name, attempt=rebalance.attempt, phase=phase.name, cause=rebalance.cause,
            after=before.name, after_ms=now_ms - rebalance.phase_ms,
        )  # fmt: skip
        rebalance.phase_ms = now_ms

    def _end(self, group: Group, outcome: str) -> None:
        rebalance, group.rebalance, group.reading = group.rebalance, None, 0
        for waiting in (self.to_go_on, self.again, self._busy):
            if group in waiting:
                waiting.remove(group)
        now_ms = self.context.now_ms
        if rebalance is None:
            rebalance = Rebalance(Phase.IDLE, UNKNOWN, 0, group.cause, now_ms, now_ms)
        self.context.log(
            "rebalance has ended", group=group.name, attempt=rebalance.attempt, outcome=outcome, cause=rebalance.cause,
            took_ms=now_ms - rebalance.began_ms, after=rebalance.phase.name, after_ms=now_ms - rebalance.phase_ms,
        )  # fmt: skip

    def _send(self, member: Member, request: RequestToConsumer) -> None:
        self.context.effects.append(Send(member.connection, request))
