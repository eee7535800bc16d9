"""A controller: its office, and the queue of what it has to do while it is in it.

Everything that it knows is soft, and read again when a term begins. A change of a broker's state is followed by the
writes that it asks for (`Settle`) before anything else is handled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from impl.heartbeat.control import Control
from impl.heartbeat.control_requests import ControlledShutdownRequest, ControlledShutdownResponse
from impl.heartbeat.design import Design
from impl.heartbeat.effects import (
    ControlRequest,
    Effects,
    Reply,
    RequestToController,
    Tell,
    Timer,
)
from impl.heartbeat.heartbeats import Heartbeats
from impl.heartbeat.isr_changes import IsrChanges
from impl.heartbeat.items import Change, Expire, Item, MoveLeaders, Refresh, See, Serve, Settle, TakeOffice
from impl.heartbeat.leaderships import Leaderships
from impl.heartbeat.messages import (
    BrokerState,
    ErrorCode,
    IsrChangeRequest,
    MetadataHeartbeatRequest,
)
from impl.heartbeat.partitions import Partitions
from impl.heartbeat.refusals import refusal
from impl.heartbeat.registry import Known, Registry
from impl.heartbeat.scripts import LANES, Context, Script, Scripts
from impl.heartbeat.znodes import TOPICS
from impl.zookeeper import Connected, Disconnected, Event, Expired, OutOfTouch, Result, Submit, Sync, WatchEvent
from impl.zookeeper.election import Complaint, ControllerSeen, Election, LeftOffice, Office, TookOffice
from impl.zookeeper.election import Effects as ElectionEffects

ELECTION_LANE, CONTROLLER_LANE = 0, 1


class Candidate:
    """The policy of the election: everybody runs; who cannot write as a controller resigns."""

    def __init__(self, resigns: bool = False) -> None:
        self.resigns = resigns

    def may_run(self) -> bool:
        return True

    def must_resign(self) -> bool:
        return self.resigns


class Controller:
    """A process that may be controller, without its I/O.

    timeout_ms: of a lease (controller.heartbeat.timeout.ms). sends_heartbeats: its own protocol version has heartbeats.
    """

    def __init__(self, broker: int, design: Design, timeout_ms: int = 9_000, *, sends_heartbeats: bool = True) -> None:
        self.broker = broker
        self.design = design
        self.sends_heartbeats = sends_heartbeats
        self.policy = Candidate()
        self.election = Election(broker, self.policy, id=ELECTION_LANE)
        self.seen: int | None = None
        """The controller that it knows of: nothing is decided by it."""
        self.office: Office | None = None
        self.has_begun = False
        self.is_connected = self.is_in_touch = False
        self.call: int | None = None
        """Of the request whose script runs."""
        self.waiting = list[tuple[int, MetadataHeartbeatRequest]]()
        self.serving = list[tuple[int, MetadataHeartbeatRequest]]()
        """Heartbeats: those that wait, and those that a fresh read is under way for."""
        self.parked = dict[int, tuple[int, MetadataHeartbeatRequest]]()
        """By broker, the heartbeat that is handled once it has acknowledged what it is owed."""
        self.acknowledged = deque[tuple[int, int, int]]()
        """By broker, incarnation and number: what is yet to be taken notice of."""
        self.context = Context()
        self.scripts: Scripts[Item] = Scripts(CONTROLLER_LANE, self.context)
        self._assemble(Registry(self.context, timeout_ms))

    def _assemble(self, registry: Registry) -> None:
        shared = self.context, self.design, registry
        self.registry = registry
        self.partitions = Partitions(*shared)
        self.heartbeats = Heartbeats(*shared, self.partitions)
        self.isr_changes = IsrChanges(*shared, self.partitions)
        self.control = Control(self.broker, *shared, self.partitions)
        self.leaderships = Leaderships(*shared, self.partitions, self.control)

    # Inputs. Each returns the effects of what is done at once; the rest waits for `advance`.

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        self.context.now_ms = now_ms
        match event:
            case Result(id=id) if id % LANES == CONTROLLER_LANE:
                self.scripts.take(event)
                self._ended()
            case WatchEvent(path=path) if self.office is not None:
                if self.registry.hear(path):
                    self.scripts.add(Refresh())
                elif path == TOPICS:
                    self.partitions.is_list_stale = True
                    self.scripts.add(Refresh())
            case Connected():
                self._connected()
            case Disconnected() | Expired():
                self.is_connected = False
                self._drop()
            case OutOfTouch():
                self.is_in_touch = False
        self._elect(self.election.handle(event, now_ms))
        return self.context.taken()

    def on_request(self, call: int, request: RequestToController, now_ms: int) -> Effects:
        """A broker asks for something; the answer is a Reply with this call."""
        self.context.now_ms = now_ms
        if self.office is None:
            self.context.effects.append(Reply(call, refusal(request, self.design)))
        elif not self.is_in_touch:
            self.context.effects.append(Reply(call, None))  # somebody else may be in office by now
        elif not isinstance(request, MetadataHeartbeatRequest):
            self.scripts.add(Change(call, request))
        elif self.design.heartbeats and (self.sends_heartbeats or self.design.handles_any_ibp):
            self._wait(call, request)
        else:
            self.context.effects.append(Reply(call, None))
        return self.context.taken()

    def _wait(self, call: int, request: MetadataHeartbeatRequest) -> None:
        """Handle a heartbeat in its turn. One that is parked was given up by its sender: it is never handled later."""
        former = self.parked.get(request.broker_id)
        if former is not None and former[1].incarnation_id == request.incarnation_id:
            self.context.effects.append(Reply(self.parked.pop(request.broker_id)[0], None))
        if not self.waiting:
            self.scripts.add(Serve())
        self.waiting.append((call, request))

    def control_request(self, tell: Tell) -> ControlRequest | None:
        """The request to send now; None: nothing any more, for it is acknowledged or superseded."""
        taken = (tell.to.broker, tell.incarnation, tell.number) in self.acknowledged
        return None if taken or self.office is None or not self.has_begun else self.control.request(self.office, tell)

    def on_acknowledged(self, broker: int, incarnation: int, number: int, now_ms: int) -> Effects:
        """A broker has taken the control request with this number. What is to be written first is written first."""
        self.context.now_ms = now_ms
        self.acknowledged.append((broker, incarnation, number))
        self._take_acknowledged()
        return self.context.taken()

    def _take_acknowledged(self) -> None:
        while self.acknowledged and self.scripts.running is None and not self.leaderships.unsettled:
            self._take_notice(*self.acknowledged.popleft())

    def _take_notice(self, broker: int, incarnation: int, number: int) -> None:
        self.control.acknowledged(broker, incarnation, number)
        if any(self.partitions.wanted(of) is not None for of in self.partitions.leaderless_of(broker)):
            self.leaderships.look_at([broker])
            self.scripts.add(Settle(), first=True)
        self._send(only=broker)
        if broker in self.parked and not self.heartbeats.has_to_wait(self.parked[broker][1]):
            self._wait(*self.parked.pop(broker))

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """A timer that was set is due."""
        self.context.now_ms = now_ms
        if self.office is not None and timer is Timer.MOVE_LEADERS:
            self.scripts.add(MoveLeaders())
        elif self.office is not None and timer is Timer.LEASES:
            if self.is_in_touch:  # else there may be another controller, and leases are looked at when there is not
                for broker in self.registry.lapsed():
                    self.scripts.add(Expire(broker))
                self._await_leases()
        return self.context.taken()

    def advance(self, now_ms: int, item: Item | None = None) -> Effects:
        """Begin with the next of the queue, if nothing is under way and ZooKeeper can be reached.

        item: begin with this one, in the queue or not: for a host that decides itself what comes first.
        """
        self.context.now_ms = now_ms
        if self.scripts.running is None and self.is_connected and self.office is not None:
            if item is None and self.scripts.queue:
                item = self.scripts.queue[0]
            if item is not None:
                if item in self.scripts.queue:
                    self.scripts.queue.remove(item)
                self.call = item.call if isinstance(item, Change) else None
                self.scripts.begin(self._script(item))
                self._ended()
        return self.context.taken()

    @property
    def can_advance(self) -> bool:
        """There is something to do that can be begun now."""
        is_able = self.scripts.running is None and self.is_connected and self.office is not None
        return is_able and bool(self.scripts.queue)

    # Scripts.

    def _script(self, item: Item) -> Script[None]:
        match item:
            case TakeOffice():
                yield from self._take_office()
            case Refresh():
                yield from self._refresh()
            case See(broker=broker):
                self._see(broker)
            case Settle():
                yield from self._settle()
            case Serve():
                yield from self._serve()
            case Expire(broker=broker):
                self._expire(broker)
            case MoveLeaders():
                yield from self._move_leaders()
            case Change(call=call, request=IsrChangeRequest() as request):
                yield from self._change_isr(call, request)
            case Change(call=call, request=ControlledShutdownRequest(broker_id=broker)):
                yield from self._shut_down(call, broker)

    def _take_office(self) -> Script[None]:
        """Read ids and partitions, and go by what they say."""
        office = self._in_office()
        self.registry.forget()
        self.partitions.forget()
        yield (Sync(),)
        yield from self.registry.refresh()
        read_zxid = self.context.zxid
        yield from self.partitions.load()
        self.partitions.moved.clear()  # whoever is gone by from now on is sent everything
        named = self.partitions.named()
        for broker in sorted({*self.registry.registered, *named}):
            self._begin_with(broker, named.get(broker, 0))
        self.has_begun = True
        self.control.members_changed()
        self.leaderships.look_at(self.partitions.of_replica)
        self._await_leases()
        facts = {"controller": self.broker, "epoch": office.epoch, "brokers": len(self.registry.brokers)}
        self.context.log("took office", facts)
        self.context.did("take_office", **facts, read_zxid=read_zxid)

    def _begin_with(self, broker: int, named: int) -> None:
        """Go by one broker as a term begins: by the incarnation that is named, else by the one that is registered."""
        registered = self.registry.registered.get(broker)
        is_legacy = registered is not None and registered.info.is_legacy
        lives_by_znode = registered is not None and (is_legacy or not self.design.heartbeats)
        is_active = self.design.lease_begins_anew or lives_by_znode
        incarnation = named or (registered.czxid if registered is not None else 0)
        state = BrokerState.ACTIVE if is_active else BrokerState.INACTIVE
        self.registry.brokers[broker] = Known(incarnation, state, is_legacy=is_legacy)
        if is_active and not lives_by_znode:
            self.registry.renew(broker)
        if registered is None or registered.czxid != incarnation:
            self.scripts.add(See(broker))
        for of in self.partitions.of_broker(broker):
            state_there = self.partitions.known[of].state
            if state_there is not None and state_there.named().get(broker, incarnation) != incarnation:
                self.partitions.former.setdefault(of, set()).add(broker)

    def _refresh(self) -> Script[None]:
        changed = yield from self.registry.refresh()
        self._see_later(changed)
        if self.partitions.is_list_stale:
            new = yield from self.partitions.load()
            self.leaderships.send_what_moved()
            self.leaderships.look_at({replica for of in new for replica in self.partitions.known[of].replicas})

    def _see_later(self, brokers: Iterable[int]) -> None:
        for broker in sorted(brokers):
            self.scripts.add(See(broker))

    def _see(self, broker: int) -> None:
        """Go by the registration of a broker, unless the lease of a former incarnation is yet to be over."""
        registered, known = self.registry.registered.get(broker), self.registry.brokers.get(broker)
        if registered is None:
            lives_by_znode = known is not None and (known.is_legacy or not self.design.heartbeats)
            if known is not None and (lives_by_znode or not self.design.supersedes_after_lease):
                self._set_state(broker, BrokerState.INACTIVE, cause="znode gone")
            return
        if known is not None and known.incarnation >= registered.czxid:
            return
        if known is not None and self.registry.has_a_lease(known) and self.design.supersedes_after_lease:
            return  # looked at again when the lease is over
        known, changed = self.registry.adopt(
            broker, registered.czxid, fences=self.design.bounce_fences, cause="registered"
        )
        if known.incarnation != registered.czxid:
            self.scripts.add(See(broker))
        else:
            known.is_legacy = registered.info.is_legacy
            if known.is_legacy or not self.design.heartbeats:
                changed |= self.registry.set_state(broker, BrokerState.ACTIVE, cause="registered")
        if changed:
            self.leaderships.look_at([broker])
        self.control.members_changed()

    def _serve(self) -> Script[None]:
        """Handle the heartbeats that wait. Those that come meanwhile wait for the next fresh read."""
        waiting, self.waiting = self.waiting, []
        self.serving = waiting
        changed = yield from self.heartbeats.read_fresh()
        self.serving = []
        self._see_later(changed)
        office = self._in_office()
        moved = list[int]()
        for at, (call, request) in enumerate(waiting):
            if self.heartbeats.has_to_wait(request):
                self._park(call, request)
            elif self.heartbeats.handle(office, call, request):
                moved.append(request.broker_id)
                if self.leaderships.asks_for_writes(request.broker_id):
                    self._put_back(waiting[at + 1 :])
                    break
        if moved:
            self.leaderships.look_at(moved)
            self.control.members_changed()
        self._await_leases()

    def _put_back(self, heartbeats: list[tuple[int, MetadataHeartbeatRequest]]) -> None:
        """Handle these after the writes that are asked for by now."""
        self.waiting[:0] = heartbeats
        if self.waiting:
            self.scripts.add(Serve())

    def _park(self, call: int, request: MetadataHeartbeatRequest) -> None:
        own = (request.broker_id, request.incarnation_id)
        if any((later.broker_id, later.incarnation_id) == own for _, later in self.waiting):
            self.context.effects.append(Reply(call, None))
            return
        former = self.parked.get(request.broker_id)
        if former is not None:
            self.context.effects.append(Reply(former[0], None))
        self.parked[request.broker_id] = call, request

    def _expire(self, broker: int) -> None:
        """Declare a broker inactive, unless a heartbeat of it was handled meanwhile."""
        if broker in self.registry.brokers and broker not in self.registry.leases:
            self._set_state(broker, BrokerState.INACTIVE, cause="lease over")
            self.scripts.add(See(broker))

    def lapse(self, broker: int, now_ms: int) -> Effects:
        """Take the lease of a broker for over, whatever the time: for a host that has no clock."""
        self.registry.leases.pop(broker, None)
        return self.advance(now_ms, Expire(broker))

    def _settle(self) -> Script[None]:
        if (yield from self.leaderships.settle(self._in_office())):
            self._deposed()

    def _move_leaders(self) -> Script[None]:
        """Move some leaderships away from those who stop; the rest follows."""
        if self.leaderships.unsettled:
            self.scripts.add(Settle(), first=True)
        else:
            yield from self._move_from(sorted(self.registry.stopping))

    def _move_from(self, stopping: list[int]) -> Script[None]:
        if (yield from self.leaderships.move_from(self._in_office(), stopping)):
            self._deposed()

    def _change_isr(self, call: int, request: IsrChangeRequest) -> Script[None]:
        response, wrote = yield from self.isr_changes.handle(self._in_office(), request)
        self.context.effects.append(Reply(call, response))
        self.call = None
        self.control.changed(wrote.done, by_leader=True)
        self.leaderships.send_what_moved()
        self.leaderships.look_again((*wrote.done, *wrote.conflicts))
        if wrote.is_deposed:
            self._deposed()

    def _shut_down(self, call: int, broker: int) -> Script[None]:
        """ControlledShutdown of Kafka 2.0: its leaderships move, and it is told what is left."""
        known = self.registry.brokers.get(broker)
        if known is not None and known.is_legacy and known.state is BrokerState.ACTIVE:
            self._set_state(broker, BrokerState.STOPPING, cause="controlled shutdown")
        if self.design.rereads_on_bad_version:
            yield from self.leaderships.reread(self.leaderships.stuck_at(broker))
            yield from self._settle()  # a leader that its own write does not name leads anew first
        if self.office is not None:
            yield from self._move_from([broker])
        if self.office is not None:
            left = tuple(self.partitions.led_by(broker))
            self.context.effects.append(Reply(call, ControlledShutdownResponse(ErrorCode.NONE, left)))
            self.call = None

    # What follows.

    def _ended(self) -> None:
        """After a script, or a part of it: what is to be sent, and looked at next."""
        if self.scripts.running is not None:
            return
        self.call = None
        if self.policy.resigns:
            self._elect(self.election.reconsider())
        if self.leaderships.unsettled and self.has_begun and self.design.rereads_on_bad_version:
            self.scripts.add(Settle(), first=True)
        self._take_acknowledged()
        self._send()
        if not self.leaderships.unsettled and self.leaderships.can_move():
            self.context.set_timer(Timer.MOVE_LEADERS, self.context.now_ms)

    def _send(self, only: int | None = None) -> None:
        if self.office is not None and self.has_begun and not self.leaderships.unsettled:
            self.control.send(self.office, only)

    def _set_state(self, broker: int, state: BrokerState, *, cause: str) -> None:
        if self.registry.set_state(broker, state, cause=cause):
            self.leaderships.look_at([broker])
            self.control.members_changed()

    def _await_leases(self) -> None:
        end_ms = self.registry.next_end_ms()
        if end_ms is not None:
            self.context.set_timer(Timer.LEASES, end_ms)

    # Office and session.

    def _in_office(self) -> Office:
        assert self.office is not None, "scripts run in office"
        return self.office

    def _elect(self, effects: ElectionEffects) -> None:
        for effect in effects:
            match effect:
                case Submit():
                    self.context.effects.append(effect)
                case TookOffice(office=office):
                    self._took(office)
                case LeftOffice(office=office, cause=cause):
                    facts = {"controller": self.broker, "epoch": office.epoch, "cause": cause.value}
                    self.context.log("left office", facts, is_warning=True)
                    self.context.did("leave_office", **facts)
                    self._leave()
                case ControllerSeen(broker=broker):
                    self.seen = broker
                case Complaint(message=message):
                    self.context.log("garbage in a znode", {"what": message}, is_warning=True)

    def _took(self, office: Office) -> None:
        self._leave()
        self.office = office
        self.scripts.add(TakeOffice())

    def _leave(self) -> None:
        """In office no more: who waits is told, and everything is forgotten."""
        self.office, self.has_begun, self.policy.resigns = None, False, False
        changes = [item for item in self.scripts.queue if isinstance(item, Change)]
        self._drop()
        waiting = [*self.waiting, *self.parked.values()]
        for call, request in [*waiting, *((item.call, item.request) for item in changes)]:
            self.context.effects.append(Reply(call, refusal(request, self.design)))
        self.waiting.clear()
        self.parked.clear()
        self.acknowledged.clear()
        self.scripts.queue.clear()
        self.leaderships.unsettled.clear()
        self.heartbeats.answers.clear()

    def _deposed(self) -> None:
        """The epoch says that another was elected. If that should not be so, somebody is elected then."""
        self.context.log("a write was refused: another was elected", {"controller": self.broker}, is_warning=True)
        self.policy.resigns = True

    def _connected(self) -> None:
        """All watches are gone, and writes have had no reply: read everything again."""
        self.is_connected = self.is_in_touch = True
        if self.office is None:
            return
        self.registry.lose_watches()
        self.partitions.is_list_stale = True
        self.scripts.add(Refresh() if self.has_begun else TakeOffice(), first=True)
        if self.has_begun:
            self.leaderships.look_at(self.registry.brokers)
            self.scripts.add(Settle())
            self._await_leases()
        if self.waiting:
            self.scripts.add(Serve())

    def _drop(self) -> None:
        """What was under way is given up; who asked for it will ask again."""
        self.scripts.drop()
        calls = [call for call, _ in self.serving]
        if self.call is not None:
            calls.append(self.call)
        self.serving, self.call = [], None
        self.context.effects += [Reply(call, None) for call in calls]
