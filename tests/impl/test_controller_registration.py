"""Registration and unregistering: who holds a broker id, at which epoch."""

from __future__ import annotations

from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerRegistrationRequest, UnregisterBrokerRequest, UpdateFeatureRequest
from impl.kraft.records import (
    NO_LEADER,
    Endpoint,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    SupportedFeature,
    UnregisterBrokerRecord,
)
from tests.impl.office import CLUSTER, TIMEOUT_MS, Office, incarnation


def test_a_new_incarnation_starts_fenced_at_the_offset_of_its_record() -> None:
    office = Office()
    response = office.register(7, rack="a")
    [record] = office.records()
    assert isinstance(record, RegisterBrokerRecord)
    assert response.broker_epoch == record.broker_epoch == office.appended[0].base_offset
    assert record.fenced and record.rack == "a" and not record.in_controlled_shutdown


def test_a_registration_tells_where_the_broker_is_reached() -> None:
    office = Office()
    listeners = (Endpoint("plain", "host", 9092, 0),)
    office.ask(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1), listeners=listeners))
    assert office.image.registrations[0].endpoints == listeners


def test_broker_epochs_rise_from_one_incarnation_to_the_next() -> None:
    office = Office()
    epochs = [office.register(0, life).broker_epoch for life in (1, 2, 3)]
    assert epochs == sorted(set(epochs))


def test_a_repeated_registration_gets_the_same_epoch_and_changes_nothing() -> None:
    office = Office()
    office.activate(0)
    epoch = office.image.registrations[0].broker_epoch
    assert office.register(0).broker_epoch == epoch
    assert not office.records()
    assert not office.image.registrations[0].fenced


def test_a_repeated_registration_renews_the_lease_and_keeps_what_was_reported() -> None:
    office = Office()
    office.activate(0, 1)
    office.heartbeat(0, offset=3)
    office.heartbeat(1, offset=3, want_shut_down=True)
    before = office.controller.sessions.of_broker[1]
    office.pass_time(TIMEOUT_MS - 1)
    office.register(1)
    after = office.controller.sessions.of_broker[1]
    assert (after.metadata_offset, after.shutdown_offset) == (before.metadata_offset, before.shutdown_offset)
    assert office.controller.has_valid_session(1, office.now_ms + TIMEOUT_MS - 1)
    assert not office.controller.has_valid_session(0, office.now_ms + 1)


def test_a_repeated_registration_at_a_new_controller_is_the_first_that_it_hears_of_the_broker() -> None:
    office = Office()
    epoch = office.register(0).broker_epoch
    office.fail_over()
    assert office.register(0).broker_epoch == epoch and not office.records()
    assert not office.heartbeat(0).is_fenced


def test_another_cluster_is_refused_before_all_else() -> None:
    office = Office()
    office.activate(0)
    assert office.register(0, 2, cluster_id="other").error is ErrorCode.INCONSISTENT_CLUSTER_ID


def test_the_id_of_a_live_session_is_refused() -> None:
    office = Office()
    office.activate(0)
    assert office.register(0, 2).error is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert office.image.registrations[0].incarnation_id == incarnation(0, 1)


def test_the_id_of_a_live_session_is_refused_whatever_the_other_one_supports() -> None:
    feature = SupportedFeature("metadata.version", 1, 3)
    office = Office(ControllerSettings(CLUSTER, supported_features=(feature,)))
    office.register(0, features=(feature,))
    office.heartbeat(0)
    office.ask(UpdateFeatureRequest("metadata.version", 3))
    assert office.register(0, 2).error is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_fenced_holder_does_not_block_its_id() -> None:
    office = Office()
    office.activate(0)
    office.heartbeat(0, want_fence=True)
    assert office.register(0, 2).error is ErrorCode.NONE


def test_over_a_lapsed_session_the_old_incarnation_goes_out_in_the_same_batch() -> None:
    office = Office()
    office.activate(0, 1)
    shared, alone = office.create((0, 1), name="shared"), office.create((0,), name="alone")
    office.now_ms += TIMEOUT_MS
    response = office.register(0, 2)
    [batch] = office.appended
    assert isinstance(batch.records[0], RegisterBrokerRecord) and response.broker_epoch == batch.base_offset
    assert all(isinstance(record, PartitionChangeRecord) for record in batch.records[1:])
    assert (office.partition(shared).isr, office.partition(shared).leader) == ((1,), 1)
    assert (office.partition(alone).isr, office.partition(alone).leader) == ((0,), NO_LEADER)


def test_feature_levels_that_the_cluster_is_at_are_needed() -> None:
    feature = SupportedFeature("metadata.version", 1, 3)
    office = Office(ControllerSettings(CLUSTER, supported_features=(feature,)))
    assert office.register(0, features=(feature,)).error is ErrorCode.NONE
    assert office.ask(UpdateFeatureRequest("metadata.version", 3)).error is ErrorCode.NONE
    assert office.register(1).error is ErrorCode.UNSUPPORTED_VERSION
    assert office.register(1, features=(SupportedFeature("metadata.version", 1, 2),)).error is not ErrorCode.NONE
    assert office.register(1, features=(SupportedFeature("metadata.version", 3, 4),)).error is ErrorCode.NONE
    assert office.register(0, features=()).error is ErrorCode.NONE, "the same incarnation, again"


def test_unregistering_a_live_broker_takes_it_out_first() -> None:
    office = Office()
    office.activate(0, 1)
    key = office.create((0, 1))
    assert office.ask(UnregisterBrokerRequest(0)).error is ErrorCode.NONE
    [change, last] = office.records()
    assert isinstance(change, PartitionChangeRecord) and isinstance(last, UnregisterBrokerRecord)
    assert 0 not in office.image.registrations and office.partition(key).isr == (1,)
    assert 0 not in office.controller.sessions.of_broker
    assert office.heartbeat(0, epoch=1).error is ErrorCode.STALE_BROKER_EPOCH
    office.pass_time(2 * TIMEOUT_MS)
    assert not [r for r in office.records() if isinstance(r, FenceBrokerRecord) and r.broker_id == 0]


def test_unregistering_an_unknown_broker_is_refused() -> None:
    assert Office().ask(UnregisterBrokerRequest(0)).error is ErrorCode.BROKER_ID_NOT_REGISTERED
