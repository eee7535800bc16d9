"""The ZooKeeper in memory against a real one: the same operations on both, and every event that clients get compared.

zxids and session ids differ; the two have to correspond, zxids in order. What the order of events of one transaction
on several znodes is, ZooKeeper leaves open: they are compared as a set.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from impl.zookeeper import (
    Check,
    Children,
    CloseSession,
    Committed,
    Connected,
    Create,
    Created,
    Delete,
    Done,
    Event,
    Exists,
    Expired,
    Failed,
    Found,
    GetChildren,
    GetData,
    Multi,
    Operation,
    Result,
    SetData,
    Stat,
    Submit,
    Sync,
    WatchEvent,
    Written,
)
from impl.zookeeper.model import Tree, ZooKeeper, service
from impl.zookeeper.model.tree import ROOT
from tests.cluster.proxy import Proxy
from tests.cluster.zookeeper import Ensemble
from tests.impl.zookeeper.real import RealClient, chroot

pytestmark = pytest.mark.xdist_group("zookeeper")

CLIENTS = 2
PATHS = ("/a", "/b", "/a/x", "/a/y")
paths = st.sampled_from(PATHS)
data = st.sampled_from([b"", b"1", b"2"])
versions = st.sampled_from([-1, 0, 0, 1, 2])
creates = st.builds(Create, paths, data, st.booleans())
sets = st.builds(SetData, paths, data, versions)
deletes = st.builds(Delete, paths, versions)
checks = st.builds(Check, paths, versions)
multis = st.builds(Multi, st.lists(creates | sets | deletes | checks, min_size=1, max_size=3).map(tuple))
reads = st.builds(Exists, paths, st.booleans()) | st.builds(GetData, paths, st.booleans())
lists = st.builds(GetChildren, paths, st.booleans())
operations: st.SearchStrategy[Operation] = st.one_of(
    creates, creates, sets, deletes, multis, reads, lists, st.just(Sync())
)


class Correspondence:
    """Numbers of the real ZooKeeper and of the model that stand for the same thing."""

    def __init__(self) -> None:
        self._zxids: dict[int, int] = {0: 0}
        self._sessions: dict[int, int] = {0: 0}

    def zxid(self, real: int, model: int) -> int:
        """The model's number for a zxid; a new one corresponds to the model's, if that keeps their order."""
        known = self._zxids.setdefault(real, model)
        for one, other in itertools.combinations(sorted(self._zxids), 2):
            assert self._zxids[one] < self._zxids[other], "zxids rise together"
        return known

    def session(self, real: int, model: int) -> int:
        return self._sessions.setdefault(real, model)

    def stat(self, real: Stat, model: Stat) -> Stat:
        owner = self.session(real.owner, model.owner)
        return Stat(self.zxid(real.czxid, model.czxid), self.zxid(real.mzxid, model.mzxid), real.version, owner)

    def event(self, real: Event, model: Event) -> Event:
        """The real event in the model's numbers, as far as `model` is alike at all."""
        if isinstance(real, Connected) and isinstance(model, Connected):
            return Connected(self.session(real.session, model.session), real.is_new, model.timeout_ms)
        if isinstance(real, Result) and isinstance(model, Result):
            return replace(model, id=real.id, outcome=self.outcome(real.outcome, model.outcome))
        return real

    def outcome(self, real: Any, model: Any) -> Any:
        if isinstance(real, Failed):
            return replace(real, message="")
        if isinstance(real, Children) and isinstance(model, Children) and model.stat == ROOT.stat:
            return replace(real, stat=model.stat)  # the real root is the chroot, made for the test
        if isinstance(real, Created | Written | Found | Children) and type(model) is type(real):
            return replace(real, stat=self.stat(real.stat, model.stat))
        if isinstance(real, Committed) and isinstance(model, Committed) and len(real.parts) == len(model.parts):
            return Committed(tuple(map(self.outcome, real.parts, model.parts)))
        return real


class BothZooKeepers(RuleBasedStateMachine):
    """Two clients of a real server and of the model, which get the same operations."""

    hosts: str
    links: list[Proxy]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        below = chroot(self.hosts).removeprefix(self.hosts)
        self.model = ZooKeeper.begin(CLIENTS)
        self.numbers = Correspondence()
        self.real = []
        for client, link in enumerate(self.links):
            self.model = self.model.open_session(client)
            self.real.append(RealClient(self.loop, link.address + below))
            self.real[client].until_connected()
        self.compare()

    @rule(client=st.sampled_from(range(CLIENTS)), chosen=st.lists(operations, min_size=1, max_size=6))
    def do(self, client: int, chosen: list[Operation]) -> None:
        for operation in chosen:
            id = self.real[client].submit(operation)
            self.model = self.model.submit(client, Submit(id, operation)).serve(client)
        self.real[client].until_result(id)
        self.compare()

    @rule(client=st.sampled_from(range(CLIENTS)))
    def watch_everything(self, client: int) -> None:
        self.do(client, [Exists(path, watch=True) for path in PATHS])
        self.do(client, [GetChildren(path, watch=True) for path in ("/", *PATHS)])

    @rule(client=st.sampled_from(range(CLIENTS)))
    def disconnect(self, client: int) -> None:
        self.model = self.model.disconnect(client).reconnect(client)
        self.links[client].reset()
        self.real[client].until_connected()
        self.compare()

    @precondition(lambda self: len(self.model.tree) > 1)
    @rule(client=st.sampled_from(range(CLIENTS)))
    def expire(self, client: int) -> None:
        session = self.model.clients[client].session
        self.model = self.model.expire(session).disconnect(client).reconnect(client).open_session(client)
        self.real[client].expire(self.hosts)
        self.real[client].until(lambda events: Expired() in events and isinstance(events[-1], Connected))
        self.compare()

    def compare(self) -> None:
        """All events that have arrived. A read on each client's connection is answered after its watches have fired."""
        for client, real in enumerate(self.real):
            barrier = real.submit(Exists("/"))
            real.until_result(barrier)
            got = [event for event in real.taken() if not (isinstance(event, Result) and event.id == barrier)]
            expected = self.arrived(client)
            assert [type(event) for event in got] == [type(event) for event in expected], f"{got} for {expected}"
            translated = list(map(self.numbers.event, got, expected))
            assert in_order(translated) == in_order(expected)

    def arrived(self, client: int) -> list[Event]:
        events = []
        while self.model.clients[client].arriving:
            event, self.model = self.model.deliver(client)
            events.append(event)
        return [
            replace(e, outcome=replace(e.outcome, message=""))
            if isinstance(e, Result) and isinstance(e.outcome, Failed)
            else e
            for e in events
        ]

    def teardown(self) -> None:
        """The first client closes its session, which the second hears of; what there is in the end is compared."""
        try:
            self.finish()
        finally:
            self.stop()

    def finish(self) -> None:
        closing, *others = self.real
        id = closing.submit(CloseSession())
        self.model = self.model.submit(0, Submit(id, CloseSession())).serve(0)
        assert closing.until_result(id).outcome == Done()
        self.real, self.model = others, replace(self.model, clients=self.model.clients[1:])
        self.compare()
        self.do(0, [GetData(path) for path in PATHS])

    def stop(self) -> None:
        for real in self.real:
            real.stop()
        self.loop.close()


def in_order(events: list[Event]) -> list[Any]:
    """Events with neighbouring watch events as a set."""
    return [
        frozenset(group) if is_watch else list(group)
        for is_watch, group in itertools.groupby(events, key=lambda event: isinstance(event, WatchEvent))
    ]


@pytest.fixture(scope="module")
def links(server: Ensemble) -> Iterator[list[Proxy]]:
    made = [Proxy(server.hosts) for _ in range(CLIENTS)]
    yield made
    for link in made:
        link.stop()


def hold(server: Ensemble, links: list[Proxy], examples: int) -> None:
    machine = type("Machine", (BothZooKeepers,), {"hosts": server.hosts, "links": links})
    chosen = settings(
        max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=chosen)


def test_the_model_is_zookeeper(server: Ensemble, links: list[Proxy]) -> None:
    hold(server, links, examples=6)


@pytest.mark.large("many more of the same: a minute or two")
def test_the_model_is_zookeeper_for_longer(server: Ensemble, links: list[Proxy]) -> None:
    hold(server, links, examples=100)


Step = Callable[..., Any]


def arms_on_absent(read: Step) -> Step:
    return lambda self, client, operation: read(
        self, client, Exists(operation.path, operation.watch) if isinstance(operation, GetData) else operation
    )


def watches_survive(disconnect: Step) -> Step:
    def survive(self: ZooKeeper, client: int, **done: int) -> ZooKeeper:
        kept = self.clients[client].data_watches
        after: ZooKeeper = disconnect(self, client, **done)
        return after._with(client, replace(after.clients[client], data_watches=kept))

    return survive


def fires_again(applied: Step) -> Step:
    return lambda client, transaction: replace(applied(client, transaction), data_watches=client.data_watches)


def keeps_parts(write: Step) -> Step:
    """A multi that is refused leaves the parts before the refused one done."""

    def kept(tree: Tree, operation: Operation, session: int, zxid: int) -> Any:
        done = write(tree, operation, session, zxid)
        if isinstance(done, Failed) and isinstance(operation, Multi) and done.at:
            transaction, _ = write(tree, Multi(operation.operations[: done.at]), session, zxid)
            return transaction, done
        return done

    return kept


def ephemerals_survive(end_session: Step) -> Step:
    return lambda tree, session, zxid: end_session(tree, -1, zxid)


def ignores_versions(write: Step) -> Step:
    return lambda tree, operation, session, zxid: write(
        tree, replace(operation, version=-1) if isinstance(operation, SetData) else operation, session, zxid
    )


def alone(*operations: Operation) -> Callable[[BothZooKeepers], None]:
    return lambda both: both.do(0, list(operations))


def expires(both: BothZooKeepers) -> None:
    both.do(0, [Create("/a", ephemeral=True)])
    both.expire(0)
    both.do(1, [Exists("/a")])


def watches(both: BothZooKeepers) -> None:
    both.do(0, [Create("/a"), GetData("/a", watch=True)])
    both.disconnect(0)
    both.do(1, [SetData("/a", b"1")])


FAULTS: list[tuple[Any, str, Callable[[Step], Step], Callable[[BothZooKeepers], None]]] = [
    (ZooKeeper, "_read", arms_on_absent, alone(GetData("/a", watch=True), Create("/a"))),
    (ZooKeeper, "disconnect", watches_survive, watches),
    (service, "_applied", fires_again, alone(Exists("/a", watch=True), Create("/a"), Delete("/a"))),
    (service, "write", keeps_parts, alone(Multi((Create("/a"), Check("/b", 0))), Exists("/a"))),
    (service, "end_session", ephemerals_survive, expires),
    (service, "write", ignores_versions, alone(Create("/a"), SetData("/a", b"", 7))),
]


@pytest.mark.parametrize(
    ("where", "name", "fault", "scenario"), FAULTS, ids=[fault.__name__ for _, _, fault, _ in FAULTS]
)
def test_a_model_that_differs_is_found(
    server: Ensemble, links: list[Proxy], monkeypatch: pytest.MonkeyPatch,
    where: Any, name: str, fault: Callable[[Step], Step], scenario: Callable[[BothZooKeepers], None],
) -> None:  # fmt: skip
    monkeypatch.setattr(BothZooKeepers, "hosts", server.hosts, raising=False)
    monkeypatch.setattr(BothZooKeepers, "links", links, raising=False)
    sound = BothZooKeepers()
    scenario(sound)
    sound.teardown()
    monkeypatch.setattr(where, name, fault(getattr(where, name)))
    faulty = BothZooKeepers()
    with pytest.raises(AssertionError):
        scenario(faulty)
    faulty.stop()
