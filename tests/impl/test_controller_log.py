"""Speculative and committed state: deferred replies, claim, renounce, standbys, snapshots, copies."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.controller import NO_OP_TIMER, Controller, ControllerSettings, lease_timer
from impl.kraft.effects import Append, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ElectUncleanLeaderRequest,
    ListPartitionReassignmentsRequest,
    Request,
    UnregisterBrokerRequest,
    UpdateFeatureRequest,
)
from impl.kraft.records import AbortTransactionRecord, Batch, BeginTransactionRecord, FeatureLevelRecord, NoOpRecord
from tests.impl.controller_runtime import CLUSTER, TIMEOUT_MS, ControllerRuntime, incarnation

ANYTHING: list[Request] = [
    BrokerRegistrationRequest(0, CLUSTER, UUID(int=1)),
    BrokerHeartbeatRequest(0, 0, 0, False, False),
    UnregisterBrokerRequest(0),
    AlterPartitionRequest(0, 0, UUID(int=1), 0, 0, 0, ()),
    AlterPartitionReassignmentRequest("orders", 0, None),
    ListPartitionReassignmentsRequest(),
    CreateTopicRequest("orders", UUID(int=1)),
    DeleteTopicRequest(name="orders"),
    ElectPreferredLeaderRequest("orders", 0),
    ElectUncleanLeaderRequest("orders", 0),
    AssignReplicasToDirsRequest(0, 0, ()),
    ControllerRegistrationRequest(0, UUID(int=1)),
    AlterConfigsRequest.of_one(2, "orders", "a", "1"),
    UpdateFeatureRequest("a", 1),
]


def contents(image: Image) -> dict[str, object]:
    """All that an image has; what a broker does not have and what it has none of are the same."""
    return {
        name: {k: v for k, v in value.items() if v} if isinstance(value, dict) else value
        for name, value in vars(image).items()
        if not name.startswith("_")
    }


# Replies.


def test_a_reply_waits_until_what_it_rests_on_is_committed() -> None:
    runtime = ControllerRuntime(commits=False)
    runtime.commit()
    call = runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    assert call not in runtime.replies
    assert 0 in runtime.image.registrations and 0 not in runtime.controller.committed.registrations
    runtime.commit()
    assert runtime.replies[call].error is ErrorCode.NONE and 0 in runtime.controller.committed.registrations


def test_errors_and_replies_without_records_wait_for_what_was_appended_before() -> None:
    runtime = ControllerRuntime(commits=False)
    runtime.commit()
    first = runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    end_of_first = runtime.log.end_offset
    refused = runtime.call(BrokerHeartbeatRequest(0, 99, 0, True, False))
    second = runtime.call(BrokerRegistrationRequest(1, CLUSTER, incarnation(1, 1)))
    assert not runtime.replies
    runtime.commit(end_of_first)
    assert set(runtime.replies) == {first, refused}
    runtime.commit()
    assert set(runtime.replies) == {first, refused, second}


def test_what_only_reads_is_answered_at_once_from_what_is_committed() -> None:
    """So no listing shows what a failover may lose."""
    runtime = ControllerRuntime(commits=False)
    runtime.commit()
    listed = runtime.ask(ListPartitionReassignmentsRequest())
    runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    epoch = runtime.image.registrations[0].broker_epoch
    runtime.call(BrokerHeartbeatRequest(0, epoch, epoch, False, False))
    runtime.call(CreateTopicRequest("orders", UUID(int=7), assignments=((0,),)))
    runtime.commit()
    runtime.call(BrokerRegistrationRequest(1, CLUSTER, incarnation(1, 1)))
    runtime.call(AlterPartitionReassignmentRequest("orders", 0, (1,)))
    assert runtime.image.reassigning
    assert runtime.ask(ListPartitionReassignmentsRequest()) == listed
    runtime.commit()
    assert runtime.ask(ListPartitionReassignmentsRequest()) != listed


def test_with_nothing_under_way_a_reply_leaves_at_once() -> None:
    runtime = ControllerRuntime(commits=False)
    runtime.commit()
    assert runtime.ask(UnregisterBrokerRequest(0)).error is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_batch_that_is_committed_in_part_is_not_committed() -> None:
    runtime = ControllerRuntime(commits=False)
    runtime.commit()
    runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    runtime.call(
        BrokerHeartbeatRequest(0, runtime.image.registrations[0].broker_epoch, runtime.image.offset, False, False)
    )
    call = runtime.call(CreateTopicRequest("orders", UUID(int=1)))
    assert len(runtime.appended[0].records) == 2
    runtime.commit(runtime.log.end_offset - 1)
    assert call not in runtime.replies and not runtime.controller.committed.topics


# The active role.


@pytest.mark.parametrize("request_", ANYTHING, ids=lambda request: type(request).__name__)
def test_a_standby_refuses_everything(request_: Request) -> None:
    controller = Controller(ControllerSettings(CLUSTER))
    [reply] = controller.handle(5, request_, 0)
    assert isinstance(reply, Reply) and (reply.call, reply.response.error) == (5, ErrorCode.NOT_CONTROLLER)
    assert controller.on_timer(lease_timer(0), 0) == controller.on_timer(NO_OP_TIMER, 0) == []


def test_a_claim_writes_a_record_of_its_epoch_and_arms_its_timers() -> None:
    controller = Controller(ControllerSettings(CLUSTER))
    assert controller.claim(3, 100) == [Append(Batch(0, 3, (NoOpRecord(),))), SetTimer(NO_OP_TIMER, 600)]
    assert controller.is_active


def test_a_claim_writes_nothing_where_the_quorum_has_written_in_its_epoch() -> None:
    controller = Controller(ControllerSettings(CLUSTER))
    controller.replay(Batch(0, 3, (NoOpRecord(),)))
    assert controller.claim(3, 100) == [SetTimer(NO_OP_TIMER, 600)]


def test_an_idle_log_does_not_grow_where_its_interval_is_0() -> None:
    """KIP-835; a timer of 0 ms would be due for ever."""
    settings = ControllerSettings(CLUSTER, max_idle_interval_ms=0)
    assert Controller(settings).claim(3, 100) == [Append(Batch(0, 3, (NoOpRecord(),)))]


def test_the_first_controller_of_a_cluster_writes_what_it_begins_with() -> None:
    level = FeatureLevelRecord("metadata.version", 7, 7)
    settings = ControllerSettings("cluster", bootstrap=(level,))
    first = Controller(settings)
    assert first.claim(3, 100)[0] == Append(Batch(0, 3, (level,)))
    later = Controller(settings)
    later.replay(Batch(0, 3, (level,)))
    assert later.claim(4, 100)[0] == Append(Batch(1, 4, (NoOpRecord(),)))


def test_a_claim_aborts_what_the_last_controller_has_left_open() -> None:
    """ActivationRecordsGenerator.recordsForNonEmptyLog of Kafka."""
    level = FeatureLevelRecord("metadata.version", 13, 13)
    controller = Controller(ControllerSettings(CLUSTER, bootstrap=(level,)))
    controller.replay(Batch(0, 1, (BeginTransactionRecord(), FeatureLevelRecord("metadata.version", 14, 14))))
    (append, *_) = controller.claim(2, 0)
    assert append == Append(Batch(2, 2, (AbortTransactionRecord("left open"), level)))
    assert controller.speculative.features == {"metadata.version": (13, 13)}


def test_leases_start_anew_with_a_new_controller() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    runtime.heartbeat(1, want_fence=True)
    runtime.now_ms += TIMEOUT_MS - 1
    runtime.fail_over()
    assert runtime.timers[lease_timer(0)] == runtime.now_ms + TIMEOUT_MS and lease_timer(1) not in runtime.timers
    runtime.pass_time(TIMEOUT_MS - 1)
    assert not runtime.image.registrations[0].fenced
    runtime.pass_time(1)
    assert runtime.image.registrations[0].fenced, "though nobody ever sent anything"


def test_to_renounce_reverts_what_is_not_committed_and_refuses_who_waits() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.commits = False
    before = contents(runtime.image)
    kept = runtime.log.end_offset
    calls = [runtime.call(request) for request in reversed(ANYTHING[:3])]
    assert contents(runtime.image) != before
    controller = runtime.controller
    runtime.perform(controller.renounce(runtime.now_ms))
    assert [runtime.replies[call].error for call in calls] == [ErrorCode.NOT_CONTROLLER] * 3
    assert not controller.is_active and contents(controller.speculative) == before
    assert not controller.sessions.of_broker
    runtime.log.truncate(kept)
    controller.replay(Batch(kept, 9, (NoOpRecord(),)))


def test_what_survived_a_failover_is_replayed_and_not_answered() -> None:
    runtime = ControllerRuntime()
    runtime.commits = False
    call = runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    runtime.fail_over()
    assert runtime.replies[call].error is ErrorCode.NOT_CONTROLLER
    runtime.commit()
    assert runtime.controller.committed.registrations[0].incarnation_id == incarnation(0, 1)
    assert list(runtime.replies) == [call]


def test_claims_that_cannot_be() -> None:
    runtime = ControllerRuntime()
    with pytest.raises(ValueError, match="cannot be claimed"):
        runtime.controller.claim(2, 0)
    with pytest.raises(ValueError, match="replays no batch"):
        runtime.controller.replay(Batch(runtime.log.end_offset, 2, (NoOpRecord(),)))
    runtime.controller.renounce(0)
    with pytest.raises(ValueError, match="epoch 0 cannot be claimed"):
        runtime.controller.claim(0, 0)


def test_the_log_grows_while_nothing_happens() -> None:
    runtime = ControllerRuntime()
    end = runtime.log.end_offset
    runtime.pass_time(5000)
    assert runtime.log.end_offset == end + 10
    with pytest.raises(ValueError, match="no timer"):
        runtime.controller.on_timer(("tea",), 0)


def test_a_session_is_valid_of_who_is_registered_unfenced_and_heard_of() -> None:
    runtime = ControllerRuntime(commits=False)
    controller = runtime.controller
    runtime.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    assert not controller.has_valid_session(0, 0), "it is fenced"
    epoch = runtime.image.registrations[0].broker_epoch
    runtime.call(BrokerHeartbeatRequest(0, epoch, epoch, False, False))
    assert controller.has_valid_session(0, 0), "committed or not"
    runtime.commit()
    controller.renounce(0)
    assert not controller.has_valid_session(0, 0), "a standby hears of nobody"


# Snapshots and copies.


def busy_office() -> ControllerRuntime:
    """Of everything something."""
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2, racks={0: "a"})
    runtime.create((0, 1, 2), (1, 2, 0))
    runtime.create((0,), name="alone")
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "retention.ms", "5"))
    runtime.ask(AlterConfigsRequest.of_one(4, "", "a", "1"))
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, (0, 1)))
    runtime.register(3)
    runtime.ask(AlterPartitionReassignmentRequest("orders", 1, (3, 1)))
    runtime.heartbeat(0, want_fence=True)
    runtime.heartbeat(2, want_shut_down=True)
    runtime.now_ms += TIMEOUT_MS
    runtime.register(1, 2)
    return runtime


def test_a_snapshot_gives_the_image_that_it_was_written_of() -> None:
    runtime = busy_office()
    snapshot = runtime.controller.snapshot()
    loaded = Controller.load(runtime.controller.settings, snapshot)
    assert contents(loaded.committed) == contents(runtime.controller.committed)
    assert loaded.snapshot() == snapshot and not loaded.is_active


def test_a_snapshot_plus_the_rest_of_the_log_is_the_log() -> None:
    runtime = busy_office()
    loaded = Controller.load(runtime.controller.settings, runtime.controller.snapshot())
    runtime.register(5)
    runtime.activate(1)
    for batch in runtime.log.read(loaded.committed.offset + 1):
        loaded.replay(batch)
    assert contents(loaded.committed) == contents(runtime.controller.committed)


def test_a_snapshot_holds_what_is_committed_only_and_one_record_of_each_thing() -> None:
    runtime = busy_office()
    runtime.commits = False
    before = runtime.controller.snapshot()
    runtime.call(BrokerRegistrationRequest(7, CLUSTER, incarnation(7, 1)))
    assert 7 in runtime.image.registrations and runtime.controller.snapshot() == before
    assert len(before.records) == 4 + 2 + 3 + 2


def test_a_copy_goes_its_own_way() -> None:
    runtime = busy_office()
    runtime.commits = False
    call = runtime.call(BrokerRegistrationRequest(7, CLUSTER, incarnation(7, 1)))
    copy = runtime.controller.copy()
    committed, speculative = contents(runtime.controller.committed), contents(runtime.image)
    assert (contents(copy.committed), contents(copy.speculative)) == (committed, speculative)
    sessions = dict(runtime.controller.sessions.of_broker)
    assert copy.sessions.of_broker == sessions
    replies = copy.on_commit(runtime.log.end_offset, runtime.now_ms)
    assert [reply.call for reply in replies if isinstance(reply, Reply)] == [call]
    copy.handle(1, DeleteTopicRequest(name="orders"), runtime.now_ms)
    assert "orders" in copy.committed.topic_ids
    copy.handle(2, BrokerRegistrationRequest(3, CLUSTER, incarnation(3, 2)), runtime.now_ms)
    assert (contents(runtime.controller.committed), contents(runtime.image)) == (committed, speculative)
    assert runtime.controller.sessions.of_broker == sessions != copy.sessions.of_broker
    assert call not in runtime.replies
    runtime.commit()
    assert call in runtime.replies


def test_a_standby_has_one_image_and_so_has_its_copy() -> None:
    standby = Controller(ControllerSettings(CLUSTER))
    for controller in (standby, standby.copy(), Controller.load(standby.settings, standby.snapshot())):
        controller.replay(Batch(0, 1, (NoOpRecord(),)))
        assert controller.speculative.offset == controller.committed.offset == 0
        assert not controller.has_valid_session(0, 0)
