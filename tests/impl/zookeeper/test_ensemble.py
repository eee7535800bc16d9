"""An ensemble of three: its leader killed while writes are under way, and followers that lag as the model's may."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from impl.zookeeper import (
    Committed,
    Create,
    Event,
    Exists,
    Failed,
    Found,
    GetData,
    Multi,
    Operation,
    Result,
    SetData,
    Submit,
    Sync,
    Unknown,
)
from impl.zookeeper.model import ZooKeeper
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.zookeeper.real import RealClient, chroot
from tests.impl.zookeeper.test_model_is_zookeeper import Correspondence

pytestmark = [pytest.mark.xdist_group("zookeeper"), pytest.mark.long("an ensemble of three takes seconds to start")]
DELAY_MS = 40


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Ensemble]:
    with zookeeper(3, with_links=True) as made:
        yield made


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


class LaggingZooKeeper:
    """Two clients, each at a server of its own, and the model, which follows what they hear."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hosts: list[str]) -> None:
        self.model = ZooKeeper.begin(2, lagging=True)
        self.numbers = Correspondence()
        self.real = []
        self.stale = 0
        """Results that were served from a view which did not have all that was committed."""
        for client, at in enumerate(hosts):
            self.model = self.model.open_session(client)
            _, self.model = self.model.deliver(client)
            self.real.append(RealClient(loop, at))
            session = self.real[client].until_connected().session
            self.numbers.session(session, self.model.clients[client].session)
            self.real[client].taken()

    def do(self, client: int, operation: Operation) -> None:
        id = self.real[client].submit(operation)
        self.model = self.model.submit(client, Submit(id, operation))
        self.real[client].until_result(id)
        for event in self.real[client].taken():
            self.explain(client, event)

    def explain(self, client: int, event: Event) -> None:
        """Let the model do what it needs to do for this event to be the next that the client hears."""
        while True:
            after = self.model
            if after.clients[client].sent and not after.clients[client].arriving:
                after = after.serve(client)
            if after.clients[client].arriving:
                expected, heard = after.deliver(client)
                if self.numbers.event(event, expected) == expected:
                    self.model = heard
                    self.stale += heard.is_behind(client)
                    return
            assert self.model.is_behind(client), f"{event} cannot be next for client {client} in {self.model}"
            self.model = self.model.catch_up(client)


def test_followers_lag_as_the_models_do(ensemble: Ensemble, loop: asyncio.AbstractEventLoop) -> None:
    leader = ensemble.leader()
    assert leader is not None
    near, far = (server for server in ensemble.servers if server is not leader)
    ensemble.links[far.number, leader.number].delay(DELAY_MS)
    below = chroot(near.address).removeprefix(near.address)
    chance = random.Random(7)
    both = LaggingZooKeeper(loop, [near.address + below, far.address + below])
    both.do(0, Create("/a"))
    both.do(1, Sync())
    for _ in range(80):
        writes: list[Operation] = [
            SetData("/a", b"%d" % chance.randrange(9)),
            Multi((SetData("/a", b"m"), SetData("/a", b"n"))),
        ]
        refused = SetData("/a", b"", 99)
        reads: list[Operation] = [GetData("/a", watch=True), Exists("/a"), GetData("/a"), Sync(), refused]
        client = chance.choice([0, 0, 1, 1, 1])
        both.do(client, chance.choice(writes if client == 0 and chance.random() < 0.7 else reads))
    for link in ensemble.links.values():
        link.heal()
    for real in both.real:
        real.stop()
    assert both.stale > 10, "the far server lagged"


def test_what_was_acknowledged_survives_the_leaders_death_and_the_rest_is_reported_as_unknown(
    ensemble: Ensemble, loop: asyncio.AbstractEventLoop
) -> None:
    one = RealClient(loop, chroot(ensemble.hosts))
    session = one.until_connected().session
    one.do(Create("/epoch", b"0"))
    expected = 0
    for round_ in range(2):
        ensemble.start()
        leader = ensemble.leader()
        assert leader is not None
        taken = [Multi((Create(f"/m{round_}-{n}"), SetData("/epoch", b"%d" % n))) for n in range(200)]
        ids = [one.submit(operation) for operation in taken]
        one.until_result(ids[10])
        leader.kill()
        results = {id: one.until_result(id) for id in ids}
        one.until_connected()
        one.taken()
        expected = check_round(one, round_, [results[id] for id in ids], expected)
    assert one.client.session is not None and one.client.session.id == session, "the session outlived two leaders"
    one.stop()


def check_round(one: RealClient, round_: int, results: list[Result], version: int) -> int:
    """Done ones are there, each with one version of /epoch; returns the version."""
    there = [isinstance(one.do(Exists(f"/m{round_}-{n}")).outcome, Found) for n in range(len(results))]
    for n, result in enumerate(results):
        assert not isinstance(result.outcome, Failed), result
        assert there[n] or isinstance(result.outcome, Unknown), f"{n} was acknowledged, and is gone"
    assert any(isinstance(result.outcome, Unknown) for result in results), "the leader died too late"
    epoch = one.do(GetData("/epoch")).outcome
    assert isinstance(epoch, Found) and epoch.stat.version == version + sum(there), "whole or not at all"
    return epoch.stat.version


def test_a_session_that_has_moved_to_another_server_is_fetched_back(
    ensemble: Ensemble, loop: asyncio.AbstractEventLoop
) -> None:
    """A server that was given up as too slow takes the session over, later. Until there is another connection each
    multi would be refused; each single write costs the connection, and the answer to what follows it is out of turn."""
    ensemble.start()  # whom another test has killed
    root = "/" + chroot(ensemble.servers[0].address).partition("/")[2]
    client = RealClient(loop, f"{ensemble.servers[0].address}{root}")
    write = SetData("/a", b"2")
    try:
        client.until_connected()
        session = client.client.session
        assert session is not None
        client.do(Create("/a", b"1"))
        first: Operation
        for first in (Multi((write,)), write):
            client.taken()
            slow = KazooClient(ensemble.servers[1].address, client_id=(session.id, session.password))
            slow.start()
            refused, _ = client.submit(first), client.submit(Exists("/a"))
            assert client.until_result(refused).outcome == Unknown()
            assert client.until_connected().session == session.id
            assert isinstance(client.do(Multi((write,))).outcome, Committed)
            slow._session_id = None  # it is not to close the session
            slow._connection._socket.close()
    finally:
        client.stop()
