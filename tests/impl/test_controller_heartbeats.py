"""Heartbeats and leases: fencing, unfencing, controlled shutdown."""

from __future__ import annotations

from typing import Any

import pytest

from impl.kraft.controller import lease_timer
from impl.kraft.effects import SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest
from impl.kraft.records import (
    NO_LEADER,
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    UnfenceBrokerRecord,
)
from tests.impl.controller_runtime import TIMEOUT_MS, ControllerRuntime


def kinds(runtime: ControllerRuntime) -> list[type]:
    return [type(record) for record in runtime.records()]


# Fence and unfence.


@pytest.mark.parametrize("epoch", [0, 2])
def test_another_broker_epoch_is_stale_and_renews_nothing(epoch: int) -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.now_ms += TIMEOUT_MS
    assert runtime.heartbeat(0, epoch=epoch).error is ErrorCode.STALE_BROKER_EPOCH
    assert not runtime.controller.has_valid_session(0, runtime.now_ms)


def test_a_broker_is_unfenced_once_its_image_reaches_its_registration() -> None:
    runtime = ControllerRuntime()
    epoch = runtime.register(0).broker_epoch
    runtime.register(1)
    behind = runtime.heartbeat(0, offset=epoch - 1)
    assert behind.is_fenced and not behind.is_caught_up and not runtime.records()
    there = runtime.heartbeat(0, offset=epoch)
    assert not there.is_fenced and there.is_caught_up
    assert kinds(runtime) == [UnfenceBrokerRecord]


def test_a_broker_that_serves_is_not_fenced_for_an_image_that_is_behind() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    late = runtime.heartbeat(0, offset=-1)
    assert not late.is_fenced and not late.is_caught_up and not runtime.records()


def test_a_broker_that_wants_the_fence_keeps_it() -> None:
    runtime = ControllerRuntime()
    runtime.register(0)
    assert runtime.heartbeat(0, want_fence=True).is_fenced
    assert not runtime.records()


def test_fencing_moves_leaderships_and_shrinks_isrs_but_for_the_last_member() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2)
    follows = runtime.create((1, 0, 2), name="follows")
    leads = runtime.create((0, 2, 1), name="leads")
    alone = runtime.create((0,), name="alone")
    runtime.heartbeat(0, want_fence=True)
    assert kinds(runtime) == [PartitionChangeRecord] * 3 + [FenceBrokerRecord]
    assert (runtime.partition(follows).isr, runtime.partition(follows).leader) == ((1, 2), 1)
    assert (runtime.partition(leads).isr, runtime.partition(leads).leader) == ((2, 1), 2)
    assert (runtime.partition(alone).isr, runtime.partition(alone).leader) == ((0,), NO_LEADER)
    assert [runtime.partition(key).leader_epoch for key in (follows, leads, alone)] == [0, 1, 1]
    assert [runtime.partition(key).partition_epoch for key in (follows, leads, alone)] == [1, 1, 1]


def test_the_records_of_a_batch_are_in_the_order_of_topic_ids_and_partition_ids() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    for name in ("a", "b", "c"):
        runtime.create(*[(0, 1)] * 12, name=name)
    runtime.heartbeat(0, want_fence=True)
    places = [(r.topic_id.int, r.partition_id) for r in runtime.records() if isinstance(r, PartitionChangeRecord)]
    assert places == sorted(places) and len(places) == 36


def test_unfencing_joins_no_isr_and_gives_leaderless_partitions_a_leader() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    shared, alone = runtime.create((0, 1), name="shared"), runtime.create((0,), name="alone")
    runtime.heartbeat(0, want_fence=True)
    runtime.heartbeat(0)
    assert kinds(runtime) == [UnfenceBrokerRecord, PartitionChangeRecord]
    assert runtime.partition(shared).isr == (1,)
    assert runtime.partition(alone).leader == 0


# Leases.


def test_a_silent_broker_is_fenced_when_its_lease_runs_out() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    runtime.pass_time(TIMEOUT_MS - 1)
    assert not runtime.image.registrations[0].fenced
    runtime.heartbeat(1)
    runtime.pass_time(1)
    assert runtime.image.registrations[0].fenced and not runtime.image.registrations[1].fenced
    runtime.pass_time(TIMEOUT_MS)
    assert runtime.image.registrations[1].fenced


def test_a_heartbeat_renews_the_lease_and_the_timer_follows() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    for _ in range(5):
        runtime.pass_time(TIMEOUT_MS - 1)
        runtime.heartbeat(0)
    assert not runtime.image.registrations[0].fenced
    early = runtime.controller.on_timer(lease_timer(0), runtime.now_ms)
    assert early == [SetTimer(lease_timer(0), runtime.now_ms + TIMEOUT_MS)]


def test_a_heartbeat_that_comes_before_the_timer_saves_a_lapsed_lease() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.now_ms += TIMEOUT_MS
    assert not runtime.heartbeat(0).is_fenced
    runtime.pass_time(0)
    assert not runtime.image.registrations[0].fenced


def test_brokers_that_lapse_together_are_fenced_one_after_the_other() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2)
    key = runtime.create((0, 1, 2))
    runtime.pass_time(TIMEOUT_MS)
    batches = [[type(r) for r in b.records] for b in runtime.appended if len(b.records) > 1]
    assert batches == [[PartitionChangeRecord, FenceBrokerRecord]] * 3
    assert (runtime.partition(key).isr, runtime.partition(key).leader) == ((2,), NO_LEADER)


def test_the_lease_timer_of_a_fenced_broker_ends() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.heartbeat(0, want_fence=True)
    runtime.pass_time(2 * TIMEOUT_MS)
    assert lease_timer(0) not in runtime.timers
    assert FenceBrokerRecord not in kinds(runtime)


def test_the_lease_timer_of_a_broker_that_was_fenced_just_now_is_the_last() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.heartbeat(0, want_fence=True)
    assert runtime.controller.on_timer(lease_timer(0), runtime.now_ms) == []


def test_who_is_fenced_already_is_not_fenced_again_before_that_is_committed() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.commits = False
    runtime.call(BrokerHeartbeatRequest(0, runtime.image.registrations[0].broker_epoch, 9, True, False))
    runtime.pass_time(TIMEOUT_MS)
    assert FenceBrokerRecord not in kinds(runtime)


def test_a_lapsed_lease_is_decided_on_by_the_whole_log() -> None:
    """The last change of the ISR is not committed yet."""
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    key = runtime.create((0, 1))
    runtime.commits = False
    runtime.call(runtime.alter_isr_request(key, 0))
    runtime.pass_time(TIMEOUT_MS)
    assert (runtime.partition(key).isr, runtime.partition(key).leader) == ((0,), NO_LEADER)


# Controlled shutdown.


def begun(*brokers: int) -> ControllerRuntime:
    """Broker 0 of these leads a partition and has asked to shut down."""
    runtime = ControllerRuntime()
    runtime.activate(*brokers)
    runtime.create(tuple(brokers))
    response = runtime.heartbeat(0, offset=runtime.image.offset, want_shut_down=True)
    assert (response.is_fenced, response.should_shut_down) == (False, False)
    return runtime


def barrier(runtime: ControllerRuntime) -> int:
    offset = runtime.controller.sessions.shutdown_offset(0)
    assert offset is not None
    return offset


def test_a_shutdown_begins_by_moving_leaderships_away() -> None:
    runtime = begun(0, 1)
    assert kinds(runtime) == [PartitionChangeRecord, BrokerRegistrationChangeRecord]
    assert barrier(runtime) == runtime.image.offset
    assert [(p.isr, p.leader) for p in runtime.image.partitions.values()] == [((1,), 1)]


def test_it_ends_once_every_active_broker_has_seen_that() -> None:
    runtime = begun(0, 1, 2)
    runtime.heartbeat(1, offset=barrier(runtime))
    runtime.heartbeat(2, offset=barrier(runtime) - 1)
    assert not runtime.heartbeat(0, want_shut_down=True).should_shut_down
    assert not runtime.records()
    runtime.heartbeat(2, offset=barrier(runtime))
    last = runtime.heartbeat(0, want_shut_down=True)
    assert last.should_shut_down and last.is_fenced
    assert kinds(runtime) == [FenceBrokerRecord]


def test_the_offset_stays_where_it_was_set() -> None:
    runtime = begun(0, 1)
    offset = barrier(runtime)
    for _ in range(3):
        runtime.register(9)
        runtime.heartbeat(0, want_shut_down=True)
    assert barrier(runtime) == offset


def test_a_fenced_broker_is_not_waited_for() -> None:
    runtime = begun(0, 1)
    runtime.heartbeat(1, offset=0, want_fence=True)
    assert runtime.heartbeat(0, want_shut_down=True).should_shut_down


def test_it_leaves_no_shutdown_to_a_late_heartbeat() -> None:
    runtime = begun(0, 1)
    runtime.heartbeat(1)
    assert runtime.heartbeat(0, want_shut_down=True).should_shut_down
    late = runtime.heartbeat(0)
    assert late.is_fenced and not late.should_shut_down, "it stays fenced until it registers again"
    assert not runtime.records()
    runtime.register(0, 2)
    assert not runtime.heartbeat(0).is_fenced


@pytest.mark.parametrize("fenced", [False, True])
def test_an_idle_or_fenced_broker_waits_too(fenced: bool) -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    runtime.heartbeat(0, want_fence=fenced)
    runtime.heartbeat(1, offset=runtime.image.offset)
    response = runtime.heartbeat(0, want_shut_down=True)
    assert (response.is_fenced, response.should_shut_down) == (fenced, False)
    assert kinds(runtime) == [BrokerRegistrationChangeRecord]
    runtime.heartbeat(1, offset=barrier(runtime))
    assert runtime.heartbeat(0, want_shut_down=True).should_shut_down


def test_a_new_controller_sets_the_offset_anew() -> None:
    runtime = begun(0, 1)
    offset = barrier(runtime)
    runtime.heartbeat(1)
    runtime.fail_over()
    assert not runtime.heartbeat(0, want_shut_down=True).should_shut_down
    assert kinds(runtime) == [BrokerRegistrationChangeRecord]
    assert barrier(runtime) == runtime.image.offset > offset
    runtime.heartbeat(1)
    assert runtime.heartbeat(0, want_shut_down=True).should_shut_down


def test_a_new_incarnation_is_in_no_shutdown() -> None:
    runtime = begun(0, 1)
    runtime.now_ms += TIMEOUT_MS
    runtime.register(0, 2)
    assert not runtime.heartbeat(0).is_fenced


def test_a_broker_in_controlled_shutdown_is_fenced_when_it_falls_silent() -> None:
    runtime = begun(0, 1)
    runtime.pass_time(TIMEOUT_MS)
    assert runtime.image.registrations[0].fenced
    assert runtime.controller.sessions.shutdown_offset(0) is None


# Cost.


class Sealed(dict[Any, Any]):
    """A dictionary that nobody may look into."""

    def refuse(self, *_: object) -> Any:
        raise AssertionError("a heartbeat looked at partitions")

    __getitem__ = __contains__ = __iter__ = __len__ = get = items = keys = values = refuse


def test_a_heartbeat_that_changes_nothing_looks_at_no_partition() -> None:
    runtime = begun(0, 1, 2)
    runtime.register(3)
    image: Any = runtime.image
    image.partitions = image.in_isr = Sealed()
    runtime.heartbeat(1)
    runtime.heartbeat(3, want_fence=True)
    runtime.heartbeat(0, want_shut_down=True)
    with pytest.raises(AssertionError, match="looked at partitions"):
        runtime.heartbeat(2, want_fence=True)
