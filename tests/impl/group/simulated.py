"""A coordinator and consumers in simulated time, on a ZooKeeper in memory: who hears what when is up to the test."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

from impl.group.consumer import Consumer
from impl.group.effects import (
    Answer,
    Ask,
    Close,
    CloseAll,
    Connect,
    Disconnect,
    Effect,
    Effects,
    Send,
    SetTimer,
    Timer,
    Timing,
)
from impl.group.protocol import (
    BrokerAddress,
    ClusterMetadataRequest,
    PingResponse,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    ResponseOfConsumer,
)
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.sockets import coordinator_of
from impl.group.znodes import PERSISTENT, broker_bytes, count_path, id_path, topic_path
from impl.zookeeper import ErrorCode, Failed, Operation, Result, Submit
from impl.zookeeper.model import ZooKeeper

SESSION = Timer(Timing.SESSION)


class Link:
    """The connection of a consumer. delay_ms: of each message; a way that is cut loses what is sent."""

    def __init__(self, core: Consumer) -> None:
        self.core = core
        self.connection = 0
        self.requests_cut = self.answers_cut = False
        self.delay_ms = 1
        self.paused: list[Callable[[], None]] | None = None


class Simulation:
    """Time, the cores, and what is under way. topics: by name, how many partitions."""

    def __init__(self, settings: BrokerSettings, topics: dict[str, int]) -> None:
        znodes = [*PERSISTENT, (id_path(0), broker_bytes(BrokerAddress(0, "h", 1), 0))]
        for topic, count in topics.items():
            znodes += [(topic_path(topic), b""), (count_path(topic, "0"), b"%d" % count)]
        self.now_ms = 0
        self.settings = settings
        self.zookeeper = ZooKeeper.begin(2, znodes).open_session(0).open_session(1)
        self.refuses: Callable[[Operation], bool] = lambda operation: False
        """Operations of the coordinator that ZooKeeper refuses."""
        self.loses: Callable[[Operation], bool | None] = lambda operation: None
        """Whether an operation of the coordinator is done with whose answer its connection is lost; None: it is not."""
        self.core = coordinator_of(settings)
        self.links: dict[str, Link] = {}
        self.pinged = 0
        self._by_connection: dict[int, Link] = {}
        self._connections = 0
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0
        self.coordinate([])

    def add(self, settings: ConsumerSettings) -> Link:
        link = self.links[settings.consumer] = Link(Consumer(settings))
        self.consumes(link, link.core.start(self.now_ms))
        return link

    def run(self, for_ms: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass. Whether what was waited for came true."""
        end_ms = self.now_ms + for_ms
        while self._due and self._due[0][0] <= end_ms and not until():
            self.now_ms, _, call = heapq.heappop(self._due)
            call()
        self.now_ms = self.now_ms if until() else end_ms
        return until()

    def later(self, at_ms: int, call: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (at_ms, self._number, call))

    # The coordinator.

    def coordinate(self, effects: Effects) -> None:
        """Carry out what the coordinator asks for; ZooKeeper answers at once."""
        while effects or self.zookeeper.clients[0].arriving or self.core.can_advance:
            pending, effects = effects, []
            for effect in pending:
                self.carried_out(effect)
                match effect:
                    case Submit(id=number, operation=operation) if self.refuses(operation):
                        effects += self.core.on_event(Result(number, Failed(ErrorCode.OTHER)), self.now_ms)
                    case Submit(operation=operation) if (is_done := self.loses(operation)) is not None:
                        lost = self.zookeeper.submit(0, effect).disconnect(0, done=int(is_done))
                        self.zookeeper = lost.reconnect(0)
                    case Submit():
                        self.zookeeper = self.zookeeper.submit(0, effect).serve(0)
                    case Send(connection=connection, message=message):
                        self._send(self._by_connection.get(connection), message)
                    case SetTimer(timer=timer, at_ms=at_ms):
                        at_ms = max(at_ms, self.now_ms)
                        self.later(at_ms, lambda timer=timer: self.coordinate(self.core.on_timer(timer, self.now_ms)))  # type: ignore[misc]  # a default has no type
                    case Close(connection=connection):
                        self._closed(connection)
                    case CloseAll():
                        for connection in tuple(self._by_connection):
                            self._closed(connection)
            while self.zookeeper.clients[0].arriving:
                event, self.zookeeper = self.zookeeper.deliver(0)
                effects += self.core.on_event(event, self.now_ms)
            if self.core.can_advance:
                effects += self.core.advance(self.now_ms)

    def carried_out(self, effect: Effect) -> None:
        """An effect of the coordinator, for who watches it."""

    def write(self, operation: Operation) -> None:
        """Somebody else writes to ZooKeeper."""
        self.zookeeper = self.zookeeper.submit(1, Submit(1, operation)).serve(1)
        self.coordinate([])

    def end_session(self) -> None:
        """The coordinator's session ends, and it hears of that."""
        session = self.zookeeper.clients[0].session
        self.zookeeper = self.zookeeper.expire(session).disconnect(0).reconnect(0)
        self.coordinate([])

    def begin_session(self) -> None:
        """It has another session."""
        self.zookeeper = self.zookeeper.open_session(0)
        self.coordinate([])

    def _send(self, link: Link | None, message: RegisterConsumerResponse | RequestToConsumer) -> None:
        if link is None or link.requests_cut:
            return
        step = link.core.on_registered if isinstance(message, RegisterConsumerResponse) else link.core.on_request
        self._reach(link, partial(step, message))  # type: ignore[arg-type]  # of its link

    def _closed(self, connection: int) -> None:
        link = self._by_connection.pop(connection, None)
        if link is not None and not link.requests_cut:
            number = link.core.connection or 0
            self._reach(link, partial(link.core.on_closed, number))

    def _reach(self, link: Link, step: Callable[[int], Effects]) -> None:
        """A step of a consumer, after the delay; of one that is paused once it wakes up."""
        connection = link.connection

        def take() -> None:
            if link.paused is not None:
                link.paused.append(take)
            elif link.connection == connection:
                self.consumes(link, step(self.now_ms))

        self.later(self.now_ms + link.delay_ms, take)

    # Consumers.

    def consumes(self, link: Link, effects: Effects) -> None:
        """Carry out what a consumer asks for."""
        for effect in effects:
            match effect:
                case Connect(connection=number):
                    self._connections += 1
                    link.connection = self._connections
                    self._by_connection[link.connection] = link
                    self._reach(link, lambda now_ms, number=number: link.core.on_connected(number, now_ms))  # type: ignore[misc]  # a default has no type
                case Ask(message=ClusterMetadataRequest()):
                    (answer,) = [one for one in self.core.on_metadata(1, self.now_ms) if isinstance(one, Answer)]
                    self._reach(link, lambda now_ms, found=answer: link.core.on_metadata(found.response, now_ms))  # type: ignore[misc]  # a default has no type
                case Ask(message=RegisterConsumerRequest() as request):
                    self._arrive(link, partial(self.core.on_register, link.connection, request))
                case Ask(message=message):
                    assert not isinstance(message, ClusterMetadataRequest | RegisterConsumerRequest)
                    self._respond(link, message)
                case Disconnect():
                    self._arrive(link, partial(self.core.on_closed, link.connection))
                    self._by_connection.pop(link.connection, None)
                    link.connection = 0
                case SetTimer(timer=timer, at_ms=at_ms):
                    self.later(max(at_ms, self.now_ms), lambda timer=timer: self._time(link, timer))  # type: ignore[misc]  # a default has no type

    def _time(self, link: Link, timer: object) -> None:
        if link.paused is None:
            self.consumes(link, link.core.on_timer(timer, self.now_ms))  # type: ignore[arg-type]  # of its link

    def _respond(self, link: Link, response: ResponseOfConsumer) -> None:
        self.pinged += isinstance(response, PingResponse)
        self._arrive(link, partial(self.core.on_response, link.connection, response))

    def _arrive(self, link: Link, step: Callable[[int], Effects]) -> None:
        if not link.answers_cut:
            self.later(self.now_ms + link.delay_ms, lambda: self.coordinate(step(self.now_ms)))

    def wake(self, link: Link) -> None:
        """A consumer that was paused goes on: its timers first, then what is queued."""
        assert link.paused is not None
        waiting, link.paused = link.paused, None
        self.consumes(link, link.core.on_timer(SESSION, self.now_ms))
        for take in waiting:
            take()

    @property
    def members(self) -> int:
        return len(self.core.members)

    def all_fetch(self, count: int) -> bool:
        """So many consumers have joined, and every group's rebalance has ended with all of them started."""
        groups = self.core.groups.values()
        settled = all(not group.bit and group.rebalance is None and not group.reading for group in groups)
        return self.members == count and settled and all(set(group.members) == group.started for group in groups)
