"""A consumer: it finds the coordinator, registers, and does what it is asked to (Consumer Coordinator, 7, 8, 11).

Its session runs by its own clock. In the repaired design it counts from the sending of the last answer of which a ping
says that it has arrived: once the coordinator declares it dead, it has stopped fetching.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

from impl.group.design import Design
from impl.group.effects import Ask, Connect, Context, Disconnect, Effects, Exit, Fetching, Timer, Timing
from impl.group.fetch_protocol import EARLIEST, LATEST
from impl.group.protocol import (
    UNKNOWN,
    BrokerAddress,
    ClusterMetadataRequest,
    ClusterMetadataResponse,
    ErrorCode,
    PingRequest,
    PingResponse,
    Position,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    ResponseOfConsumer,
    StartFetcherRequest,
    StartFetcherResponse,
    StopFetcherRequest,
    StopFetcherResponse,
    ThreadShare,
    TopicPartition,
)
from impl.group.settings import ConsumerSettings


class State(Enum):
    """Where a consumer is."""

    STARTING = "STARTING"  # it looks for the coordinator
    REGISTERING = "REGISTERING"  # it connects to it, or awaits the answer to its registration
    JOINED = "JOINED"
    SHUTTING_DOWN = "SHUTTING_DOWN"  # it consumes no more, and waits to leave
    LEFT = "LEFT"  # it was shut down in order
    DOWN = "DOWN"  # it was shut down, and its session was over before it could leave


@dataclass(slots=True)
class Fetched:
    """A partition that is fetched. thread: whose it is. offset: of the next record; EARLIEST, LATEST: to be asked."""

    thread: str
    offset: int


class Consumer:
    """The core of one consumer. fetched: what it fetches, while it has joined."""

    def __init__(self, settings: ConsumerSettings) -> None:
        self.settings = settings
        self.design: Design = settings.design
        self.context = Context()
        self.state = State.STARTING
        self.connection: int | None = None
        self.coordinator_epoch = UNKNOWN
        """The newest that it has registered with."""
        self.attempt = UNKNOWN
        """Of the StartFetcherRequest that it took last."""
        self._newest_attempt = UNKNOWN
        """Of the requests that it took on this connection."""
        self.brokers: dict[int, BrokerAddress] = {}
        self.fetched: dict[TopicPartition, Fetched] = {}
        self.session_end_ms = 0
        self.answered = 0
        """Pings, since it shuts down."""
        self._session_ms = settings.session_timeout_ms
        self._answers_ms: deque[int] = deque()
        """When each answer to a ping was sent of which it is not known that it has arrived."""
        self._out_of_range: set[TopicPartition] = set()
        """Partitions that begin at the offset of autooffset.reset once more."""
        self._connections = 0
        self._next_broker = 0
        self._waits = False

    # Startup (7).

    def start(self, now_ms: int) -> Effects:
        """Look for the coordinator."""
        self.context.now_ms = now_ms
        self._look()
        return self.context.taken()

    def _look(self) -> None:
        """The next broker of those that are known (1); it is given as long as a session to answer."""
        host, port = self._known[self._next_broker % len(self._known)]
        self._next_broker += 1
        self._waits = False
        self._connect(host, port)

    @property
    def _known(self) -> list[tuple[str, int]]:
        """The brokers of the configuration, and those that it has been told of since (3)."""
        told = ((broker.host, broker.port) for broker in self.brokers.values())
        return list(dict.fromkeys((*self.settings.bootstrap, *told)))

    def _connect(self, host: str, port: int) -> None:
        self._connections += 1
        self.connection = self._connections
        self._session_from(self.context.now_ms, self.settings.session_timeout_ms)
        self.context.effects.append(Connect(self.connection, host, port))

    def _look_again(self, why: str) -> None:
        """At once, or where all brokers were asked, after a moment (1.1, 1.2)."""
        self.context.log("looks for the coordinator", consumer=self.settings.consumer, why=why)
        self.state = State.STARTING
        if self._next_broker % len(self._known):
            self._look()
        else:
            self.connection, self._waits = None, True
            self.context.set_timer(self.context.now_ms + self.settings.retry_ms, Timing.START)

    def on_connected(self, connection: int, now_ms: int) -> Effects:
        """A connection is made: what it is made for is sent."""
        self.context.now_ms = now_ms
        if connection != self.connection:
            return []
        if self.state is State.STARTING:
            self.context.effects.append(Ask(ClusterMetadataRequest(self.coordinator_epoch)))
            return self.context.taken()
        settings = self.settings
        request = RegisterConsumerRequest(
            settings.group, settings.consumer, settings.topic_count, settings.auto_commit, settings.auto_offset_reset,
            settings.session_timeout_ms, self.coordinator_epoch,
        )  # fmt: skip
        self._session_from(now_ms, settings.session_timeout_ms)
        self.context.did("connect", consumer=settings.consumer)
        self.context.effects.append(Ask(request))
        return self.context.taken()

    def on_metadata(self, response: ClusterMetadataResponse, now_ms: int) -> Effects:
        """The answer to who the coordinator is (2, 3): connect to it (4)."""
        self.context.now_ms = now_ms
        self.context.effects.append(Disconnect())
        self._know(response.brokers)
        address = self.brokers.get(response.coordinator_id)
        if response.error_code != ErrorCode.NONE or address is None:
            self._look_again("no coordinator is known")
        else:
            self.state = State.REGISTERING
            self._connect(address.host, address.port)
        return self.context.taken()

    def on_registered(self, response: RegisterConsumerResponse, now_ms: int) -> Effects:
        """The answer to the registration (5): it has joined, or starts anew."""
        self.context.now_ms = now_ms
        if self._is_over_first():
            return self.context.taken()
        epoch = response.coordinator_epoch
        is_former = self.design.coordinator_epoch and epoch < self.coordinator_epoch
        accepted = response.error_code == ErrorCode.NONE and not is_former
        self.context.did("take_answer", consumer=self.settings.consumer, epoch=epoch, joined=accepted)
        if not accepted:
            cause = "it is a former coordinator" if is_former else _name(response.error_code)
            self._start_anew(f"the registration is refused: {cause}")
            return self.context.taken()
        self.state, self.coordinator_epoch, self._newest_attempt = State.JOINED, epoch, UNKNOWN
        self._answers_ms.clear()
        sent_ms = self.session_end_ms - self.settings.session_timeout_ms
        lasts_ms = max(response.session_ms, self.settings.session_timeout_ms)
        if self.design.lease_from_answers:
            self._session_from(sent_ms, lasts_ms)
        else:
            self._session_from(now_ms, self.settings.session_timeout_ms)
        self.context.log("joined", consumer=self.settings.consumer, group=self.settings.group, epoch=epoch)
        if response.threads is not None:
            self._start_with(response.threads, response.brokers, 0)
        return self.context.taken()

    def _know(self, brokers: tuple[BrokerAddress, ...]) -> None:
        if brokers:
            self.brokers = {broker.id: broker for broker in brokers}

    # Sessions (8.5, 10).

    def _session_from(self, begin_ms: int, lasts_ms: int) -> None:
        self._session_ms, self.session_end_ms = lasts_ms, begin_ms + lasts_ms
        self.context.set_timer(self.session_end_ms, Timing.SESSION)

    def _renew(self, begin_ms: int) -> None:
        """The timer stays where it is: when it is due, it is set for the end as it is then."""
        self.session_end_ms = max(self.session_end_ms, begin_ms + self._session_ms)

    def is_over(self, now_ms: int) -> bool:
        """Its session is over by its own clock."""
        return now_ms >= self.session_end_ms

    def _is_over_first(self) -> bool:
        """Look at the session before anything else."""
        if not (self.design.timer_before_requests and self.is_over(self.context.now_ms)):
            return False
        self._suspect("its session is over")
        return True

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """A timer that was set is due."""
        self.context.now_ms = now_ms
        if self.has_left:
            return []
        if timer.timing is Timing.START:
            if self._waits:
                self._look()
        elif self._waits:
            pass  # it is connected to nobody
        elif not self.is_over(now_ms):
            self.context.set_timer(self.session_end_ms, Timing.SESSION)
        else:
            self._suspect("its session is over")
        return self.context.taken()

    def on_closed(self, connection: int, now_ms: int) -> Effects:
        """A connection is closed by the other end, or was not made."""
        self.context.now_ms = now_ms
        if connection == self.connection and not self.has_left:
            self._suspect("its connection is closed")
        return self.context.taken()

    def _suspect(self, why: str) -> None:
        if self.state is not State.STARTING:
            self.context.did("suspect", consumer=self.settings.consumer, why=why)
        self._start_anew(why)

    def _start_anew(self, why: str) -> None:
        """Stop fetching, close the connection, and look for the coordinator; who shuts down does not (10)."""
        self.context.effects.append(Disconnect())
        self._fetch({})
        self.answered = 0
        if self.state is State.SHUTTING_DOWN:
            self._leave(State.DOWN, why)
        else:
            self._look_again(why)

    # Requests (11).

    def on_request(self, request: RequestToConsumer, now_ms: int) -> Effects:
        """The coordinator asks for something."""
        self.context.now_ms = now_ms
        if self._is_over_first():
            return self.context.taken()
        is_of_another = self.design.coordinator_epoch and request.coordinator_epoch != self.coordinator_epoch
        if request.consumer != self.settings.consumer or is_of_another:
            self._start_anew(f"a request for {request.consumer}, of epoch {request.coordinator_epoch}")
            return self.context.taken()
        if not self.design.lease_from_answers:
            self._renew(now_ms)
        match request:
            case PingRequest():
                self._take_ping(request)
            case _ if self.design.attempt_ids and request.attempt < self._newest_attempt:
                self._refuse_stale(request)
            case StopFetcherRequest():
                self._take_stop(request)
            case StartFetcherRequest():
                self._take_start(request)
        return self.context.taken()

    def _refuse_stale(self, request: StopFetcherRequest | StartFetcherRequest) -> None:
        """On one connection attempts only rise: whoever sends this is no coordinator to be obeyed."""
        self.context.log("a stale attempt", is_warning=True, attempt=request.attempt, newest=self._newest_attempt)
        code, consumer = ErrorCode.STALE_ATTEMPT, self.settings.consumer
        refusal: ResponseOfConsumer = (
            StopFetcherResponse(code, consumer, None, request.coordinator_epoch, request.attempt)
            if isinstance(request, StopFetcherRequest)
            else StartFetcherResponse(code, consumer, request.coordinator_epoch, request.attempt)
        )
        self.context.effects.append(Ask(refusal))

    def _take_ping(self, request: PingRequest) -> None:
        """handlePingRequest 1 to 3."""
        settings, now_ms = self.settings, self.context.now_ms
        if self.state is State.JOINED and self._out_of_range & self.fetched.keys():
            self.context.did("find_out_of_range", consumer=settings.consumer)
            self._start_anew("an offset is out of range")
            return
        if self.design.lease_from_answers:
            self._count_answers(request.num_retries)
            self._answers_ms.append(now_ms)
        self.context.did("take_ping", consumer=settings.consumer)
        answer = PingResponse(
            ErrorCode.NONE, settings.consumer, self._offsets(), request.coordinator_epoch, request.attempt
        )
        self.context.effects.append(Ask(answer))
        if self.state is State.SHUTTING_DOWN:
            uncommitted = request.uncommitted if self.design.shutdown_commits else 0
            if self.answered > uncommitted or not settings.auto_commit:
                self._leave(State.LEFT, "it was shut down")
            else:
                self.answered += 1

    def _count_answers(self, unanswered: int) -> None:
        """All answers but the last so many have arrived: the session is counted from the last that has."""
        arrived = len(self._answers_ms) - max(unanswered, 0)
        for _ in range(arrived):
            begin_ms = self._answers_ms.popleft()
        if arrived > 0:
            self._renew(begin_ms)

    def _take_stop(self, request: StopFetcherRequest) -> None:
        """Close the fetchers, and answer with the offsets consumed (1, 2)."""
        offsets = self._offsets()
        self._newest_attempt = request.attempt
        self._fetch({})
        self.context.did("take_stop", consumer=self.settings.consumer, attempt=request.attempt)
        answer = StopFetcherResponse(
            ErrorCode.NONE, self.settings.consumer, offsets, request.coordinator_epoch, request.attempt
        )
        self.context.effects.append(Ask(answer))

    def _take_start(self, request: StartFetcherRequest) -> None:
        """Fetch what is assigned, from where it says (1 to 5); where that was out of range, from the reset offset."""
        self._start_with(request.threads, request.brokers, request.attempt)
        partitions = [list(of) for of in self.fetched]
        self.context.did("take_start", consumer=self.settings.consumer, attempt=request.attempt, partitions=partitions)
        answer = StartFetcherResponse(
            ErrorCode.NONE, self.settings.consumer, request.coordinator_epoch, request.attempt
        )
        self.context.effects.append(Ask(answer))

    def _start_with(self, threads: tuple[ThreadShare, ...], brokers: tuple[BrokerAddress, ...], attempt: int) -> None:
        self._know(brokers)
        self._fetch(
            {one.of: Fetched(share.thread, self._start_of(one)) for share in threads for one in share.positions}
        )
        self._out_of_range.clear()
        self.attempt = self._newest_attempt = attempt

    def _start_of(self, position: Position) -> int:
        if position.of in self._out_of_range:
            return LATEST if self.settings.auto_offset_reset == "largest" else EARLIEST
        return position.offset

    def _offsets(self) -> tuple[Position, ...] | None:
        """The offsets consumed, of those partitions whose offset is known."""
        if not self.settings.auto_commit:
            return None
        return tuple(
            Position(of.topic, of.partition, fetched.offset)
            for of, fetched in self.fetched.items()
            if fetched.offset >= 0
        )

    def _fetch(self, fetched: dict[TopicPartition, Fetched]) -> None:
        if self.fetched or fetched:
            self.fetched = fetched
            self.context.effects.append(Fetching())

    # Records.

    @property
    def has_left(self) -> bool:
        return self.state in (State.LEFT, State.DOWN)

    @property
    def consumes(self) -> bool:
        return self.state is State.JOINED

    @property
    def is_started(self) -> bool:
        """The last request on this connection but pings was to start, with partitions or without."""
        return self.attempt == self._newest_attempt != UNKNOWN

    def consume(self, of: TopicPartition, offset: int, next_offset: int, now_ms: int) -> tuple[bool, Effects]:
        """Take a record that was fetched. Whether it is to be handed on: its session is looked at first, too."""
        self.context.now_ms = now_ms
        fetched = self.fetched.get(of)
        if not self.consumes or self._is_over_first() or fetched is None or fetched.offset != offset:
            return False, self.context.taken()
        fetched.offset = next_offset
        return True, self.context.taken()

    def begin_at(self, of: TopicPartition, offset: int) -> None:
        """The offset that EARLIEST or LATEST stands for."""
        if of in self.fetched and self.fetched[of].offset < 0:
            self.fetched[of].offset = offset

    def on_out_of_range(self, of: TopicPartition, now_ms: int) -> Effects:
        """The log has no such offset: the fetcher stops, and the next ping ends the connection (2)."""
        self.context.now_ms = now_ms
        if of in self.fetched and of not in self._out_of_range:
            self._out_of_range.add(of)
            self.context.log("an offset is out of range", is_warning=True, partition=of.partition, topic=of.topic)
        return self.context.taken()

    # Shutdown (11, 1).

    def stop(self, now_ms: int) -> Effects:
        """SIGTERM: consume no more, and leave at a ping; at once where there is nobody to ping it."""
        self.context.now_ms = now_ms
        if self.state is State.JOINED:
            self.state = State.SHUTTING_DOWN
            self.context.did("terminate", consumer=self.settings.consumer)
            self.context.effects.append(Fetching())
        elif self.state in (State.STARTING, State.REGISTERING):
            self._leave(State.LEFT, "it was shut down")
        return self.context.taken()

    def _leave(self, state: State, why: str) -> None:
        self.state = state
        self.answered = 0
        self.connection = None
        self.fetched = {}
        self.context.did("leave", consumer=self.settings.consumer)
        self.context.log("left", consumer=self.settings.consumer, group=self.settings.group, why=why)
        self.context.effects += [Fetching(), Disconnect(), Exit()]


def _name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else str(code)
