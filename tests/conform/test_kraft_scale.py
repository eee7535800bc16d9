"""A controller of 60 brokers and 1,000 partitions does what the spec's own actions do, run as plain Python.

Faults that begin at 50 brokers, 1,000 partitions, 100 waiting replies or epochs above 30 are in no small model. The
spec's controller stands here by itself: its processes send what the test says, and nobody waits for a reply.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from checker.lang import Map, claims, loader, resolve
from checker.lang.values import Disabled
from spec.kraft import initial, metadata, state, types
from spec.kraft.actions import administration, controller, shutdown, topics
from spec.kraft.design import Design
from tests.conform.faults.kraft_faults import SCALE, Fault
from tests.conform.faults.patched import patched
from tests.impl import controller_runtime

BROKERS, PARTITIONS, REPLICAS = 60, 1_000, 3
LARGE: dict[str, Any] = {"brokers": BROKERS, "partitions": PARTITIONS, "max_reassignments": 1, "max_unregistrations": 1,
         "min_insync_replicas": 1}  # fmt: skip
VOTER = types.Voter(0)


@contextmanager
def large() -> Iterator[None]:
    """The spec's functions with the constants of a large cluster, in which brokers send their requests themselves.

    No model is in force: a state of that size fits no model, and is not checked against its types.
    """
    loader.load("kraft/full", {"controllers": "1", "pending_batches": "0", "max_crashes": "0"})
    with (
        patch.multiple(Design, **LARGE),
        patch.object(controller, "node_id", lambda broker: broker),
        patch.object(controller, "isinstance", lambda *_: True, create=True),
        patch.object(claims, "binding_version", lambda: 0),
        patch.object(resolve, "binding_version", lambda: 0),
    ):
        yield


class SpecSide:
    """The spec's controller, and as much of a cluster around it as its actions look at."""

    def __init__(self, assignments: tuple[tuple[int, ...], ...]) -> None:
        start = state.FirstEpochs(types.LeaderEpoch(0), types.PartitionEpoch(0))
        active = frozenset(types.Broker)
        registrations = {
            b: metadata.Registration(types.Incarnation(b.index), types.BrokerEpoch(b.index), False, False, ())
            for b in types.Broker
        }
        partitions = {p: new_partition(assignments[p.index], active, start) for p in types.TopicPartition}
        image = metadata.Metadata(Map(registrations), types.TopicId(0), Map(partitions), offset=None)
        self.controller = initial.in_role(types.Role.ACTIVE, image)

    @property
    def image(self) -> Any:
        return self.controller.image

    def do(self, act: Callable[..., None], *arguments: Any) -> bool:
        """Take an action of the spec. Whether it may be taken."""
        nobody = SimpleNamespace(incarnation=None, broker_epoch=None, reply=None, state=None, replicas=Absent())
        network = SimpleNamespace(remove=lambda _: None)
        s = SimpleNamespace(
            _origin=self.controller, controllers={VOTER: self.controller}, processes=Everywhere(nobody),
            lifecycle=network, alterations=network, produced=Everywhere(types.RecordStatus.UNWRITTEN), last_target={},
            faults=SimpleNamespace(reassignments=0, unregistrations=0), last_removal=(),
        )  # fmt: skip
        try:
            act(s, VOTER, *arguments)
        except Disabled:
            return False
        self.controller = s.controllers[VOTER]
        return True


class Everywhere:
    """A map that has the same under every key."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, _: Any) -> Any:
        return self._value


class Absent(Everywhere):
    """The replicas of a process that has none."""

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(leader_epoch=None, leadership=None, has_record=False, topic=None))


def sent(**fields: Any) -> Any:
    """A request for whose reply nobody waits, with the fields that the spec's actions look at."""
    return SimpleNamespace(late=True, to=VOTER, **fields)


def new_partition(replicas: tuple[int, ...], active: Any, start: Any) -> Any:
    chosen = tuple(map(types.Broker, replicas))
    return topics.new_partition(chosen, active & frozenset(chosen), start)


def assigned(number: int) -> tuple[int, ...]:
    return tuple((7 * number + by * by * 11 + by) % BROKERS for by in range(REPLICAS))


brokers = st.integers(0, BROKERS - 1)
numbers = st.integers(0, PARTITIONS - 1)


class LargeCluster(RuleBasedStateMachine):
    """Both sides, step by step."""

    runtime: ModuleType  # tests.impl.controller_runtime, with the implementation that is under test

    @initialize()
    def begun(self) -> None:
        from impl.kraft import messages

        self.messages = messages
        self.world = self.runtime.ControllerRuntime()
        self.world.activate(*range(BROKERS))
        assignments = tuple(map(assigned, range(PARTITIONS)))
        self.key = self.world.create(*assignments)
        self.spec = SpecSide(assignments)
        self.marks: list[tuple[int, Any]] = []
        self.seen = {p: self.own(p.index) for p in types.TopicPartition}
        self.lives = 0

    # What both sides show.

    def own(self, number: int) -> Any:
        return self.world.image.partitions[self.key[0], number]

    def registered(self, id_: int) -> Any:
        return self.spec.image.registrations[types.Broker(id_)]

    def both(self, act: Callable[..., None], *arguments: Any) -> bool:
        """Take the spec's action once the implementation has done it, and compare all partitions and brokers."""
        before = dict(self.spec.image.partitions.items())
        done = self.spec.do(act, *arguments)
        for p, after in self.spec.image.partitions.items():
            own, old = self.own(p.index), self.seen[p]
            raised = (own.leader_epoch - old.leader_epoch, own.partition_epoch - old.partition_epoch)
            wanted = (after.leader_epoch != before[p].leader_epoch, after.partition_epoch != before[p].partition_epoch)
            assert raised == wanted, f"the epochs of partition {p.index} rise by {raised}"
            if own is not old or any(wanted):
                assert shown(own) == expected(after), f"partition {p.index}"
                self.seen[p] = own
        for broker, one in self.spec.image.registrations.items():
            own = self.world.image.registrations.get(broker.index)
            assert (one is None) == (own is None), f"registration of {broker.index}"
            if one is not None:
                assert (own.fenced, own.in_controlled_shutdown) == (one.fenced, one.in_controlled_shutdown), (
                    broker.index
                )
        return done

    # Rules.

    @rule(id_=brokers, fence=st.booleans(), stop=st.sampled_from([False, False, True]), behind=st.booleans())
    def heartbeats(self, id_: int, fence: bool, stop: bool, behind: bool) -> None:
        self.heartbeat(id_, fence, stop, behind)

    @rule(number=numbers)
    def outage(self, number: int) -> None:
        """All replicas of a partition are fenced, as those of many others are, and the last one comes back first."""
        ids = self.own(number).replicas
        for id_ in ids:
            self.fence(id_)
        for id_ in reversed(ids):
            self.heartbeat(id_)

    def heartbeat(self, id_: int, fence: bool = False, stop: bool = False, behind: bool = False) -> None:
        held = self.registered(id_)
        if held is None:
            return
        epoch = self.world.image.registrations[id_].broker_epoch
        offset = epoch - 1 if behind else self.world.image.offset
        reached = [mark for at, mark in self.marks if at <= offset]
        request = sent(
            sender=types.Broker(id_), broker_epoch=held.broker_epoch, want_fence=fence, want_shut_down=stop,
            caught_up=offset >= epoch, applied=reached[-1] if reached else None, lacks=0,
        )  # fmt: skip
        broker = types.Broker(id_)
        decided = shutdown.next_broker_state(self.spec.controller, held, broker, request)
        response = self.world.heartbeat(id_, offset=offset, want_fence=fence, want_shut_down=stop)
        assert response.should_shut_down == (decided is shutdown.BrokerControlState.SHUTDOWN_NOW)
        self.both(controller.handle_heartbeat, request)
        assert response.is_fenced == self.registered(id_).fenced
        begun = self.spec.controller.shutdowns[broker]
        if begun is not None and begun.offset not in [mark for _, mark in self.marks]:
            self.marks.append((self.world.controller.sessions.shutdown_offset(id_), begun.offset))

    @rule(first=brokers, count=st.sampled_from([1, 30]))
    def fenced(self, first: int, count: int) -> None:
        """One, or many in a row, as those of a data centre are."""
        for id_ in range(first, first + count):
            self.fence(id_ % BROKERS)

    def fence(self, id_: int) -> None:
        """Its lease runs out: time passes, and all others repeat their registrations."""
        held = self.registered(id_)
        if held is None or held.fenced:
            return
        for _ in range(2):
            for other, one in sorted(self.world.image.registrations.items()):
                if other != id_ and not one.fenced:
                    again = self.messages.BrokerRegistrationRequest(other, self.runtime.CLUSTER, one.incarnation_id)
                    self.world.ask(again)
            self.world.pass_time(self.runtime.TIMEOUT_MS // 2)
        broker = types.Broker(id_)
        self.spec.controller.expired_leases |= {broker}
        assert self.both(controller.fence_expired, broker)

    @rule(id_=brokers)
    def register(self, id_: int) -> None:
        """Another incarnation, whose holder is fenced, or is refused."""
        self.lives += 1
        response = self.world.register(id_, 100 + self.lives)
        held = self.registered(id_)
        is_taken = controller.has_valid_session(self.spec.controller, types.Broker(id_))
        assert (response.error.name == "NONE") == (not is_taken)
        request = sent(
            sender=types.Broker(id_),
            incarnation=types.Incarnation(BROKERS + self.lives),
        )
        self.both(controller.handle_registration, request)
        assert is_taken == (self.registered(id_) == held)

    @rule(id_=brokers)
    def unregister(self, id_: int) -> None:
        response = self.world.ask(self.messages.UnregisterBrokerRequest(id_))
        assert self.both(topics.unregister, types.Broker(id_)) == (response.error.name == "NONE")

    @rule(number=numbers, joins=st.booleans(), which=st.integers(0, 5), times=st.sampled_from([1, 40]),
          stale=st.sampled_from([0, 0, 0, 1]))  # fmt: skip
    def alter_isr(self, number: int, joins: bool, which: int, times: int, stale: int) -> None:
        """A leader asks for one member more or less, or many times for both in turn; then as if it knew of none."""
        for time in range(times):
            self.ask_for_isr(number, joins ^ (time % 2 == 1), which, stale)
        self.ask_for_isr(number, joins, which, 1)

    def ask_for_isr(self, number: int, joins: bool, which: int, stale: int) -> None:
        own, p = self.own(number), types.TopicPartition(number)
        held = self.registered(own.leader) if own.leader >= 0 else None
        if held is None:
            return
        others = [id_ for id_ in own.replicas if (id_ in own.isr) != joins and id_ != own.leader]
        changed = {others[which % len(others)]} if others else set()
        isr = set(own.isr) ^ changed
        added = next((id_ for id_ in changed - set(own.isr)), None)
        before = self.spec.image.partitions[p]
        joining = None if added is None else self.registered(added)
        request = sent(
            sender=types.Broker(own.leader), broker_epoch=held.broker_epoch, topic=types.TopicId(0), partition=p,
            leader_epoch=before.leader_epoch,
            partition_epoch=types.PartitionEpoch(before.partition_epoch.value - stale),
            isr=frozenset(map(types.Broker, isr)),
            added_epoch=None if joining is None else joining.broker_epoch,
        )  # fmt: skip
        error = controller.alter_isr_error(self.spec.image, request)
        held_by = self.world.image.registrations
        members = tuple(
            self.messages.IsrMember(id_, held_by[id_].broker_epoch if id_ in held_by else 0) for id_ in sorted(isr)
        )
        key, epoch = (self.key[0], number), own.partition_epoch - stale
        response = self.world.alter_isr(key, new_isr=members, partition_epoch=epoch)
        self.both(controller.handle_alter_isr, request)
        reply = controller.alter_isr_reply(before, self.spec.image.partitions[p], request, error)
        assert response.error.name == reply.error.name

    @rule(number=numbers, wanted=st.lists(brokers, min_size=1, max_size=5, unique=True))
    def reassigned(self, number: int, wanted: list[int]) -> None:
        self.reassign(number, wanted)

    @rule(number=numbers)
    def another_is_preferred(self, number: int) -> None:
        """The same replicas in another order: the first of them is then elected. So for one of each half."""
        for one in (number, PARTITIONS - 1 - number):
            first, *others = self.own(one).replicas
            self.reassign(one, [*others, first])
            self.elect(one)

    def reassign(self, number: int, wanted: list[int]) -> None:
        request = self.messages.AlterPartitionReassignmentRequest("orders", number, tuple(wanted))
        response = self.world.ask(request)
        done = self.both(administration.reassign, types.TopicPartition(number), tuple(map(types.Broker, wanted)))
        assert done == (response.error.name == "NONE")

    @rule(number=numbers)
    def cancel(self, number: int) -> None:
        response = self.world.ask(self.messages.AlterPartitionReassignmentRequest("orders", number, None))
        done = self.both(administration.cancel_reassignment, types.TopicPartition(number))
        assert done == (response.error.name == "NONE")

    def elect(self, number: int) -> None:
        response = self.world.ask(self.messages.ElectPreferredLeaderRequest("orders", number))
        done = self.both(administration.elect_preferred, types.TopicPartition(number))
        assert done == (response.error.name == "NONE")

    @rule(calls=st.sampled_from([5, 150]))
    def many_wait(self, calls: int) -> None:
        """Configs change while nothing commits: each reply waits for its own record, and all leave in order."""
        self.world.commits = False
        first = self.world.calls + 1
        ends = []
        for call in range(calls):
            value = str(first + call)
            self.world.call(self.messages.AlterConfigsRequest.of_one(4, "", "retention.ms", value))
            ends.append(self.world.log.end_offset)
        assert not [call for call in self.world.replies if call >= first], "nothing leaves that is not committed"
        self.world.commit(ends[calls // 2])
        answered = [call for call in self.world.replies if call >= first]
        assert answered == list(range(first, first + sum(end <= ends[calls // 2] for end in ends)))
        self.world.commits = True
        self.world.commit()
        assert list(self.world.replies)[-calls:] == list(range(first, first + calls))


def shown(own: Any) -> tuple[Any, ...]:
    leader = None if own.leader < 0 else own.leader
    return own.replicas, frozenset(own.isr), leader, own.adding_replicas, own.removing_replicas


def expected(one: Any) -> tuple[Any, ...]:
    leader = None if one.leader is None else one.leader.index
    ids = (tuple(b.index for b in moving) for moving in (one.adding, one.removing))
    return tuple(b.index for b in one.replicas), frozenset(b.index for b in one.isr), leader, *ids


def run(examples: int, steps: int) -> None:
    """Drive the implementation that is loaded now."""
    LargeCluster.runtime = importlib.reload(controller_runtime)
    how = settings(max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True, database=None,
                   phases=[Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
    with large():
        run_state_machine_as_test(LargeCluster, settings=how)


@pytest.mark.long("a state machine over large clusters: 12 s of CPU")
def test_a_large_cluster_does_what_the_spec_does() -> None:
    run(examples=6, steps=20)


@pytest.mark.sample(0, verify=3)
@pytest.mark.parametrize("fault", SCALE, ids=str)
def test_a_fault_of_scale_is_found(fault: Fault) -> None:
    try:
        with patched(fault.function, fault.old, fault.new), pytest.raises(AssertionError):
            run(examples=40, steps=30)  # it stops where the fault is found
    finally:
        importlib.reload(controller_runtime)
