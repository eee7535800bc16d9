"""The coordinator of a broker: its elector, its groups, and work that waits for ZooKeeper (Consumer Coordinator, 5).

It takes events of ZooKeeper, what consumers send, and timers. All that needs ZooKeeper is queued as work, which
`advance` begins. Soft state is gone with its term: each begins with an empty memory (10).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from impl.group.effects import Close, CloseAll, Context, Effects, Send, Timer, Timing
from impl.group.hearing import Hearing
from impl.group.metadata import Metadata
from impl.group.offsets import DeposedError, Store
from impl.group.pings import Due, Pings
from impl.group.protocol import (
    UNKNOWN,
    ErrorCode,
    PingResponse,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    ResponseOfConsumer,
    StopFetcherResponse,
)
from impl.group.rebalance import Rebalances
from impl.group.registration import Judgement, judge, new_member
from impl.group.registry import Group, Member, Phase
from impl.group.scripts import RefusedError, Script, Scripts, children
from impl.group.settings import BrokerSettings
from impl.group.topic_count import Subscription
from impl.group.topics import Topics
from impl.group.work import Item, Work
from impl.group.znodes import BROKER_IDS, COORDINATOR, SEAT, TOPICS, legacy_ids_path
from impl.zookeeper import Connected, Disconnected, Event, Expired, OutOfTouch, Result, Submit, WatchEvent
from impl.zookeeper.election import AlwaysRun, Complaint, Election, LeftOffice, Office, TookOffice
from impl.zookeeper.election import Effects as ElectionEffects
from impl.zookeeper.election import Phase as ElectionPhase
from impl.zookeeper.office import Epoch

ELECTION_ID = 0


class Policy(AlwaysRun):
    """Everybody runs. resigns: this broker leaves office now."""

    def __init__(self) -> None:
        self.resigns = False

    def must_resign(self) -> bool:
        return self.resigns


class Coordinator:
    """The core of one broker. It believes to be the coordinator while it has a term."""

    def __init__(self, settings: BrokerSettings, first_id: int = ELECTION_ID + 1) -> None:
        self.settings = settings
        self.design = settings.design
        self.context = Context()
        self.policy = Policy()
        self.election = Election(settings.broker_id, self.policy, id=ELECTION_ID, seat=SEAT)
        self.store = Store(self.context, self.design)
        self.topics = Topics(self.context)
        self.pings = Pings(self.context, self.design, self.store, settings.max_failed_pings, settings.limit_ms)
        self.rebalances = self._make_rebalances()
        self.groups: dict[str, Group] = {}
        self.hearing = Hearing(self.context, self.design, self.topics, self.rebalances, self.groups)
        self.scripts = Scripts(self.context, first_id)
        self.metadata = Metadata(self.context, self.scripts, self.topics, settings.broker_id)
        self.queue: deque[Item] = deque()
        self.heard: deque[Event] = deque()
        """Events of the election that it has not taken in."""
        self.term: Office | None = None
        self.members: dict[int, Member] = {}
        """By connection."""
        self.waits_out = False
        self.is_connected = False
        self.is_in_touch = False
        self._registering: dict[int, RegisterConsumerRequest] = {}

    def _make_rebalances(self) -> Rebalances:
        return Rebalances(
            self.context, self.design, self.settings, self.store, self.topics, self.pings, self._remove, self._step_down
        )

    # ZooKeeper.

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        self.context.now_ms = now_ms
        match event:
            case Result(id=number) if number != self.election.id:
                self.scripts.take(event)
                return self.context.taken()
            case Result() if self.heard:
                self.heard.append(event)
            case Result():
                self._elect(event)
            case WatchEvent():
                self._watch_fired(event.path)
                self._hear(event)
            case Connected():
                self._connected(event)
            case OutOfTouch():
                self.is_in_touch = False
            case Disconnected():
                self.is_connected = False
                self._drop_scripts()
            case Expired():
                self.is_connected = self.is_in_touch = False
                self._drop_scripts()
                self.heard.clear()
                self.context.did("handle_new_session")
                self._elect(event)
        return self.context.taken()

    def _connected(self, event: Connected) -> None:
        goes_on = self.is_connected  # it was out of touch only, and nothing that is under way is lost
        self.is_connected = self.is_in_touch = True
        self._hear(event)
        self._add(Work.READ_BROKERS)
        if self.term is not None and not event.is_new and not goes_on:
            self.rebalances.begin_again()
            self._add(Work.READ_TOPICS if self.hearing.starts_up else Work.WATCH_AGAIN)

    def _watch_fired(self, path: str) -> None:
        if path == BROKER_IDS:
            self._add(Work.READ_BROKERS)
        elif self.term is None:
            return
        elif path == TOPICS:
            self._add(Work.HEAR_TOPICS)
        elif path.startswith(f"{TOPICS}/"):
            self._add(Work.HEAR_PARTITIONS, path.split("/")[3])

    def _hear(self, event: Event) -> None:
        """An event that may concern the election: while that is blocked, any watch may say that it is mended."""
        is_blocked = self.election.phase is ElectionPhase.BLOCKED
        if not isinstance(event, WatchEvent) or event.path == COORDINATOR or is_blocked:
            self.heard.append(event)
            self._add(Work.ELECT)

    def _elect(self, event: Event) -> None:
        self._carry_out(self.election.handle(event, self.context.now_ms))

    def _carry_out(self, effects: ElectionEffects) -> None:
        for effect in effects:
            match effect:
                case TookOffice(office=office):
                    self._begin_term(office)
                case LeftOffice(cause=cause):
                    self._end_term(cause.value)
                case Complaint(message=message):
                    self.context.log("election", is_warning=True, what=message)
                case Submit():
                    self.context.effects.append(effect)

    # Terms (coordinatorStartup, handleNewSession).

    def _begin_term(self, office: Office) -> None:
        self._forget()
        self.term = office
        self.store.begin_term(Epoch(office.epoch, office.epoch_version))
        self.rebalances.clear(office.epoch)
        self.hearing.starts_up = True
        self._add(Work.READ_TOPICS)
        now_ms = self.context.now_ms
        self.waits_out = self.design.waits_out_sessions
        if self.waits_out:
            self.context.set_timer(now_ms + self.settings.longest_session_ms, Timing.WAITED_OUT)
        self.context.set_timer(now_ms + self.settings.commit_interval_ms, Timing.COMMIT)
        self.context.log("elected", epoch=office.epoch)
        self.context.did("elect", epoch=office.epoch)
        if not self.design.watch_then_read:
            self.scripts.begin(self.hearing.read_unwatched())

    def _end_term(self, cause: str) -> None:
        """Clear what is in memory, and close the connections of members (handleNewSession 1)."""
        if self.term is None:
            return
        self.context.log("no coordinator any more", is_warning=True, epoch=self.term.epoch, cause=cause)
        self._forget()
        self.context.effects.append(CloseAll())

    def _forget(self) -> None:
        self.members.clear()
        self.groups.clear()
        self._drop_scripts()
        self.term = None
        self.waits_out = self.hearing.starts_up = False
        self.topics.known = frozenset()
        self.rebalances.clear(0)
        self.pings.clear()
        self.queue = deque(item for item in self.queue if item.work is Work.ELECT)
        self._add(Work.READ_BROKERS)

    def _step_down(self, deposed: DeposedError) -> None:
        """A write was refused: this is a former coordinator.

        One that still has the office, since somebody has changed the epoch by hand, leaves it, to be elected again.
        """
        self._end_term("a write was refused")
        self.context.did("step_down")
        if not deposed.is_over and self.election.office is not None:
            self.policy.resigns = True
            self._carry_out(self.election.reconsider())
            self.policy.resigns = False

    def _drop_scripts(self) -> None:
        """The connection is lost: who waits for an answer gets none from ZooKeeper."""
        self.scripts.drop()
        self.metadata.drop()
        for connection in self._registering:
            self.context.effects.append(Close(connection))
        self._registering.clear()

    # Work.

    @property
    def can_advance(self) -> bool:
        return bool(self._next())

    def advance(self, now_ms: int, item: Item | None = None) -> Effects:
        """Begin the work that waits longest, or the one that is meant."""
        self.context.now_ms = now_ms
        taken = item or self._next()
        assert taken is not None, "something waits"
        if taken in self.queue:
            self.queue.remove(taken)
        if taken.work is Work.ELECT:
            while self.heard:
                self._elect(self.heard.popleft())
        else:
            self.scripts.begin(self._script(taken))
        return self.context.taken()

    def _next(self) -> Item | None:
        if not self.is_connected:
            return None
        if self.queue:
            return self.queue[0]
        if self.rebalances.to_go_on:
            return Item(Work.GO_ON, self.rebalances.to_go_on[0].name)
        if self.can_rebalance and (group := self.rebalances.next()) is not None:
            return Item(Work.BEGIN, group.name)
        return None

    @property
    def can_rebalance(self) -> bool:
        """A rebalance may begin: topics are known, the longest session is over, and this is still the coordinator."""
        return not self.hearing.starts_up and not self.waits_out and self._acts

    @property
    def _acts(self) -> bool:
        """It is the coordinator as far as it can know."""
        return self.term is not None and (self.is_in_touch or not self.design.stops_before_expiry)

    def _script(self, item: Item) -> Script[None]:
        match item.work:
            case Work.READ_BROKERS:
                return self.hearing.read_brokers()
            case Work.READ_TOPICS:
                return self.hearing.read_topics()
            case Work.HEAR_TOPICS:
                return self.hearing.hear_topics()
            case Work.HEAR_PARTITIONS:
                return self.hearing.hear_partitions(item.of)
            case Work.WATCH_AGAIN:
                return self.hearing.watch_again()
            case Work.GO_ON:
                return self.rebalances.go_on(self.groups[item.of])
            case Work.COMMIT:
                return self._commit(item.of)
        return self.rebalances.begin(self.groups[item.of])

    def _add(self, work: Work, of: str = "") -> None:
        item = Item(work, of)
        if item not in self.queue:
            self.queue.append(item)

    # Offsets (5).

    def _commit(self, name: str) -> Script[None]:
        try:
            yield from self.store.commit(self.groups[name])
        except DeposedError as deposed:
            self._step_down(deposed)

    # Consumers (7, 8, 11).

    def on_metadata(self, call: int, now_ms: int) -> Effects:
        """A consumer asks who the coordinator is (ClusterMetadataRequest)."""
        self.context.now_ms = now_ms
        self.metadata.ask(call, None if self.term is None else self.term.epoch, is_connected=self.is_connected)
        return self.context.taken()

    def on_register(self, connection: int, request: RegisterConsumerRequest, now_ms: int) -> Effects:
        """A consumer registers on a connection."""
        self.context.now_ms = now_ms
        if not self._acts:
            self._refuse(connection, request, ErrorCode.NOT_COORDINATOR, "this is not the coordinator")
            return self.context.taken()
        if connection in self.members or connection in self._registering:
            self.context.log("registered twice", is_warning=True, consumer=request.consumer)
            self.context.effects.append(Close(connection))
            return self.context.taken() + self.on_closed(connection, now_ms)
        judged = judge(request, self.groups.get(request.group), self.settings)
        if judged.subscription is None:
            self._refuse_judged(connection, request, judged)
        else:
            self._registering[connection] = request
            self.scripts.begin(self._register(connection, request, judged.subscription))
        return self.context.taken()

    def _register(self, connection: int, request: RegisterConsumerRequest, subscription: Subscription) -> Script[None]:
        try:
            (legacy,) = yield from children([legacy_ids_path(request.group)])
            yield from self._before_registering(request, has_legacy=bool(legacy))
        except RefusedError as refused:
            if self._registering.pop(connection, None) is not None:
                self._refuse(connection, request, ErrorCode.UNKNOWN, str(refused))
            return
        if self._registering.pop(connection, None) is None:
            return  # it has closed the connection
        judged = judge(request, self.groups.get(request.group), self.settings)  # again: another may have come first
        if legacy:
            self._refuse(connection, request, ErrorCode.BAD_GROUP, f"the group has consumers of 0.7: {legacy[0]}")
        elif judged.subscription is None:
            self._refuse(connection, request, judged.code, judged.why)
        else:
            self._add_member(connection, request, subscription)

    def _before_registering(self, request: RegisterConsumerRequest, *, has_legacy: bool) -> Script[None]:
        """Nothing is stored of members."""
        yield from ()

    def _add_member(self, connection: int, request: RegisterConsumerRequest, subscription: Subscription) -> None:
        """handleNewGroup 1, handleAddedConsumer 1 to 4."""
        assert self.term is not None
        group = self.groups.setdefault(request.group, Group(request.group))
        if self.waits_out and self.design.fenced_writes and not group.members:
            self.scripts.begin(self.store.read_ahead(group))
        member = new_member(connection, request, subscription, self.context.now_ms)
        group.members[request.consumer] = self.members[connection] = member
        self.pings.add(member)
        self.context.log("registered", group=request.group, consumer=request.consumer)
        self.context.did(
            "register", consumer=request.consumer, group=request.group, epoch=self.term.epoch, accepted=True
        )
        lasts_ms = self.pings.lasts_ms(member.session_timeout_ms)
        answer = RegisterConsumerResponse(ErrorCode.NONE, self.term.epoch, lasts_ms)
        self.context.effects.append(Send(connection, answer))
        self.rebalances.ask(group, "a consumer has joined")

    def _refuse_judged(self, connection: int, request: RegisterConsumerRequest, judged: Judgement) -> None:
        self._refuse(connection, request, judged.code, judged.why)

    def _refuse(self, connection: int, request: RegisterConsumerRequest, code: ErrorCode, why: str) -> None:
        """The consumer closes the connection (7)."""
        epoch = UNKNOWN if self.term is None else self.term.epoch
        facts = {"consumer": request.consumer, "group": request.group}
        self.context.log("registration refused", is_warning=True, code=code.name, why=why, **facts)
        self.context.did("register", epoch=epoch, accepted=False, code=code.name, **facts)
        self.context.effects.append(Send(connection, RegisterConsumerResponse(code, epoch)))

    def on_response(self, connection: int, response: ResponseOfConsumer, now_ms: int) -> Effects:
        """A consumer answers a ping, a Stop or a StartFetcherRequest. One that is no member is not heard."""
        self.context.now_ms = now_ms
        member = self.members.get(connection)
        if member is None or self.term is None:
            return []
        is_known = not self.design.coordinator_epoch or response.coordinator_epoch == self.term.epoch
        if response.consumer != member.consumer or not is_known:
            self.context.log("a response of somebody else", is_warning=True, consumer=member.consumer)
            self.context.effects.append(Close(connection))
            return self.context.taken() + self.on_closed(connection, now_ms)
        self._take_response(self.groups[member.group], member, response)
        return self.context.taken()

    def _take_response(self, group: Group, member: Member, response: ResponseOfConsumer) -> None:
        if response.error_code != ErrorCode.NONE:
            code = response.error_code
            self.context.log(
                "a consumer refuses", is_warning=True, group=group.name, consumer=member.consumer, code=code
            )
        elif isinstance(response, PingResponse):
            self.pings.answered(member)
            if response.offsets != member.last_offsets:  # what is equal is not replaced, either: garbage costs pauses
                if response.offsets:
                    self.store.report(group, response.offsets)
                member.last_offsets = response.offsets
        elif isinstance(response, StopFetcherResponse):
            self.store.report(group, response.offsets or ())
            member.last_offsets = None
            self.rebalances.answered(group, member, Phase.STOPPING, response.attempt)
        else:
            self.rebalances.answered(group, member, Phase.STARTING, response.attempt)

    def on_closed(self, connection: int, now_ms: int) -> Effects:
        """A connection is closed at the other end: its consumer is found dead."""
        self.context.now_ms = now_ms
        self._registering.pop(connection, None)
        member = self.members.get(connection)
        if member is not None:
            self.bury(member, "its connection is closed")
        return self.context.taken()

    def bury(self, member: Member, cause: str) -> None:
        """A consumer was found dead (handleConsumerFailure 1 to 5)."""
        group = self.groups[member.group]
        self._remove(member, cause)
        self.rebalances.fail(group)
        if group.members:
            self.rebalances.ask(group, "a consumer is gone")

    def _remove(self, member: Member, cause: str) -> None:
        self.members.pop(member.connection, None)
        group = self.groups[member.group]
        del group.members[member.consumer]
        group.started.discard(member.consumer)
        self.context.effects.append(Close(member.connection))
        self.context.log("removed", is_warning=True, group=group.name, consumer=member.consumer, cause=cause)
        self.context.did("find_dead", consumer=member.consumer, group=group.name, cause=cause)

    # Timers.

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """A timer that was set is due."""
        self.context.now_ms = now_ms
        if self.term is not None:
            match timer.timing:
                case Timing.PINGS:
                    self._ping()
                case Timing.COMMIT:
                    self._commit_all()
                case Timing.WAITED_OUT:
                    self._waited_out()
                case Timing.BACKOFF:
                    self._of_group(timer.group, self.rebalances.back_off_is_over)
                case Timing.RESUME:
                    self._of_group(timer.group, self.rebalances.resume)
        return self.context.taken()

    def _of_group(self, name: str, step: Callable[[Group], None]) -> None:
        if name in self.groups:
            step(self.groups[name])

    def _waited_out(self) -> None:
        if self.waits_out:
            self.waits_out = False
            self.context.did("wait_out_sessions")

    def _commit_all(self) -> None:
        """Each interval, and what is not needed any more is forgotten."""
        for name, group in tuple(self.groups.items()):
            if self.store.to_commit(group):
                if self._acts:
                    self._add(Work.COMMIT, name)
            elif self._is_idle(group):
                del self.groups[name]
        self.context.set_timer(self.context.now_ms + self.settings.commit_interval_ms, Timing.COMMIT)

    def _is_idle(self, group: Group) -> bool:
        """It has no members, and nothing is done for it, nor waits to be."""
        is_left = not group.members and not group.bit and group.phase is Phase.IDLE and not group.reading
        return is_left and Item(Work.COMMIT, group.name) not in self.queue

    def _ping(self) -> None:
        for kind, what in self.pings.due():
            if isinstance(what, Member):
                if self.members.get(what.connection) is what:
                    self._ping_member(what, kind)
            elif self._acts:
                self.rebalances.watcher_fires(what)
            else:
                self.pings.put_off(what)
        self.pings.set_timer()

    def _ping_member(self, member: Member, kind: Due) -> None:
        """Its pings that have failed, whether it is dead, and its next ping; nothing while out of touch."""
        if not self._acts:
            member.heard_ms = self.context.now_ms  # it is not its fault that nobody asks
        elif kind is Due.DEATH:
            if member.failed > self.settings.max_failed_pings and self.pings.is_silent(member):
                self.bury(member, "its pings have failed")
            return
        else:
            for _ in range(self.pings.expired_of(member)):
                if self.fail_ping(member):
                    return
            self.send_ping(member)
        if kind is Due.PING:
            self.pings.schedule(member)

    def send_ping(self, member: Member) -> None:
        assert self.term is not None
        self.pings.send(self.groups[member.group], member, self.term.epoch)

    def fail_ping(self, member: Member) -> bool:
        """A ping of a member has failed. Whether the member is dead, and removed."""
        is_dead = self.pings.fail(member)
        if is_dead:
            self.bury(member, "its pings have failed")
        return is_dead
