"""What designs share of ZooKeeper: queues of events, and whom an ephemeral znode belongs to."""

from __future__ import annotations

from spec.pinning.types import Path
from spec.zookeeper.sessions import Session, is_own
from spec.zookeeper.watches import is_next, queued


def test_events_are_queued_in_order_and_once_for_a_path() -> None:
    events = queued(queued((), Path.READY), Path.NEXT)
    assert events == (Path.READY, Path.NEXT)
    assert queued(events, Path.READY) == events
    assert is_next(events, Path.READY)
    assert not is_next(events, Path.NEXT)
    assert not is_next((), Path.READY)


def test_a_former_session_is_not_ones_own() -> None:
    assert is_own(Session(1), Session(1))
    assert not is_own(Session(0), Session(1))
    assert not is_own(Session(0), None)
