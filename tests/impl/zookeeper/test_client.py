"""The client on kazoo, against a real server: order, sessions, unknown outcomes, contact."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from impl.zookeeper import (
    Absent,
    CloseSession,
    Connected,
    Create,
    Created,
    Disconnected,
    Done,
    ErrorCode,
    Exists,
    Expired,
    Failed,
    Found,
    GetData,
    OutOfTouch,
    Result,
    SetData,
    Unknown,
    WatchEvent,
    WatchType,
    Written,
)
from impl.zookeeper.client import Contact
from tests.cluster.proxy import Direction, Proxy, proxy
from tests.cluster.zookeeper import Ensemble
from tests.impl.zookeeper.real import RealClient, chroot

pytestmark = pytest.mark.xdist_group("zookeeper")
Connect = Callable[..., RealClient]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def hosts(server: Ensemble) -> str:
    return chroot(server.hosts)


@pytest.fixture
def link(server: Ensemble) -> Iterator[Proxy]:
    with proxy(server.hosts) as made:
        yield made


@pytest.fixture
def connect(loop: asyncio.AbstractEventLoop, hosts: str) -> Iterator[Connect]:
    """Makes clients that are connected: to the server, or through the link that is given."""
    made: list[RealClient] = []

    def connected(link: Proxy | None = None, timeout_ms: int = 4000) -> RealClient:
        through = hosts if link is None else f"{link.address}/{hosts.partition('/')[2]}"
        made.append(RealClient(loop, through, timeout_ms))
        made[-1].until_connected()
        made[-1].taken()
        return made[-1]

    yield connected
    for client in made:
        client.stop()


def test_watches_and_results_are_one_stream_in_order(connect: Connect) -> None:
    one = connect()
    one.do(Create("/a"))
    one.taken()
    ids = [one.submit(operation) for operation in (GetData("/a", watch=True), SetData("/a", b"1"), GetData("/a"))]
    one.until_result(ids[-1])
    read, watch, written, read_again = one.taken()
    assert isinstance(read, Result) and isinstance(read.outcome, Found) and read.outcome.data == b""
    assert watch == WatchEvent("/a", WatchType.DATA_CHANGED)
    assert isinstance(written, Result) and isinstance(written.outcome, Written)
    assert written.zxid == written.outcome.stat.mzxid
    assert read_again == Result(ids[2], Found(b"1", written.outcome.stat), written.zxid)


def test_what_is_cut_is_answered_with_unknown_and_reads_are_armed_again(connect: Connect, link: Proxy) -> None:
    one, other = connect(link), connect()
    other.do(Create("/a"))
    one.do(GetData("/a", watch=True))
    one.taken()
    link.cut(Direction.TO_CLIENT)
    id = one.submit(SetData("/a", b"1"))
    while isinstance(seen := other.do(GetData("/a")).outcome, Found) and seen.data != b"1":
        pass
    link.reset()
    link.heal()
    one.until_connected()
    assert one.taken()[:2] == [Result(id, Unknown()), Disconnected()]
    other.do(SetData("/a", b"2"))
    one.do(Exists("/a"))
    assert not any(isinstance(event, WatchEvent) for event in one.taken()), "the watch went with the connection"


def test_a_session_that_expires_is_heard_of_and_followed_by_a_new_one(connect: Connect, hosts: str) -> None:
    one = connect()
    created = one.do(Create("/mine", ephemeral=True)).outcome
    assert isinstance(created, Created)
    one.taken()
    one.expire(hosts)
    one.until_connected()
    events = [event for event in one.taken() if not isinstance(event, Result)]
    assert [type(event) for event in events] == [Disconnected, Expired, Connected]
    connected = events[-1]
    assert isinstance(connected, Connected) and connected.is_new and connected.session != created.stat.owner
    assert one.do(Exists("/mine")).outcome == Absent()


def test_a_core_that_does_not_know_that_its_session_ended_writes_nothing_in_the_next(
    loop: asyncio.AbstractEventLoop, hosts: str
) -> None:
    one = RealClient(loop, hosts)
    one.until_connected()
    one.taken()
    handling, one.client.handling = one.client.handling, lambda event: None  # type: ignore[method-assign]  # as a client that hears nothing
    one.expire(hosts)
    one.until(lambda events: any(isinstance(event, Connected) for event in events))
    assert one.do(Create("/zombie")).outcome == Failed(ErrorCode.SESSION_EXPIRED)
    for event in [event for event in one.taken() if not isinstance(event, Result)]:
        handling(event)
    assert one.do(Exists("/zombie")).outcome == Absent()
    one.stop()


def test_a_silent_link_is_noticed_before_the_session_can_expire(connect: Connect, link: Proxy) -> None:
    one = connect(link, timeout_ms=1500)
    created = one.do(Create("/mine", ephemeral=True)).outcome
    assert isinstance(created, Created)
    link.cut()
    one.until(lambda events: OutOfTouch() in events)
    link.reset()  # before it heals, or what was held makes contact, and the reset falls on what is asked next
    link.heal()
    one.until_connected()
    one.taken()
    assert one.do(Exists("/mine")).outcome in (Found(None, created.stat), Absent())


def test_contact_that_comes_back_without_a_reconnection_is_reported(connect: Connect, link: Proxy) -> None:
    one = connect(link, timeout_ms=6000)
    one.client._contact._last_s -= 4.5
    one.client.check_contact()
    one.until_connected()
    events = one.taken()
    assert events[0] == OutOfTouch() and isinstance(events[1], Connected) and not events[1].is_new


def test_closing_the_session_deletes_what_it_owns(connect: Connect) -> None:
    one, other = connect(), connect()
    one.do(Create("/mine", ephemeral=True))
    other.do(Exists("/mine", watch=True))
    assert one.do(CloseSession()).outcome == Done()
    other.until(lambda events: WatchEvent("/mine", WatchType.DELETED) in events)


def test_contact_is_counted_from_sending() -> None:
    contact = Contact(timeout_s=6, last_s=100)
    assert not contact.is_lost(103.9)
    assert not contact.made(sent_s=101, now_s=103.95)
    assert not contact.is_lost(104.5) and contact.is_lost(105) and not contact.is_lost(106), "it is reported once"
    assert not contact.made(sent_s=102, now_s=107), "an answer that is too late is no contact"
    assert contact.made(sent_s=107, now_s=107.5) and not contact.is_lost(108)


def test_what_is_submitted_before_there_is_a_session_fails(
    loop: asyncio.AbstractEventLoop, hosts: str, link: Proxy
) -> None:
    link.cut()  # a server may be quicker than this test
    one = RealClient(loop, f"{link.address}/{hosts.partition('/')[2]}")
    early = one.submit(Exists("/"))
    assert one.until_result(early).outcome == Failed(ErrorCode.SESSION_EXPIRED)
    link.heal()
    one.until_connected()
    one.stop()


def test_a_client_that_is_cut_one_way_may_hear_the_watches_that_its_own_expiry_fires(
    connect: Connect, link: Proxy
) -> None:
    """`is_heard` of `ZooKeeper.expire`. The server sends them, and closes the connection: either may be first."""
    one = connect(link, timeout_ms=1000)
    one.do(Create("/mine", ephemeral=True))
    one.do(Exists("/mine", watch=True))
    one.taken()
    one.client._kazoo.client._connection._send_ping = lambda _: None  # so that kazoo does not notice the cut first
    link.cut(Direction.TO_SERVER)
    one.until(lambda events: Disconnected() in events)
    link.heal()
    one.until(lambda events: Expired() in events)
    events = [event for event in one.taken() if not isinstance(event, Result)]
    heard = WatchEvent("/mine", WatchType.DELETED)
    assert [event for event in events if event != heard][:3] == [OutOfTouch(), Disconnected(), Expired()]
    assert events.count(heard) <= 1 and heard not in events[events.index(Disconnected()) :]
