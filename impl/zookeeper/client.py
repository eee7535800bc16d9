"""A client of a real ZooKeeper, on kazoo: carries out `Submit` effects, and hands events to an asyncio loop in order.

kazoo reports results, watches and its connection's state on threads. Here all of it is taken where it is read from the
socket, and goes into one stream in that order. Two things are added:

- An operation is done in the session that the core knows of when it submits it, or not at all: between the end of a
  session and the core's hearing of it, what it submits fails with SESSION_EXPIRED instead of being done in the next.
- `OutOfTouch`. kazoo says that a connection is lost, never that the session may be; and of a connection that is silent
  it says so late. ZooKeeper is asked something every sixth of the session's timeout; two thirds of the timeout after
  the sending of the last request that was answered, the session may be about to expire.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Connect
from kazoo.protocol.states import Callback, EventType, WatchedEvent
from kazoo.retry import KazooRetry

from impl.zookeeper.events import (
    Connected,
    Disconnected,
    Done,
    ErrorCode,
    Event,
    Expired,
    Failed,
    Outcome,
    OutOfTouch,
    Result,
    Unknown,
    WatchEvent,
    WatchType,
)
from impl.zookeeper.kazoo_requests import Request, failure, has_moved, outcome, request
from impl.zookeeper.operations import CloseSession, Exists, Submit

_TYPES = {
    EventType.CREATED: WatchType.CREATED,
    EventType.DELETED: WatchType.DELETED,
    EventType.CHANGED: WatchType.DATA_CHANGED,
    EventType.CHILD: WatchType.CHILDREN_CHANGED,
}
_PROBE = Exists("/")


@dataclass(frozen=True, slots=True)
class Session:
    """A session's id and password: with both, another client can take it over, or close it."""

    id: int
    password: bytes


class Client:
    """A client with one session at a time. Its methods are called in the loop's thread.

    hosts: as in zookeeper.connect, "host:port,host:port/chroot". deliver: is handed each event, in the loop's thread;
    whoever passes it on to a core calls `handling` first.
    """

    def __init__(self, hosts: str, timeout_ms: int, deliver: Callable[[Event], None]) -> None:
        self._deliver = deliver
        self._contact = Contact(timeout_ms / 1000)
        self._delivered = 0
        """The session of the last `Connected` that was delivered. `_session`: of the last that the core handled."""
        self._session = 0
        self._is_connected = False
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._closing: asyncio.Future[None] | None = None
        self._kazoo = _Kazoo(hosts, timeout_ms, self._connected, self._disconnected, self._expired, deliver)

    def start(self) -> None:
        """Connect, and reconnect whenever the connection is lost, until `stop`."""
        self._kazoo.start(asyncio.get_running_loop())

    async def stop(self) -> None:
        """Close the session, if there is one, and the connection. Nothing is delivered any more."""
        self._cancel_timers()
        await asyncio.to_thread(self._kazoo.stop)

    @property
    def session(self) -> Session | None:
        """The session while there is a connection."""
        return self._kazoo.session

    def submit(self, submitted: Submit) -> None:
        """Carry out the effect; the Result is delivered later."""
        if isinstance(submitted.operation, CloseSession):
            self._closing = asyncio.ensure_future(self.stop())
            self._closing.add_done_callback(lambda _: self._deliver(Result(submitted.id, Done())))
            return
        sent_s = time.monotonic()

        def answered(outcome: Outcome, zxid: int) -> None:
            self._answered(outcome, sent_s)
            self._deliver(Result(submitted.id, outcome, zxid))

        if not self._session or not self._kazoo.send(submitted.operation, answered):
            expired = Result(submitted.id, Failed(ErrorCode.SESSION_EXPIRED))
            asyncio.get_running_loop().call_soon(self._deliver, expired)

    def handling(self, event: Event) -> None:
        """The core is about to be handed this event: what it submits from then on is for the session that it knows."""
        match event:
            case Connected():
                self._session = event.session
            case Expired():
                self._session = 0
                self._kazoo.end_is_known()

    def check_contact(self) -> None:
        """Deliver `OutOfTouch` if it is time. For a process that acts on the strength of its session: before each step.

        A process that was paused wakes up with requests waiting; it has to know that it was away before it answers.
        """
        if self._delivered and self._contact.is_lost(time.monotonic()):
            self._deliver(OutOfTouch())

    # What kazoo reports, in the loop's thread.

    def _connected(self, handshake: _Handshake) -> None:
        is_new, self._delivered = handshake.session != self._delivered, handshake.session
        self._is_connected = True
        self._contact = Contact(handshake.timeout_s, handshake.started_s)
        self._deliver(Connected(handshake.session, is_new, round(handshake.timeout_s * 1000)))
        self._cancel_timers()
        self._probe()
        self._await_deadline()

    def _disconnected(self) -> None:
        self._is_connected = False
        self._deliver(Disconnected())

    def _expired(self) -> None:
        self._delivered, self._is_connected = 0, False
        self._cancel_timers()
        self._deliver(Expired())

    def _answered(self, outcome: Outcome, sent_s: float) -> None:
        if isinstance(outcome, Unknown) or outcome == Failed(ErrorCode.SESSION_EXPIRED):
            return
        if self._contact.made(sent_s, time.monotonic()) and self._delivered:
            self._deliver(Connected(self._delivered, False, round(self._contact.timeout_s * 1000)))
            self._await_deadline()

    # Timers.

    def _probe(self) -> None:
        """Ask something, so that there is an answer even where the core has no questions."""
        sent_s = time.monotonic()
        if self._is_connected:
            self._kazoo.send(_PROBE, lambda outcome, _: self._answered(outcome, sent_s))
        self._call_later(self._contact.timeout_s / 6, self._probe)

    def _await_deadline(self) -> None:
        left_s = self._contact.deadline_s - time.monotonic()
        if left_s > 0:
            self._call_later(left_s, self._await_deadline)
        else:
            self.check_contact()

    def _call_later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call it after a delay, and only then: a timer that is set again is moved."""
        if call in self._timers:
            self._timers[call].cancel()
        self._timers[call] = asyncio.get_running_loop().call_later(delay_s, call)

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


class Contact:
    """How long ago it was certain that ZooKeeper heard of this client: when it sent what was answered last.

    A session expires at the earliest one timeout after ZooKeeper last heard of it, and so after that was sent. Times
    are of the monotonic clock, in seconds.
    """

    def __init__(self, timeout_s: float, last_s: float = 0.0) -> None:
        self.timeout_s = timeout_s
        self._last_s = last_s
        self._is_lost = False

    @property
    def deadline_s(self) -> float:
        return self._last_s + self.timeout_s * 2 / 3

    def is_lost(self, now_s: float) -> bool:
        """The deadline passed, and this was not reported yet."""
        if self._is_lost or now_s < self.deadline_s:
            return False
        self._is_lost = True
        return True

    def made(self, sent_s: float, now_s: float) -> bool:
        """Something that was sent at `sent_s` was answered. Whether contact had been lost, and is back."""
        self._last_s = max(self._last_s, sent_s)
        if not self._is_lost or now_s >= self.deadline_s:
            return False
        self._is_lost = False
        return True


@dataclass(frozen=True, slots=True)
class _Handshake:
    """A connection as it was negotiated. started_s: when it was begun, by the monotonic clock."""

    session: int
    timeout_s: float
    started_s: float


class _Kazoo:
    """kazoo, whose thread puts everything into the loop in the order in which it reads it from the socket.

    Three of kazoo's private parts are used. `_call` takes a request and an object that its answer is given to in that
    thread; the public methods hand answers to one more thread, and watch events to another, so that their order is
    lost. `_invoke` is where the negotiated timeout passes through, and `_read_socket` where an answer out of turn would
    end kazoo's thread.
    """

    def __init__(
        self, hosts: str, timeout_ms: int, connected: Callable[[_Handshake], None], disconnected: Callable[[], None],
        expired: Callable[[], None], deliver: Callable[[Event], None],
    ) -> None:  # fmt: skip
        retry = KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.5)
        self.client = KazooClient(hosts, timeout_ms / 1000, handler=_Inline(), connection_retry=retry)
        self.client.add_listener(self._state_changed)
        self._invoke = self.client._connection._invoke
        self.client._connection._invoke = self._noting_handshakes
        self._read_socket = self.client._connection._read_socket
        self.client._connection._read_socket = self._reading
        self._handed_on = connected, disconnected, expired
        self._deliver = deliver
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handshake = _Handshake(0, timeout_ms / 1000, 0.0)
        self._last_watch: WatchedEvent | None = None
        self._lock = threading.Lock()
        self._ended_unknown = 0
        """Sessions that ended, and the core does not know it yet. Under the lock."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.client.start_async()

    def stop(self) -> None:
        self._loop = None
        self.client.stop()
        self.client.close()

    @property
    def session(self) -> Session | None:
        found = self.client.client_id
        return None if found is None else Session(*found)

    def end_is_known(self) -> None:
        with self._lock:
            self._ended_unknown -= 1

    def send(self, operation: Request, answered: Callable[[Outcome, int], None]) -> bool:
        """Send it, unless the session ended that it is meant for. `answered` is called in the loop."""
        with self._lock:
            if self._ended_unknown:
                return False
            asked = request(operation, self.client.chroot, self._data_watch, self._child_watch)
            self.client._call(asked, _Answer(self, operation, answered))
        return True

    def in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        loop = self._loop
        with suppress(RuntimeError):  # the loop is closed
            if loop is not None:
                loop.call_soon_threadsafe(call, *arguments)

    def _state_changed(self, state: str) -> None:
        connected, disconnected, expired = self._handed_on
        if state == KazooState.CONNECTED:
            self.in_loop(connected, replace(self._handshake, session=self.client.client_id[0]))
        elif state == KazooState.SUSPENDED:
            self.in_loop(disconnected)
        else:
            with self._lock:
                self._ended_unknown += 1
                self.in_loop(expired)

    def _data_watch(self, event: WatchedEvent) -> None:
        self._last_watch = event
        if event.type in _TYPES:  # of a connection that is lost it reports the type NONE
            self.in_loop(self._deliver, WatchEvent(event.path, _TYPES[event.type]))

    def _child_watch(self, event: WatchedEvent) -> None:
        if event is not self._last_watch:  # a deletion ends both watches of a znode, and is one event
            self._data_watch(event)

    def _noting_handshakes(self, timeout: float, asked: Any, xid: int | None = None) -> Any:
        started_s = time.monotonic()
        answer = self._invoke(timeout, asked, xid)
        if isinstance(asked, Connect):
            self._handshake = _Handshake(0, answer[0].time_out / 1000, started_s)
        return answer

    def _reading(self, timeout_s: float) -> Any:
        """Read. A server that closes a connection may leave an answer out, and still send the one after it."""
        try:
            return self._read_socket(timeout_s)
        except RuntimeError as error:
            raise ConnectionDropped(f"an answer out of turn: {error}") from error


class _Answer:
    """Takes the answer to one request, in kazoo's thread; in the loop's where kazoo refuses it at once."""

    def __init__(self, kazoo: _Kazoo, operation: Request, answered: Callable[[Outcome, int], None]) -> None:
        self._kazoo = kazoo
        self._operation = operation
        self._answered: Callable[[Outcome, int], None] | None = answered

    def set(self, answer: Any = None) -> None:
        if has_moved(answer):
            self._pass_on(Unknown())
            raise ConnectionDropped("the session has moved to another server")  # and a new connection moves it back
        self._pass_on(outcome(self._operation, answer))

    def set_exception(self, error: Exception) -> None:
        self._pass_on(failure(self._operation, error))

    def _pass_on(self, outcome: Outcome) -> None:
        answered, self._answered = self._answered, None  # kazoo may report one failure twice
        if answered is None:
            return
        is_answer = not isinstance(outcome, Unknown) and outcome != Failed(ErrorCode.SESSION_EXPIRED)
        self._kazoo.in_loop(answered, outcome, (self._kazoo.client.last_zxid or 0) if is_answer else 0)


class _Inline(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Calls watches where they are read, instead of on a thread of their own."""

    def dispatch_callback(self, callback: Callback) -> None:
        callback.func(*callback.args)
