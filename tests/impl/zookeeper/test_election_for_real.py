"""The election on a real ZooKeeper: brokers that are resigned, expired and cut off hand over to one another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from impl.zookeeper import Event, Submit
from impl.zookeeper.election import AlwaysRun, Election, LeftOffice, Notice, Office, TookOffice
from tests.cluster.proxy import Proxy, proxy
from tests.cluster.zookeeper import Ensemble
from tests.impl.zookeeper.real import RealClient, chroot

pytestmark = pytest.mark.xdist_group("zookeeper")


class Once(AlwaysRun):
    """Runs until it is told to resign."""

    is_over = False

    def may_run(self) -> bool:
        return not self.is_over

    def must_resign(self) -> bool:
        return self.is_over


class Broker(RealClient):
    """A client whose core is an election."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hosts: str, number: int) -> None:
        self.policy = Once()
        self.election = Election(number, self.policy)
        self.notices: list[Notice] = []
        super().__init__(loop, hosts, timeout_ms=1500)

    def _deliver(self, event: Event) -> None:
        super()._deliver(event)
        self.carry_out(self.election.handle(event, 0))

    def carry_out(self, effects: list[Submit | Notice]) -> None:
        for effect in effects:
            if isinstance(effect, Submit):
                self.client.submit(effect)
            else:
                self.notices.append(effect)

    def until_in_office(self) -> Office:
        self.until(lambda _: self.election.office is not None)
        assert self.election.office is not None
        return self.election.office

    def resign(self) -> None:
        self.policy.is_over = True

        async def reconsider() -> None:
            self.carry_out(self.election.reconsider())

        self.loop.run_until_complete(reconsider())


@pytest.fixture
def link(server: Ensemble) -> Iterator[Proxy]:
    with proxy(server.hosts) as made:
        yield made


@pytest.fixture
def brokers(server: Ensemble, link: Proxy) -> Iterator[list[Broker]]:
    loop = asyncio.new_event_loop()
    hosts = chroot(server.hosts)
    through = f"{link.address}/{hosts.partition('/')[2]}"
    made = [Broker(loop, through, 0)]
    made[0].until_in_office()
    made.append(Broker(loop, hosts, 1))
    made[1].until_connected()
    yield made
    for broker in made:
        broker.stop()
    loop.close()


def test_a_resignation_an_expiry_and_a_cut_hand_over(server: Ensemble, brokers: list[Broker], link: Proxy) -> None:
    one, other = brokers
    assert one.until_in_office().epoch == 1
    one.resign()
    assert other.until_in_office().epoch == 2
    one.policy.is_over = False
    other.expire(server.hosts)
    assert one.until_in_office().epoch == 3
    other.until(lambda _: any(isinstance(notice, LeftOffice) for notice in other.notices))
    link.cut()
    assert other.until_in_office().epoch == 4
    link.heal()
    link.reset()
    one.until(lambda _: one.election.office is None)
    terms = [notice.office.epoch for broker in brokers for notice in broker.notices if isinstance(notice, TookOffice)]
    assert sorted(terms) == [1, 2, 3, 4]
