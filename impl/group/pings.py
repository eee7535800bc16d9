"""Pings and watchers: one heap of what is due, for pings and the three purgatories (Consumer Coordinator, 5, 8).

A ping of a consumer is sent each third of its session, and fails two thirds after it was sent: so whether earlier pings
have failed is looked at when the next one is due, and needs no entries of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from impl.group.design import Design
from impl.group.effects import Context, Send, Timing
from impl.group.offsets import Store
from impl.group.protocol import ALL, PingRequest
from impl.group.registry import Group, Member, Rebalance

_PUT_OFF_MS = 1_000
_TICK_MS = 10
"""What is due in one tick is done in one step, at its end."""


class Due(IntEnum):
    """The kinds of entries."""

    PING = 0
    DEATH = 1  # the member is dead, unless it was heard since
    WATCHER = 2  # a member has not answered a Stop or StartFetcherRequest in time


class Watcher(NamedTuple):
    """Of a request of 4.1 or 4.4. mark: tells the phases of a rebalance apart, and the attempts."""

    group: Group
    consumer: str
    rebalance: Rebalance
    mark: tuple[str, int]


class Pings:
    """The heap. limit_ms: for how long a consumer of a session timeout may not be heard of."""

    def __init__(
        self, context: Context, design: Design, store: Store, max_failed: int, limit_ms: Callable[[int], int]
    ) -> None:
        self.context = context
        self.design = design
        self.store = store
        self.max_failed = max_failed
        self.limit_ms = limit_ms
        self.failed_pings = 0
        self.times_ms: list[int] = []
        """From the sending of each ping to its answer, since somebody took them."""
        self._heap: list[tuple[int, int, Due, Member | Watcher]] = []
        self._entries = 0
        self._timer_ms: int | None = None

    def lasts_ms(self, session_ms: int) -> int:
        """For how long a consumer may fetch after the sending of an answer that has arrived."""
        return self.limit_ms(session_ms) if self.design.lease_from_answers else session_ms

    def clear(self) -> None:
        """A term begins, or has ended; a timer that is set is nobody's, and one that is due in between is not taken."""
        self._heap.clear()
        self._timer_ms = None

    def add(self, member: Member) -> None:
        """Add the ping request task of a consumer (handleAddedConsumer 1): its first ping is due after S/3."""
        member.next_ping_ms = self.context.now_ms + member.interval_ms
        self._push(member.next_ping_ms, Due.PING, member)

    def watch(self, group: Group, member: Member, rebalance: Rebalance, at_ms: int | None = None) -> None:
        """Set the watcher of a request that was just sent: 2S/3, unless another time is given."""
        watcher = Watcher(group, member.consumer, rebalance, mark_of(rebalance))
        self._push(self.context.now_ms + 2 * member.interval_ms if at_ms is None else at_ms, Due.WATCHER, watcher)

    def silent_ms(self, member: Member) -> int:
        """From when on a member's own session is over, unless it is heard before."""
        return member.heard_ms + self.limit_ms(member.session_timeout_ms)

    def put_off(self, watcher: Watcher) -> None:
        """Set a watcher again that was due while nothing could be done about it."""
        self._push(self.context.now_ms + _PUT_OFF_MS, Due.WATCHER, watcher)

    def due(self) -> list[tuple[Due, Member | Watcher]]:
        """What is due by now, in order; the timer is set for the rest."""
        found = []
        while self._heap and self._heap[0][0] <= self.context.now_ms:
            _, _, kind, what = heapq.heappop(self._heap)
            found.append((kind, what))
        self._timer_ms = None
        return found

    def set_timer(self) -> None:
        """Set the timer for the first entry, unless it is set."""
        if self._heap and (self._timer_ms is None or self._heap[0][0] < self._timer_ms):
            self._timer_ms = -(-self._heap[0][0] // _TICK_MS) * _TICK_MS
            self.context.set_timer(self._timer_ms, Timing.PINGS)

    def expired_of(self, member: Member) -> int:
        """How many more pings of a member have failed by now."""
        last_ms = self.context.now_ms - 2 * member.interval_ms
        return sum(1 for sent_ms in member.unanswered_ms if sent_ms <= last_ms) - member.expired

    def fail(self, member: Member) -> bool:
        """A ping of a member has failed (8, 3). Whether it is dead (4): more have failed than are retried."""
        member.expired += 1
        member.failed += 1
        member.in_a_row += 1
        self.failed_pings += 1
        if member.failed <= self.max_failed:
            return False
        return not (self.design.lease_from_answers and self.design.failures_in_a_row) or self.is_silent(member)

    def is_silent(self, member: Member) -> bool:
        """Nothing was heard of it for so long that its own session is over; else it is looked at again by then."""
        end_ms = self.silent_ms(member)
        if self.context.now_ms >= end_ms:
            return True
        self._push(end_ms, Due.DEATH, member)
        return False

    def send(self, group: Group, member: Member, epoch: int) -> None:
        """Send a ping (scheduler.run 2.1), whether or not the last one was answered."""
        sent = len(member.unanswered_ms)
        uncommitted = ALL
        if self.design.shutdown_commits and (self.design.counts_answers or sent == 0):
            if not self.store.has_uncommitted_of(group, member):
                uncommitted = sent
        retries = sent if self.design.counts_answers else member.in_a_row
        attempt = 0 if group.rebalance is None else group.rebalance.attempt
        member.unanswered_ms.append(self.context.now_ms)
        self.context.effects.append(
            Send(member.connection, PingRequest(member.consumer, retries, epoch, attempt, uncommitted))
        )

    def schedule(self, member: Member) -> None:
        """Put the consumer back with its next time (scheduler.run 3); one that was missed is not made up for."""
        interval_ms = member.interval_ms
        member.next_ping_ms = max(member.next_ping_ms, self.context.now_ms - interval_ms) + interval_ms
        self._push(member.next_ping_ms, Due.PING, member)

    def answered(self, member: Member) -> None:
        """The answer to the first ping that is unanswered was read."""
        if member.unanswered_ms:
            self.times_ms.append(self.context.now_ms - member.unanswered_ms.popleft())
        member.expired = max(0, member.expired - 1)
        member.in_a_row = 0
        member.heard_ms = self.context.now_ms
        if self.design.failures_in_a_row:
            member.failed = 0

    def _push(self, at_ms: int, kind: Due, what: Member | Watcher) -> None:
        self._entries += 1
        heapq.heappush(self._heap, (at_ms, self._entries, kind, what))
        self.set_timer()


def mark_of(rebalance: Rebalance) -> tuple[str, int]:
    """Distinguishes the phases and attempts of a rebalance."""
    return rebalance.phase.value, rebalance.attempt
