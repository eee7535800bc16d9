"""A broker: its cores, the queue of what they are to do, and its session with ZooKeeper.

One script runs at a time, and events wait in the queue meanwhile, each path once: whoever handles an event reads what
is there by then. `advance` takes the next from the queue; a runtime calls it until nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from impl.pinning.effects import Effects, Timer
from impl.pinning.elector import Elector
from impl.pinning.member import Holder, Member, Phase, Script
from impl.pinning.messages import DescribeControllerRequest, MetadataRequest, PinControllerRequest
from impl.pinning.messages import Request as Message
from impl.pinning.office import Office
from impl.pinning.request import Request
from impl.pinning.target import Target
from impl.pinning.znodes import NEXT, PERSISTENT, READY, id_path, registration_bytes
from impl.zookeeper import (
    Connected,
    Create,
    Disconnected,
    ErrorCode,
    Event,
    Expired,
    Failed,
    Operation,
    OutOfTouch,
    Result,
    Submit,
    Unknown,
    WatchEvent,
)
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class Call:
    """A request of an operator that is yet to be handled."""

    number: int
    request: Message


@dataclass(frozen=True, slots=True)
class TimeUp:
    """The time of a call is up."""

    call: int


@dataclass(frozen=True, slots=True)
class Start:
    """There is a connection, with a new session or the same: read everything with watches."""

    is_new: bool


@dataclass(frozen=True, slots=True)
class Write:
    """The controller writes what it has decided."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Another broker has refused this controller's request: it has heard of a later one."""


@dataclass(frozen=True, slots=True)
class Path:
    """A znode has changed, or is to be looked at."""

    path: str


Item = Path | Timer | Call | TimeUp | Start | Write | Refused


class Broker:
    """A broker process without its I/O. Without pinning it is a legacy broker, which knows of /controller only."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.elector = Elector(member)
        self.target = Target(member, self.elector)
        self.office = Office(member, self.target)
        self.request = Request(member)
        self.queue = list[Item]()
        self.running: Generator[Operation, Result, None] | None = None
        self.awaited = 0
        """The id of the operation that was submitted last. What was submitted as the connection was lost is answered
        late, when another script runs."""
        self.is_connected = False
        self.started = 0
        """The session that it has registered and read everything in: a start that was cut short is begun again."""
        self.under_way: Item | None = None
        """The item whose script runs, or ran last."""

    def copy(self) -> Broker:
        """A copy between two scripts."""
        assert self.running is None, "a script that runs cannot be copied"
        copied = Broker(self.member.copy())
        copied.office.heard = self.office.heard
        copied.request.asked = dict(self.request.asked)
        copied.queue, copied.is_connected, copied.started = list(self.queue), self.is_connected, self.started
        copied.awaited = self.awaited
        return copied

    # Inputs. Each returns the effects of what is done at once; the rest waits for `advance`.

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        self.member.now_ms = now_ms
        match event:
            case Result():
                self._resume(event)
            case WatchEvent(path=path):
                self._enqueue(Path(path))
            case Connected(session=session, is_new=is_new):
                self._connected(session, is_new)
            case Disconnected():
                self.is_connected = False
                self._drop()
            case OutOfTouch():
                self.member.is_in_touch = False
                self.member.log("out of touch with ZooKeeper", {"broker": self.member.broker}, is_warning=True)
            case Expired():
                self._expired()
        return self._effects()

    def on_timer(self, timer: Timer | int, now_ms: int) -> Effects:
        """A timer that was set is due."""
        self.member.now_ms = now_ms
        if isinstance(timer, Timer):
            self._enqueue(timer)
        else:
            self._time_is_up(timer)
        return self._effects()

    def on_request(self, call: int, request: Message, now_ms: int) -> Effects:
        """An operator asks for something; the answer is a Reply with this call."""
        self.member.now_ms = now_ms
        self._enqueue(Call(call, request))
        if isinstance(request, PinControllerRequest) and request.timeout_ms > 0:
            self.member.set_timer(call, request.timeout_ms)
        return self._effects()

    def on_work(self, now_ms: int) -> Effects:
        """There is something for a controller to write; one that is out of touch may have a successor, and stops."""
        self.member.now_ms = now_ms
        if self.member.is_in_touch:
            self.office.decide()
        if self.member.decided is not None:
            self._enqueue(Write())
        return self._effects()

    def advance(self, now_ms: int, item: Item | None = None) -> Effects:
        """Begin with the next of the queue, if nothing is under way and ZooKeeper can be reached.

        item: begin with this one, in the queue or not: for a host that decides itself what comes first.
        """
        self.member.now_ms = now_ms
        item = item or self.next()
        if item is not None:
            self.queue = [other for other in self.queue if other != item]
            self.under_way = item
            self.running = self._script(item)
            self._resume(None)
        return self._effects()

    def _time_is_up(self, call: int) -> None:
        """Of a request to pin. Without ZooKeeper it is answered at once: what has become of it cannot be read."""
        before = len(self.queue)
        self.queue = [item for item in self.queue if not (isinstance(item, Call) and item.number == call)]
        if len(self.queue) < before:
            self.request.unreached(call, "nothing was written down")
        elif not self.is_connected and call in self.request.asked:
            self.request.unreached(call, "the request may stand, --describe shows it")
        else:
            self._enqueue(TimeUp(call))

    @property
    def can_advance(self) -> bool:
        """There is something to do that can be begun now."""
        return self.next() is not None

    def next(self) -> Item | None:
        """The first of the queue that can be begun now."""
        if self.running is not None or not self.is_connected:
            return None
        return next((item for item in self.queue if not self._waits(item)), None)

    def _waits(self, item: Item) -> bool:
        """Who is elected handles no event before its term begins, and who is out of touch writes nothing."""
        if isinstance(item, Path):
            return self.member.phase is Phase.ELECTED
        return isinstance(item, Write) and not self.member.is_in_touch

    # Scripts.

    def _script(self, item: Item) -> Script[None]:
        match item:
            case Start(is_new=is_new):
                yield from self._start(is_new=is_new and self.started != self.member.session)
            case Call(number=call, request=PinControllerRequest() as request):
                yield from self.request.pin(call, request)
            case Call(number=call, request=DescribeControllerRequest()):
                abstains = self.member.phase is Phase.ABSTAINS
                yield from self.request.describe(call, self.member.waits_for if abstains else None)
            case Call(number=call, request=MetadataRequest()):
                yield from self.request.metadata(call)
            case TimeUp(call=call):
                yield from self.request.time_out(call)
            case Write():
                if (yield from self.office.write()):
                    yield from self._look()
            case Refused():
                self.office.deposed("refuse_request")
                yield from self._look()
            case Timer():
                yield from self._timer(item)
            case Path(path=path):
                yield from self._hear(path)

    def _hear(self, path: str) -> Script[None]:
        if path == CONTROLLER:
            yield from self.elector.hear_controller()
        elif path == CONTROLLER_EPOCH:  # it is watched while it is garbage, and nobody can be elected
            yield from self.elector.hear_epoch()
            if self.member.design.pinning:
                self._enqueue(Path(NEXT))  # a request for who was not sure of its office
        elif path == NEXT:
            if (yield from self.target.hear_next()):
                self._enqueue(Path(NEXT))  # behind the event of /controller, which ZooKeeper sends before a refusal
                yield from self.office.check_term()
        elif self.member.phase is Phase.IN_OFFICE:
            yield from self.office.hear_ready()
        else:
            yield from self.target.renew()
            yield from self.elector.hear_ready()
        if path != READY:
            yield from self.request.follow()

    def _timer(self, timer: Timer) -> Script[None]:
        match timer:
            case Timer.DECIDE:
                yield from self.elector.decide()
            case Timer.TAKE_OVER:
                yield from self.target.take_over()
            case Timer.BEGIN:
                if (yield from self.office.begin_term()):
                    self._enqueue(Path(READY))
            case Timer.LAPSE:
                self.elector.lapse()
            case Timer.LONG_ABSTENTION:
                self._warn_of_abstention()
            case Timer.REGISTER:
                yield from self._register()

    def _resume(self, result: Result | None) -> None:
        """Run the script at hand up to its next operation, or its end."""
        if self.running is None or (result is not None and result.id != self.awaited):
            return  # the result of a script that was dropped
        if result is not None:
            if isinstance(result.outcome, Unknown) or result.outcome == Failed(ErrorCode.SESSION_EXPIRED):
                return  # `Disconnected` follows, or `Expired`: nothing was read
            self.member.zxid = result.zxid
        try:
            operation = self.running.send(result) if result is not None else next(self.running)
        except StopIteration:
            self.running = None
        else:
            self.awaited += 1
            self.member.effects.append(Submit(self.awaited, operation))

    def _drop(self) -> None:
        """The connection is lost, and with it what was under way, and all watches. What only reads is done again."""
        if self.running is None:
            return
        self.running.close()
        self.running = None
        item = self.under_way
        if isinstance(item, Call) and isinstance(item.request, PinControllerRequest):
            self.request.lost(item.number)
        elif isinstance(item, Path | Call | TimeUp):
            self.queue = [item, *(other for other in self.queue if other != item)]
        elif item is Timer.TAKE_OVER:
            self.member.seen = None  # its multi may have raised the epoch; `next` is read again with a new connection

    def _enqueue(self, item: Item) -> None:
        if item not in self.queue:
            self.queue.append(item)

    def _effects(self) -> Effects:
        effects, self.member.effects = self.member.effects, []
        return effects

    # Sessions.

    def _connected(self, session: int, is_new: bool) -> None:
        member = self.member
        self.is_connected = member.is_in_touch = True
        is_first = not member.session
        member.session = session
        start = Start(is_new=session != self.started)
        if member.design.expiry_first or is_first or not is_new:
            self.queue = [start, *(item for item in self.queue if not isinstance(item, Start))]
        else:
            self._enqueue(start)  # what it had queued under its former session is handled before
        member.log("session", {"broker": member.broker, "session": session, "new": is_new})

    def _expired(self) -> None:
        """The session is over: step down before anything else is handled."""
        self.is_connected = False
        self._drop()
        if self.member.design.expiry_first:
            self._forget()
            self.member.session = 0
        self.member.log("session expired", {"broker": self.member.broker}, is_warning=True)

    def _forget(self) -> None:
        if self.member.believes_in_office:
            self.member.log("left office", self.member.of_term("its session ended"))
            self.member.former = Holder(self.member.broker, self.member.session)
        self.member.forget()
        self.queue = [item for item in self.queue if isinstance(item, Call | TimeUp)]

    def _start(self, *, is_new: bool) -> Script[None]:
        """Register, and read `next` and /controller with watches; what they say is handled as if it had changed."""
        member = self.member
        yield from self._register()
        if is_new and not member.design.expiry_first:
            self._forget()
        standing = None
        if member.design.pinning:
            standing = yield from member.read_next(watch=True)
        holder = yield from member.read_holder(watch=True)
        if standing is not None and standing.target == member.broker:
            self._enqueue(Path(NEXT))
        if is_new:
            if holder is None:
                self._enqueue(Path(CONTROLLER))
            self.started = member.session
            member.did("start", session=member.session)
            yield from self.request.follow()  # what it took in its former session may be served by now
            return
        yield from self._reread(holder)

    def _reread(self, holder: Holder | None) -> Script[None]:
        """The session goes on, all watches are gone, and writes have had no reply: compare, and arm anew."""
        member = self.member
        owns_office = holder is not None and holder.owner == member.session
        if owns_office and not member.believes_in_office and member.design.outcome_read_back:
            if (yield from self.elector.find_own_office()):
                return
        if owns_office and member.term is not None:
            yield from self.office.confirm()
        is_idle = member.phase is Phase.WATCHING
        if (member.believes_in_office and not owns_office) or (is_idle and holder is None):
            self._enqueue(Path(CONTROLLER))
        if member.design.pinning:
            self._enqueue(Path(NEXT))
            if not is_idle and self.elector.looks_at_ready:
                self._enqueue(Path(READY))
        for timer, phase in ((Timer.DECIDE, Phase.PULLED), (Timer.DECIDE, Phase.LAPSED), (Timer.BEGIN, Phase.ELECTED)):
            if member.phase is phase:
                member.set_timer(timer)
        if member.seen is not None:
            member.set_timer(Timer.TAKE_OVER)

    def _register(self) -> Script[None]:
        """Create the znode of its id. That of a former session of its own goes with that session: try again then."""
        member, path = self.member, id_path(self.member.broker)
        found = yield from member.read(path)
        if found is None:
            created = Create(path, registration_bytes(*member.endpoint), ephemeral=True)
            outcome = (yield created).outcome
            if isinstance(outcome, Failed) and outcome.code is ErrorCode.NO_NODE:  # it is the first broker here
                for parent, data in PERSISTENT:
                    yield Create(parent, data)
                outcome = (yield created).outcome
            if not isinstance(outcome, Failed):
                return
            member.log("not registered", {"path": path, "why": outcome.message or outcome.code.value}, is_warning=True)
        elif found.stat.owner == member.session:
            return
        member.set_timer(Timer.REGISTER, member.session_timeout_ms // 4)

    def _look(self) -> Script[None]:
        """It stepped down since another was elected; that one may be gone by now, or there was none."""
        if (yield from self.member.read_holder()) is None:
            self._enqueue(Path(CONTROLLER))
        else:
            yield from self.office.give_up()

    def _warn_of_abstention(self) -> None:
        member = self.member
        if member.phase is Phase.ABSTAINS:
            member.log("abstains for long", {"broker": member.broker, "for": member.waits_for}, is_warning=True)
            member.set_timer(Timer.LONG_ABSTENTION, member.session_timeout_ms)
