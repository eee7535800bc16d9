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
from tests.impl.controller_runtime import CLUSTER, TIMEOUT_MS, ControllerRuntime, incarnation


def test_a_new_incarnation_starts_fenced_at_the_offset_of_its_record() -> None:
    runtime = ControllerRuntime()
    response = runtime.register(7, rack="a")
    [record] = runtime.records()
    assert isinstance(record, RegisterBrokerRecord)
    assert response.broker_epoch == record.broker_epoch == runtime.appended[0].base_offset
    assert record.fenced and record.rack == "a" and not record.in_controlled_shutdown


def test_a_registration_tells_where_the_broker_is_reached() -> None:
    runtime = ControllerRuntime()
    listeners = (Endpoint("plain", "host", 9092, 0),)
    runtime.ask(BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 1), listeners=listeners))
    assert runtime.image.registrations[0].endpoints == listeners


def test_broker_epochs_rise_from_one_incarnation_to_the_next() -> None:
    runtime = ControllerRuntime()
    epochs = [runtime.register(0, life).broker_epoch for life in (1, 2, 3)]
    assert epochs == sorted(set(epochs))


def test_a_repeated_registration_gets_the_same_epoch_and_changes_nothing() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    epoch = runtime.image.registrations[0].broker_epoch
    assert runtime.register(0).broker_epoch == epoch
    assert not runtime.records()
    assert not runtime.image.registrations[0].fenced


def test_a_repeated_registration_renews_the_lease_and_keeps_what_was_reported() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    runtime.heartbeat(0, offset=3)
    runtime.heartbeat(1, offset=3, want_shut_down=True)
    before = runtime.controller.sessions.of_broker[1]
    runtime.pass_time(TIMEOUT_MS - 1)
    runtime.register(1)
    after = runtime.controller.sessions.of_broker[1]
    assert (after.metadata_offset, after.shutdown_offset) == (before.metadata_offset, before.shutdown_offset)
    assert runtime.controller.has_valid_session(1, runtime.now_ms + TIMEOUT_MS - 1)
    assert not runtime.controller.has_valid_session(0, runtime.now_ms + 1)


def test_a_repeated_registration_at_a_new_controller_is_the_first_that_it_hears_of_the_broker() -> None:
    runtime = ControllerRuntime()
    epoch = runtime.register(0).broker_epoch
    runtime.fail_over()
    assert runtime.register(0).broker_epoch == epoch and not runtime.records()
    assert not runtime.heartbeat(0).is_fenced


def test_another_cluster_is_refused_before_all_else() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    assert runtime.register(0, 2, cluster_id="other").error is ErrorCode.INCONSISTENT_CLUSTER_ID


def test_the_id_of_a_live_session_is_refused() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    assert runtime.register(0, 2).error is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert runtime.image.registrations[0].incarnation_id == incarnation(0, 1)


def test_the_id_of_a_live_session_is_refused_whatever_the_other_one_supports() -> None:
    feature = SupportedFeature("metadata.version", 1, 3)
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, supported_features=(feature,)))
    runtime.register(0, features=(feature,))
    runtime.heartbeat(0)
    runtime.ask(UpdateFeatureRequest("metadata.version", 3))
    assert runtime.register(0, 2).error is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_fenced_holder_does_not_block_its_id() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.heartbeat(0, want_fence=True)
    assert runtime.register(0, 2).error is ErrorCode.NONE


def test_over_a_lapsed_session_the_old_incarnation_goes_out_in_the_same_batch() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    shared, alone = runtime.create((0, 1), name="shared"), runtime.create((0,), name="alone")
    runtime.now_ms += TIMEOUT_MS
    response = runtime.register(0, 2)
    [batch] = runtime.appended
    assert isinstance(batch.records[0], RegisterBrokerRecord) and response.broker_epoch == batch.base_offset
    assert all(isinstance(record, PartitionChangeRecord) for record in batch.records[1:])
    assert (runtime.partition(shared).isr, runtime.partition(shared).leader) == ((1,), 1)
    assert (runtime.partition(alone).isr, runtime.partition(alone).leader) == ((0,), NO_LEADER)


def test_feature_levels_that_the_cluster_is_at_are_needed() -> None:
    feature = SupportedFeature("metadata.version", 1, 3)
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, supported_features=(feature,)))
    assert runtime.register(0, features=(feature,)).error is ErrorCode.NONE
    assert runtime.ask(UpdateFeatureRequest("metadata.version", 3)).error is ErrorCode.NONE
    assert runtime.register(1).error is ErrorCode.UNSUPPORTED_VERSION
    assert runtime.register(1, features=(SupportedFeature("metadata.version", 1, 2),)).error is not ErrorCode.NONE
    assert runtime.register(1, features=(SupportedFeature("metadata.version", 3, 4),)).error is ErrorCode.NONE
    assert runtime.register(0, features=()).error is ErrorCode.NONE, "the same incarnation, again"


def test_unregistering_a_live_broker_takes_it_out_first() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    key = runtime.create((0, 1))
    assert runtime.ask(UnregisterBrokerRequest(0)).error is ErrorCode.NONE
    [change, last] = runtime.records()
    assert isinstance(change, PartitionChangeRecord) and isinstance(last, UnregisterBrokerRecord)
    assert 0 not in runtime.image.registrations and runtime.partition(key).isr == (1,)
    assert 0 not in runtime.controller.sessions.of_broker
    assert runtime.heartbeat(0, epoch=1).error is ErrorCode.STALE_BROKER_EPOCH
    runtime.pass_time(2 * TIMEOUT_MS)
    assert not [r for r in runtime.records() if isinstance(r, FenceBrokerRecord) and r.broker_id == 0]


def test_unregistering_an_unknown_broker_is_refused() -> None:
    assert ControllerRuntime().ask(UnregisterBrokerRequest(0)).error is ErrorCode.BROKER_ID_NOT_REGISTERED
