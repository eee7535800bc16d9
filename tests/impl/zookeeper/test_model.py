"""The ZooKeeper in memory: the guarantees that designs rest on, one by one."""

from __future__ import annotations

import pickle

import pytest

from impl.zookeeper import (
    Absent,
    Check,
    CloseSession,
    Committed,
    Connected,
    Create,
    Created,
    Delete,
    Disconnected,
    Done,
    ErrorCode,
    Event,
    Exists,
    Expired,
    Failed,
    Found,
    GetChildren,
    GetData,
    Multi,
    Operation,
    Outcome,
    OutOfTouch,
    Result,
    SetData,
    Stat,
    Submit,
    Sync,
    Unknown,
    WatchEvent,
    WatchType,
    Written,
)
from impl.zookeeper.model import ModelError, ZooKeeper

A, B = 0, 1


class Driven:
    """A service that is driven by hand. What arrives is collected per client."""

    def __init__(self, *, lagging: bool = False, clients: int = 2) -> None:
        self.service = ZooKeeper.begin(clients, [("/brokers", b""), ("/epoch", b"0")], lagging=lagging)
        for client in range(clients):
            self.service = self.service.open_session(client)
            self.heard(client)

    def heard(self, client: int) -> list[Event]:
        events = []
        while self.service.clients[client].arriving:
            event, self.service = self.service.deliver(client)
            events.append(event)
        return events

    def do(self, client: int, operation: Operation) -> Outcome:
        """Do an operation; what arrives before its result is dropped."""
        self.service = self.service.submit(client, Submit(7, operation)).serve(client)
        result = self.heard(client)[-1]
        assert isinstance(result, Result) and result.id == 7
        return result.outcome


def test_a_multi_is_done_whole_with_one_zxid_or_not_at_all() -> None:
    driven = Driven()
    before = driven.service.tree
    taken = Multi((Create("/controller", b"a", ephemeral=True), SetData("/epoch", b"1", 1)))
    assert driven.do(A, taken) == Failed(ErrorCode.BAD_VERSION, at=1)
    assert driven.service.tree == before
    taken = Multi((Check("/epoch", 0), Create("/controller", b"a", ephemeral=True), SetData("/epoch", b"1", 0)))
    done = driven.do(A, taken)
    assert done == Committed((Done(), Created("/controller", Stat(1, 1, 0, owner=1)), Written(Stat(0, 1, 1))))


def test_a_later_part_of_a_multi_sees_the_parts_before_it() -> None:
    driven = Driven()
    assert driven.do(A, Multi((Delete("/epoch"), Create("/epoch", b"9")))) == Committed(
        (Done(), Created("/epoch", Stat(1, 1, 0)))
    )
    assert driven.do(B, Exists("/epoch")) == Found(None, Stat(1, 1, 0))


def test_each_part_of_a_multi_fires_watches() -> None:
    driven = Driven()
    driven.do(B, GetData("/epoch", watch=True))
    driven.do(B, Exists("/controller", watch=True))
    driven.do(A, Multi((Create("/controller"), SetData("/epoch", b"1"))))
    assert driven.heard(B) == [
        WatchEvent("/controller", WatchType.CREATED),
        WatchEvent("/epoch", WatchType.DATA_CHANGED),
    ]


def test_a_refused_write_is_answered_by_a_server_that_has_what_precedes_it() -> None:
    driven = Driven(lagging=True)
    driven.do(A, SetData("/epoch", b"1"))
    assert driven.do(B, SetData("/epoch", b"2", 0)) == Failed(ErrorCode.BAD_VERSION)
    assert driven.do(B, GetData("/epoch")) == Found(b"1", Stat(0, 1, 1))


def test_a_view_applies_each_transaction_once() -> None:
    driven = Driven(lagging=True)
    driven.do(A, SetData("/epoch", b"1"))
    driven.do(A, GetData("/epoch", watch=True))
    assert driven.service.is_behind(B), "so the transaction is still kept"
    driven.service = driven.service.submit(A, Submit(1, Sync())).serve(A)
    assert driven.heard(A) == [Result(1, Done(), zxid=1)]


def test_check_cannot_tell_two_incarnations_of_a_znode_apart() -> None:
    driven = Driven()
    first = driven.do(A, Create("/controller", ephemeral=True))
    driven.do(A, Delete("/controller", 0))
    second = driven.do(B, Create("/controller", ephemeral=True))
    assert isinstance(first, Created) and isinstance(second, Created)
    assert first.stat.czxid < second.stat.czxid
    assert driven.do(A, Multi((Check("/controller", 0), Delete("/controller", 0)))) == Committed((Done(), Done()))


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Create("/epoch"), ErrorCode.NODE_EXISTS),
        (Create("/absent/child"), ErrorCode.NO_NODE),
        (Create("/ephemeral/child"), ErrorCode.NO_CHILDREN_FOR_EPHEMERALS),
        (SetData("/absent", b""), ErrorCode.NO_NODE),
        (SetData("/epoch", b"", 3), ErrorCode.BAD_VERSION),
        (Delete("/absent"), ErrorCode.NO_NODE),
        (Delete("/epoch", 3), ErrorCode.BAD_VERSION),
        (Delete("/brokers"), ErrorCode.NOT_EMPTY),
        (Create("relative"), ErrorCode.OTHER),
    ],
)
def test_what_is_refused_changes_nothing(operation: Operation, code: ErrorCode) -> None:
    driven = Driven()
    driven.do(A, Create("/ephemeral", ephemeral=True))
    driven.do(A, Create("/brokers/1"))
    before = driven.service.tree
    outcome = driven.do(B, operation)
    assert isinstance(outcome, Failed) and outcome.code is code
    assert driven.service.tree == before


def test_a_watch_fires_once() -> None:
    driven = Driven()
    driven.do(B, GetData("/epoch", watch=True))
    driven.do(A, SetData("/epoch", b"1"))
    driven.do(A, SetData("/epoch", b"2"))
    assert driven.heard(B) == [WatchEvent("/epoch", WatchType.DATA_CHANGED)]


def test_exists_arms_on_an_absent_znode_and_get_does_not() -> None:
    driven = Driven(clients=3)
    assert driven.do(B, Exists("/controller", watch=True)) == Absent()
    assert driven.do(2, GetData("/controller", watch=True)) == Absent()
    assert driven.do(2, GetChildren("/controller", watch=True)) == Absent()
    driven.do(A, Create("/controller"))
    assert driven.heard(B) == [WatchEvent("/controller", WatchType.CREATED)]
    assert driven.heard(2) == []


def test_a_deletion_fires_one_event_for_both_watches_of_a_znode_and_one_for_its_parent() -> None:
    driven = Driven()
    driven.do(A, Create("/brokers/1"))
    driven.do(B, GetData("/brokers/1", watch=True))
    driven.do(B, GetChildren("/brokers/1", watch=True))
    driven.do(B, GetChildren("/brokers", watch=True))
    driven.do(A, Delete("/brokers/1"))
    assert driven.heard(B) == [
        WatchEvent("/brokers/1", WatchType.DELETED),
        WatchEvent("/brokers", WatchType.CHILDREN_CHANGED),
    ]


def test_ones_own_watch_fires_before_the_result() -> None:
    driven = Driven()
    driven.do(A, GetData("/epoch", watch=True))
    driven.service = driven.service.submit(A, Submit(1, SetData("/epoch", b"1"))).serve(A)
    assert driven.heard(A) == [
        WatchEvent("/epoch", WatchType.DATA_CHANGED),
        Result(1, Written(Stat(0, 1, 1)), zxid=1),
    ]


def test_a_lagging_view_is_a_prefix_that_holds_ones_own_writes_and_sync_ends_the_lag() -> None:
    driven = Driven(lagging=True)
    driven.do(A, SetData("/epoch", b"1"))
    assert driven.do(B, GetData("/epoch", watch=True)) == Found(b"0", Stat(0, 0, 0))
    assert driven.service.is_behind(B) and not driven.service.is_behind(A)
    driven.service = driven.service.catch_up(B)
    assert driven.heard(B) == [WatchEvent("/epoch", WatchType.DATA_CHANGED)]
    driven.do(A, SetData("/epoch", b"2"))
    driven.do(B, Create("/mine"))
    assert driven.do(B, GetData("/epoch")) == Found(b"2", Stat(0, 2, 2))
    driven.do(A, SetData("/epoch", b"3"))
    assert driven.do(B, Sync()) == Done()
    assert driven.do(B, GetData("/epoch")) == Found(b"3", Stat(0, 4, 3))
    assert driven.service.pending == ()


@pytest.mark.parametrize("done", [0, 1])
def test_a_write_whose_reply_is_lost_was_done_or_not(done: int) -> None:
    driven = Driven()
    driven.do(A, GetData("/epoch", watch=True))
    driven.service = driven.service.submit(A, Submit(1, SetData("/epoch", b"1"))).disconnect(A, done=done)
    assert driven.heard(A) == [Result(1, Unknown()), Disconnected()]
    driven.service = driven.service.reconnect(A)
    assert driven.heard(A) == [Connected(1, False, 6000)]
    assert driven.do(A, GetData("/epoch")) == Found(b"%d" % done, Stat(0, done, done))
    driven.do(B, SetData("/epoch", b"9"))
    assert driven.heard(A) == [], "no watch outlives a disconnect"


def test_a_session_that_expires_takes_its_ephemerals_and_its_client_hears_of_it_later() -> None:
    driven = Driven()
    driven.do(A, Create("/controller", ephemeral=True))
    driven.do(B, Exists("/controller", watch=True))
    driven.service = driven.service.expire(1)
    assert driven.heard(B) == [WatchEvent("/controller", WatchType.DELETED)]
    assert driven.heard(A) == []
    with pytest.raises(ModelError, match="session of client 0 is over"):
        driven.service.submit(A, Submit(1, Sync())).serve(A)
    driven.service = driven.service.submit(A, Submit(1, Sync())).disconnect(A).out_of_touch(A)
    driven.service = driven.service.submit(A, Submit(2, SetData("/epoch", b"zombie"))).reconnect(A)
    assert driven.heard(A) == [
        Result(1, Unknown()),
        Disconnected(),
        OutOfTouch(),
        Expired(),
        Result(2, Failed(ErrorCode.SESSION_EXPIRED)),
    ]
    driven.service = driven.service.open_session(A)
    assert driven.heard(A) == [Connected(3, True, 6000)]
    assert driven.do(A, GetData("/epoch")) == Found(b"0", Stat(0, 0, 0))


def test_the_ephemerals_of_a_crashed_process_stay_until_its_session_expires() -> None:
    driven = Driven()
    driven.do(A, Create("/controller", ephemeral=True))
    driven.service = driven.service.crash(A).open_session(A)
    driven.heard(A)
    assert driven.do(A, Create("/controller", ephemeral=True)) == Failed(ErrorCode.NODE_EXISTS)
    driven.service = driven.service.expire(1)
    assert isinstance(driven.do(A, Create("/controller", ephemeral=True)), Created)


def test_closing_a_session_deletes_its_ephemerals_at_once() -> None:
    driven = Driven()
    driven.do(A, Create("/controller", ephemeral=True))
    driven.do(B, Exists("/controller", watch=True))
    assert driven.do(A, CloseSession()) == Done()
    assert driven.heard(B) == [WatchEvent("/controller", WatchType.DELETED)]


def test_equal_services_are_equal_values() -> None:
    one, other = Driven(), Driven()
    for driven in (one, other):
        driven.do(A, Create("/brokers/1", ephemeral=True))
    assert one.service == other.service and hash(one.service) == hash(other.service)
    assert pickle.loads(pickle.dumps(one.service)) == one.service
    one.do(A, SetData("/brokers/1", b"x"))
    assert one.service != other.service
