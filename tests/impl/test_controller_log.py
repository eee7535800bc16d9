"""What is speculative and what is committed: deferred replies, claim, renounce, standbys, snapshots, copies."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.controller import NO_OP_TIMER, Controller, ControllerSettings, lease_timer
from impl.kraft.effects import Append, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterConfigRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    Request,
    UnregisterBrokerRequest,
    UpdateFeatureRequest,
)
from impl.kraft.records import Batch, NoOpRecord
from tests.impl.office import CLUSTER, TIMEOUT_MS, Office, incarnation

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
    AlterConfigRequest(2, "orders", "a", "1"),
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
    office = Office(commits=False)
    office.commit()
    call = office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    assert call not in office.replies
    assert 0 in office.image.registrations and 0 not in office.controller.committed.registrations
    office.commit()
    assert office.replies[call].error is ErrorCode.NONE and 0 in office.controller.committed.registrations


def test_errors_and_replies_without_records_wait_for_what_was_appended_before() -> None:
    office = Office(commits=False)
    office.commit()
    first = office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    end_of_first = office.log.end_offset
    refused = office.call(BrokerHeartbeatRequest(0, 99, 0, True, False))
    second = office.call(BrokerRegistrationRequest(1, CLUSTER, incarnation(1, 1)))
    assert not office.replies
    office.commit(end_of_first)
    assert set(office.replies) == {first, refused}
    office.commit()
    assert set(office.replies) == {first, refused, second}


def test_what_only_reads_is_answered_at_once_from_what_is_committed() -> None:
    """So no listing shows what a failover may lose."""
    office = Office(commits=False)
    office.commit()
    listed = office.ask(ListPartitionReassignmentsRequest())
    office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    epoch = office.image.registrations[0].broker_epoch
    office.call(BrokerHeartbeatRequest(0, epoch, epoch, False, False))
    office.call(CreateTopicRequest("orders", UUID(int=7), assignments=((0,),)))
    office.commit()
    office.call(BrokerRegistrationRequest(1, CLUSTER, incarnation(1, 1)))
    office.call(AlterPartitionReassignmentRequest("orders", 0, (1,)))
    assert office.image.reassigning
    assert office.ask(ListPartitionReassignmentsRequest()) == listed
    office.commit()
    assert office.ask(ListPartitionReassignmentsRequest()) != listed


def test_with_nothing_under_way_a_reply_leaves_at_once() -> None:
    office = Office(commits=False)
    office.commit()
    assert office.ask(UnregisterBrokerRequest(0)).error is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_batch_that_is_committed_in_part_is_not_committed() -> None:
    office = Office(commits=False)
    office.commit()
    office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    office.call(
        BrokerHeartbeatRequest(0, office.image.registrations[0].broker_epoch, office.image.offset, False, False)
    )
    call = office.call(CreateTopicRequest("orders", UUID(int=1)))
    assert len(office.appended[0].records) == 2
    office.commit(office.log.end_offset - 1)
    assert call not in office.replies and not office.controller.committed.topics


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


def test_leases_start_anew_with_a_new_controller() -> None:
    office = Office()
    office.activate(0, 1)
    office.heartbeat(1, want_fence=True)
    office.now_ms += TIMEOUT_MS - 1
    office.fail_over()
    assert office.timers[lease_timer(0)] == office.now_ms + TIMEOUT_MS and lease_timer(1) not in office.timers
    office.pass_time(TIMEOUT_MS - 1)
    assert not office.image.registrations[0].fenced
    office.pass_time(1)
    assert office.image.registrations[0].fenced, "though nobody ever sent anything"


def test_to_renounce_reverts_what_is_not_committed_and_refuses_who_waits() -> None:
    office = Office()
    office.activate(0)
    office.commits = False
    before = contents(office.image)
    kept = office.log.end_offset
    calls = [office.call(request) for request in reversed(ANYTHING[:3])]
    assert contents(office.image) != before
    controller = office.controller
    office.perform(controller.renounce(office.now_ms))
    assert [office.replies[call].error for call in calls] == [ErrorCode.NOT_CONTROLLER] * 3
    assert not controller.is_active and contents(controller.speculative) == before
    assert not controller.sessions.of_broker
    office.log.truncate(kept)
    controller.replay(Batch(kept, 9, (NoOpRecord(),)))


def test_what_survived_a_failover_is_replayed_and_not_answered() -> None:
    office = Office()
    office.commits = False
    call = office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    office.fail_over()
    assert office.replies[call].error is ErrorCode.NOT_CONTROLLER
    office.commit()
    assert office.controller.committed.registrations[0].incarnation_id == incarnation(0, 1)
    assert list(office.replies) == [call]


def test_claims_that_cannot_be() -> None:
    office = Office()
    with pytest.raises(ValueError, match="cannot be claimed"):
        office.controller.claim(2, 0)
    with pytest.raises(ValueError, match="replays no batch"):
        office.controller.replay(Batch(office.log.end_offset, 2, (NoOpRecord(),)))
    office.controller.renounce(0)
    with pytest.raises(ValueError, match="epoch 0 cannot be claimed"):
        office.controller.claim(0, 0)


def test_the_log_grows_while_nothing_happens() -> None:
    office = Office()
    end = office.log.end_offset
    office.pass_time(5000)
    assert office.log.end_offset == end + 10
    with pytest.raises(ValueError, match="no timer"):
        office.controller.on_timer(("tea",), 0)


def test_a_session_is_valid_of_who_is_registered_unfenced_and_heard_of() -> None:
    office = Office(commits=False)
    controller = office.controller
    office.call(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1)))
    assert not controller.has_valid_session(0, 0), "it is fenced"
    epoch = office.image.registrations[0].broker_epoch
    office.call(BrokerHeartbeatRequest(0, epoch, epoch, False, False))
    assert controller.has_valid_session(0, 0), "committed or not"
    office.commit()
    controller.renounce(0)
    assert not controller.has_valid_session(0, 0), "a standby hears of nobody"


# Snapshots and copies.


def busy_office() -> Office:
    """Of everything something."""
    office = Office()
    office.activate(0, 1, 2, racks={0: "a"})
    office.create((0, 1, 2), (1, 2, 0))
    office.create((0,), name="alone")
    office.ask(AlterConfigRequest(2, "orders", "retention.ms", "5"))
    office.ask(AlterConfigRequest(4, "", "a", "1"))
    office.ask(AlterPartitionReassignmentRequest("orders", 0, (0, 1)))
    office.register(3)
    office.ask(AlterPartitionReassignmentRequest("orders", 1, (3, 1)))
    office.heartbeat(0, want_fence=True)
    office.heartbeat(2, want_shut_down=True)
    office.now_ms += TIMEOUT_MS
    office.register(1, 2)
    return office


def test_a_snapshot_gives_the_image_that_it_was_written_of() -> None:
    office = busy_office()
    snapshot = office.controller.snapshot()
    loaded = Controller.load(office.controller.settings, snapshot)
    assert contents(loaded.committed) == contents(office.controller.committed)
    assert loaded.snapshot() == snapshot and not loaded.is_active


def test_a_snapshot_plus_the_rest_of_the_log_is_the_log() -> None:
    office = busy_office()
    loaded = Controller.load(office.controller.settings, office.controller.snapshot())
    office.register(5)
    office.activate(1)
    for batch in office.log.read(loaded.committed.offset + 1):
        loaded.replay(batch)
    assert contents(loaded.committed) == contents(office.controller.committed)


def test_a_snapshot_holds_what_is_committed_only_and_one_record_of_each_thing() -> None:
    office = busy_office()
    office.commits = False
    before = office.controller.snapshot()
    office.call(BrokerRegistrationRequest(7, CLUSTER, incarnation(7, 1)))
    assert 7 in office.image.registrations and office.controller.snapshot() == before
    assert len(before.records) == 4 + 2 + 3 + 2


def test_a_copy_goes_its_own_way() -> None:
    office = busy_office()
    office.commits = False
    call = office.call(BrokerRegistrationRequest(7, CLUSTER, incarnation(7, 1)))
    copy = office.controller.copy()
    committed, speculative = contents(office.controller.committed), contents(office.image)
    assert (contents(copy.committed), contents(copy.speculative)) == (committed, speculative)
    sessions = dict(office.controller.sessions.of_broker)
    assert copy.sessions.of_broker == sessions
    replies = copy.on_commit(office.log.end_offset, office.now_ms)
    assert [reply.call for reply in replies if isinstance(reply, Reply)] == [call]
    copy.handle(1, DeleteTopicRequest(name="orders"), office.now_ms)
    assert "orders" in copy.committed.topic_ids
    copy.handle(2, BrokerRegistrationRequest(3, CLUSTER, incarnation(3, 2)), office.now_ms)
    assert (contents(office.controller.committed), contents(office.image)) == (committed, speculative)
    assert office.controller.sessions.of_broker == sessions != copy.sessions.of_broker
    assert call not in office.replies
    office.commit()
    assert call in office.replies


def test_a_standby_has_one_image_and_so_has_its_copy() -> None:
    standby = Controller(ControllerSettings(CLUSTER))
    for controller in (standby, standby.copy(), Controller.load(standby.settings, standby.snapshot())):
        controller.replay(Batch(0, 1, (NoOpRecord(),)))
        assert controller.speculative.offset == controller.committed.offset == 0
        assert not controller.has_valid_session(0, 0)
