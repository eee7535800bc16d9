"""Where a snapshot ends, in the keys of released controllers: it decides only for who may report less than that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from impl.adapters.apache_kafka.system import registered_at
from impl.adapters.kraft.cluster import ONE_HISTORY, Cluster, ControllerHost, Envelope, ProcessHost
from impl.apache.controller import ApacheController
from impl.kraft.controller import ControllerSettings
from impl.kraft.image import Image
from impl.kraft.messages import BrokerHeartbeatRequest
from impl.kraft.records import RegisterBrokerRecord
from impl.kraft.snapshot import Snapshot
from tests.impl.apache.jars import skip_without
from tests.impl.apache.simulated import VERSION

REGISTERED_AT, END = 3, 7
INCARNATION, ANOTHER = UUID(int=1), UUID(int=2)
SNAPSHOT = Snapshot(END, 1, (RegisterBrokerRecord(0, INCARNATION, REGISTERED_AT),))


def controller(snapshot: Snapshot | None) -> Any:
    return SimpleNamespace(loaded=snapshot, amended={}, issued_at={})


def cluster(incarnation: UUID, applied_offset: int, reported: int | None, *, counts: bool = True) -> Cluster:
    """A controller that has loaded the snapshot, a broker, and a heartbeat under way that reports an offset."""
    shape = cast(Any, SimpleNamespace(snapshot_end_counts=counts))
    lifecycle = SimpleNamespace(incarnation_id=incarnation)
    broker = cast(Any, SimpleNamespace(broker_id=0, lifecycle=lifecycle, applied_offset=applied_offset))
    sent = [] if reported is None else [reported]
    heartbeats = [BrokerHeartbeatRequest(0, REGISTERED_AT, at, want_fence=False, want_shut_down=False) for at in sent]
    return Cluster(
        shape,
        (ControllerHost(controller(SNAPSHOT), Image(), {}),),
        (ProcessHost(broker),),
        lifecycle=tuple([Envelope(0, INCARNATION, 0, one) for one in heartbeats]),
    )


@pytest.mark.parametrize(
    ("incarnation", "applied_offset", "reported", "lacks"),
    [
        (INCARNATION, END - 1, None, True),
        (INCARNATION, END, None, False),
        (ANOTHER, END - 1, None, False),
        (INCARNATION, END, END - 1, True),
        (INCARNATION, END, END, False),
    ],
)
def test_who_may_report_less(incarnation: UUID, applied_offset: int, reported: int | None, lacks: bool) -> None:
    assert cluster(incarnation, applied_offset, reported).lacking == ({(0, END)} if lacks else set())


def test_each_may_where_a_state_does_not_show_it() -> None:
    assert cluster(INCARNATION, END, None, counts=False).lacking == {(0, END)}


def test_the_end_is_told_from_the_registration_while_somebody_lacks_something() -> None:
    own = registered_at(REGISTERED_AT, 0, controller(None), ONE_HISTORY, frozenset())
    assert registered_at(END, 0, controller(SNAPSHOT), ONE_HISTORY, frozenset({(0, END)})) != own
    assert registered_at(END, 0, controller(SNAPSHOT), ONE_HISTORY, frozenset({(1, END)})) == own


@pytest.mark.long("a JVM")
@pytest.mark.xdist_group("apache")
def test_a_controller_says_whose_registration_it_is() -> None:
    skip_without(VERSION)
    registered = [RegisterBrokerRecord(id_, UUID(int=id_), id_, (), (), None, fenced=True) for id_ in (1, 2)]
    loaded = ApacheController(VERSION, ControllerSettings(cluster_id="c"))
    loaded.load(Snapshot(END, 1, tuple(registered)))
    found = [(one.about, one.value) for one in loaded.state.numbers if one.kind == "registration offset"]
    assert sorted(found) == [("1", END), ("2", END)]
