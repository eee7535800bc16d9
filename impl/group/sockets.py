"""The protocol of section 2: a rebalance closes connections, and the answer to a registration brings the partitions.

Nobody is asked to stop. Members are stored in ZooKeeper, and a new coordinator waits for those that it finds there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from impl.group.assignment import ranges
from impl.group.coordinator import Coordinator
from impl.group.effects import Close, Effects, Send
from impl.group.offsets import ConflictError, DeposedError
from impl.group.protocol import UNKNOWN, ErrorCode, RegisterConsumerRequest, RegisterConsumerResponse, ThreadShare
from impl.group.rebalance import Rebalances
from impl.group.registration import Judgement, judge, new_member
from impl.group.registry import Group, Member, Phase, Rebalance
from impl.group.scripts import RefusedError, Script, children, data, do, refusal
from impl.group.settings import BrokerSettings
from impl.group.topic_count import Subscription
from impl.group.work import Item, Work
from impl.group.znodes import GROUPS, SEAT, is_group, member_path, members_path
from impl.zookeeper import Connected, Create, Delete, Failed, SetData
from impl.zookeeper import ErrorCode as ZooKeeperError
from impl.zookeeper.office import fenced

_FIELDS = {"topic_count": str, "auto_commit": bool, "auto_offset_reset": str, "session_timeout_ms": int}
"""What is stored of a member, and its type."""
_SETTLES_DELETION = (ZooKeeperError.NO_NODE, ZooKeeperError.BAD_VERSION, ZooKeeperError.SESSION_EXPIRED)
"""It is gone, or another coordinator's to judge."""


def coordinator_of(settings: BrokerSettings) -> Coordinator:
    """The core of a broker, by its design."""
    return SocketCoordinator(settings) if settings.design.by_sockets else Coordinator(settings)


class SocketRebalances(Rebalances):
    """Rebalances of section 2. is_connected, disconnect, bury: the coordinator's, of a member."""

    is_connected: Callable[[Member], bool]
    disconnect: Callable[[Member], None]
    bury: Callable[[Member, str], None]

    def begin(self, group: Group) -> Script[None]:
        """Close the connections of all members but those that wait for an answer (Co-ordinator 5)."""
        before = group.rebalance
        self._take(group)
        group.reading = 0
        if not group.members:
            group.bit = False
            self._end(group, "nothing to do")
            return
        awaited = {
            name for name, member in group.members.items() if name in group.started or not self.is_connected(member)
        }
        now_ms, retries = self.context.now_ms, 0 if before is None else before.retries
        rebalance = Rebalance(Phase.IDLE, UNKNOWN, retries, group.cause, now_ms, now_ms, waits_for=awaited)
        group.started, group.rebalance = set(), rebalance
        self._move(group, rebalance, Phase.STOPPING)
        self.context.did("close_sockets", group=group.name, epoch=self.epoch, consumers=sorted(awaited))
        for name in sorted(awaited):
            member = group.members[name]
            self.disconnect(member)
            self.pings.watch(group, member, rebalance, self.pings.silent_ms(member))
        self._complete_if_all_are_back(group, rebalance)
        yield from ()

    def is_back(self, group: Group, consumer: str) -> None:
        """A member that is awaited has registered."""
        assert group.rebalance is not None, "it is awaited"
        group.rebalance.waits_for.remove(consumer)
        self._complete_if_all_are_back(group, group.rebalance)

    def _complete_if_all_are_back(self, group: Group, rebalance: Rebalance) -> None:
        if not rebalance.waits_for:
            self.to_go_on.append(group)

    def begin_again(self) -> None:
        super().begin_again()
        for group in self._busy:
            if group.phase is Phase.STOPPING and group.rebalance is not None and group not in self.to_go_on:
                self._complete_if_all_are_back(group, group.rebalance)

    def time_out(self, group: Group) -> None:
        """Who has not come back is dead once its own session is over: until then it may fetch (Co-ordinator 3)."""
        assert group.rebalance is not None, "watchers are set"
        for member in [group.members[name] for name in sorted(group.rebalance.waits_for)]:
            if self.context.now_ms >= self.pings.silent_ms(member):
                self.bury(member, "it has not come back")

    def go_on(self, group: Group) -> Script[None]:
        """Compute the assignment, or write the owners: whatever is next."""
        self.to_go_on.remove(group)
        rebalance = group.rebalance
        assert rebalance is not None, "everybody is back"
        try:
            if rebalance.phase is Phase.STOPPING:
                yield from self._complete(group, rebalance)
            else:
                yield from self._write(group, rebalance)
        except DeposedError as deposed:
            self.step_down(deposed)
        except RefusedError as refused:
            if group.rebalance is rebalance:
                self._refused(group, refused)

    def _complete(self, group: Group, rebalance: Rebalance) -> Script[None]:
        """Every known member that lives has registered: assign the partitions (Co-ordinator 2, 5)."""
        partitions = yield from self.topics.partitions(group.topics(self.topics.known))
        yield from self.store.read_owners(group)
        yield from self.store.read_offsets(group, ranges(partitions, group.threads(partitions)).keys())
        if group.rebalance is not rebalance:
            return  # a member has died meanwhile
        self._attempts += 1
        rebalance.attempt = self._attempts
        rebalance.assignment = ranges(partitions, group.threads(partitions))
        rebalance.answers = set(group.members)
        self.context.did("complete", group=group.name, attempt=rebalance.attempt, epoch=self.epoch)
        self._go_to(group, Phase.WRITING)
        if not self.design.owners_first:
            self._answer_all(group, rebalance)

    def _write(self, group: Group, rebalance: Rebalance) -> Script[None]:
        """Write the owners; if they come first, answer every member."""
        yield from self.store.write_owners(group, rebalance)
        if group.rebalance is not rebalance:
            return
        self.context.did("write", group=group.name, attempt=rebalance.attempt, epoch=self.epoch)
        if self.design.owners_first:
            self._answer_all(group, rebalance)
        if not self.design.bit_cleared_first:
            group.bit = False
        self._end(group, "done")

    def _answer_all(self, group: Group, rebalance: Rebalance) -> None:
        """Answer registrations, with what each member is to fetch; from then on it is pinged."""
        shares = self._shares(group, rebalance.assignment)
        group.started, group.told = set(rebalance.answers), dict(self.topics.brokers)
        for name in sorted(rebalance.answers):
            member = group.members[name]
            threads = tuple(
                ThreadShare(thread, tuple(self._start(group, member, of) for of in partitions))
                for thread, partitions in shares.get(name, {}).items()
            )
            lasts_ms = self.pings.lasts_ms(member.session_timeout_ms)
            brokers = tuple(group.told.values())
            answer = RegisterConsumerResponse(ErrorCode.NONE, self.epoch, lasts_ms, threads, brokers)
            self.context.effects.append(Send(member.connection, answer))
            member.heard_ms = self.context.now_ms
            self.pings.add(member)


class SocketCoordinator(Coordinator):
    """A coordinator under section 2."""

    rebalances: SocketRebalances

    def __init__(self, settings: BrokerSettings) -> None:
        super().__init__(settings)
        self._strays = set[str]()
        """Znodes of who is no member, or none yet: a later coordinator would wait for it."""

    def _make_rebalances(self) -> Rebalances:
        made = SocketRebalances(
            self.context, self.design, self.settings, self.store, self.topics, self.pings, self._remove,
            self._step_down,
        )  # fmt: skip
        made.is_connected, made.disconnect, made.bury = self._is_connected, self.disconnect, self.bury
        return made

    def _is_connected(self, member: Member) -> bool:
        return self.members.get(member.connection) is member

    def disconnect(self, member: Member) -> None:
        """Close the connection of a member, which is awaited then."""
        if self._is_connected(member):
            del self.members[member.connection]
            self.context.effects.append(Close(member.connection))

    # What is stored.

    def _connected(self, event: Connected) -> None:
        super()._connected(event)
        for path in sorted(self._strays):
            self.scripts.begin(self._delete(path))

    def _forget(self) -> None:
        self._strays.clear()
        super()._forget()

    def _script(self, item: Item) -> Script[None]:
        return self._start_up() if item.work is Work.READ_TOPICS else super()._script(item)

    def _start_up(self) -> Script[None]:
        """Read who was a member, then the topics; each group waits for its members (Co-ordinator 1, 2)."""
        (names,) = yield from children([GROUPS])
        groups = sorted(name for name in names or () if is_group(name))
        stored = yield from children([members_path(name) for name in groups])
        places = [(name, member) for name, found in zip(groups, stored, strict=True) for member in sorted(found or ())]
        values = yield from data([member_path(*place) for place in places])
        for (name, member), value in zip(places, values, strict=True):
            if value is not None:
                self._know_member(name, member, value)
        yield from self.hearing.read_topics()

    def _know_member(self, name: str, consumer: str, value: bytes) -> None:
        try:
            request = RegisterConsumerRequest(name, consumer, **_stored(value))
        except (ValueError, RecursionError):
            path = member_path(name, consumer)
            self.context.log("garbage in a znode", is_warning=True, what=f"{path}: {value[:80]!r}")
            return
        judged = judge(request, None, self.settings)
        if judged.subscription is not None:
            group = self.groups.setdefault(name, Group(name))
            group.members[consumer] = new_member(UNKNOWN, request, judged.subscription, self.context.now_ms)
            self.rebalances.ask(group, "a new coordinator")

    def _register(self, connection: int, request: RegisterConsumerRequest, subscription: Subscription) -> Script[None]:
        """One that comes to nothing leaves nothing behind."""
        yield from super()._register(connection, request, subscription)
        path = member_path(request.group, request.consumer)
        if path in self._strays:
            self.scripts.begin(self._delete(path))

    def _before_registering(self, request: RegisterConsumerRequest, *, has_legacy: bool) -> Script[None]:
        """Store a member that is new; else check that this is the coordinator."""
        group = self.groups.get(request.group, Group(request.group))
        is_refused = has_legacy or judge(request, group, self.settings).subscription is None
        path = member_path(request.group, request.consumer)
        value = json.dumps({field: getattr(request, field) for field in _FIELDS}).encode()
        stores = () if is_refused or request.consumer in group.members else (Create(path, value), SetData(path, value))
        self._strays.update(write.path for write in stores)
        try:
            for write in stores:
                with suppress(ConflictError):
                    yield from self.store.write(group, write)
                    return
            if stores:
                raise RefusedError("a member cannot be stored: ZooKeeper refuses")
            yield from self.store.write(group)
        except ConflictError as conflict:
            raise RefusedError("ZooKeeper refuses what a registration writes") from conflict
        except DeposedError as deposed:
            self._step_down(deposed)
        if not stores and not is_refused and request.consumer not in group.members:
            raise RefusedError("the member was removed meanwhile: it has to register again")

    def _remove(self, member: Member, cause: str) -> None:
        super()._remove(member, cause)
        path = member_path(member.group, member.consumer)
        self._strays.add(path)
        self.scripts.begin(self._delete(path))

    def _delete(self, path: str) -> Script[None]:
        """With a fence in every setting: who is no coordinator any more forgets nobody's members.

        What is lost with the connection, or refused, is tried again with the next one.
        """
        outcome = yield from do(fenced(self.store.office, Delete(path), seat=SEAT))
        if isinstance(outcome, Failed) and outcome.code not in _SETTLES_DELETION:
            raise refusal(outcome)
        self._strays.discard(path)

    # Registrations.

    def on_register(self, connection: int, request: RegisterConsumerRequest, now_ms: int) -> Effects:
        """A consumer registers; not before it is known who was a member, nor while another registers as the same."""
        if self.hearing.starts_up:
            self.context.now_ms = now_ms
            self._refuse(connection, request, ErrorCode.NOT_COORDINATOR, "members are being read")
            return self.context.taken()
        if self._acts and connection not in self._registering and self._is_under_way(request):
            self.context.now_ms = now_ms
            self._refuse(connection, request, ErrorCode.UNKNOWN, "a registration of this id is under way")
            return self.context.taken()
        return super().on_register(connection, request, now_ms)

    def _is_under_way(self, request: RegisterConsumerRequest) -> bool:
        """Somebody registers as this member: the two would store one after the other."""
        return any((one.group, one.consumer) == (request.group, request.consumer) for one in self._registering.values())

    def _refuse_judged(self, connection: int, request: RegisterConsumerRequest, judged: Judgement) -> None:
        self.scripts.begin(self._refuse_as_coordinator(connection, request, judged))

    def _refuse_as_coordinator(
        self, connection: int, request: RegisterConsumerRequest, judged: Judgement
    ) -> Script[None]:
        """An id may be in use in the eyes of a former coordinator only."""
        try:
            yield from self.store.write(Group(request.group))
        except ConflictError:
            self._refuse(connection, request, ErrorCode.UNKNOWN, "ZooKeeper refuses to check the epoch")
        except DeposedError as deposed:
            self._step_down(deposed)
        else:
            self._refuse(connection, request, judged.code, judged.why)

    def _add_member(self, connection: int, request: RegisterConsumerRequest, subscription: Subscription) -> None:
        """It is answered once its group is complete (Consumer 2)."""
        assert self.term is not None
        group = self.groups.setdefault(request.group, Group(request.group))
        is_back = request.consumer in group.members
        member = new_member(connection, request, subscription, self.context.now_ms)
        group.members[request.consumer] = self.members[connection] = member
        self._strays.discard(member_path(request.group, request.consumer))
        self.context.log("registered", group=request.group, consumer=request.consumer)
        self.context.did(
            "register", consumer=request.consumer, group=request.group, epoch=self.term.epoch, accepted=True
        )
        if is_back:
            self.rebalances.is_back(group, request.consumer)
        else:
            self.rebalances.ask(group, "a consumer has joined")


def _stored(value: bytes) -> dict[str, Any]:
    """The fields of a registration as they are stored. Raises ValueError."""
    found = json.loads(value)
    if not isinstance(found, dict) or {name: type(one) for name, one in found.items()} != _FIELDS:
        raise ValueError("other fields")
    return found
