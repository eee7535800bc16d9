"""Controllers that register (KIP-919), and what their levels of features count for."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import ControllerRegistrationRequest, UpdateFeatureRequest
from impl.kraft.records import Endpoint, FeatureLevelRecord, RegisterControllerRecord, SupportedFeature
from impl.kraft.snapshot import load_snapshot, write_snapshot
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime

LISTENERS = (Endpoint("CONTROLLER", "host", 9093, 0),)


def runtime_at(level: int) -> ControllerRuntime:
    bootstrap = (FeatureLevelRecord("metadata.version", level, level),)
    supported = (SupportedFeature("metadata.version", 7, 19),)
    return ControllerRuntime(ControllerSettings(CLUSTER, bootstrap=bootstrap, supported_features=supported))


def registration(highest: int, life: int = 1) -> ControllerRegistrationRequest:
    features = (SupportedFeature("metadata.version", 7, highest),)
    return ControllerRegistrationRequest(3, UUID(int=life), LISTENERS, features)


def test_a_controller_is_known_as_it_last_started() -> None:
    runtime = runtime_at(15)
    for life in (1, 2):
        assert runtime.ask(registration(19, life)).error is ErrorCode.NONE
        (record,) = runtime.records()
        assert record == RegisterControllerRecord(
            3, UUID(int=life), LISTENERS, (SupportedFeature("metadata.version", 7, 19),)
        )
    assert runtime.ask(registration(19, 2)).error is ErrorCode.NONE and runtime.records() == []
    assert runtime.image.controllers[3].incarnation_id == UUID(int=2)
    assert load_snapshot(write_snapshot(runtime.image)).controllers == runtime.image.controllers


def test_below_the_level_no_controller_registers() -> None:
    runtime = runtime_at(14)
    assert runtime.ask(registration(19)).error is ErrorCode.UNSUPPORTED_VERSION
    assert runtime.image.controllers == {}


def test_no_level_is_set_that_a_controller_does_not_support() -> None:
    runtime = runtime_at(15)
    runtime.ask(registration(17))
    refused = runtime.ask(UpdateFeatureRequest("metadata.version", 18))
    assert refused.error is ErrorCode.INVALID_UPDATE_VERSION
    assert "controller 3 does not support level 18" in refused.message  # type: ignore[union-attr]
    assert runtime.ask(UpdateFeatureRequest("metadata.version", 17)).error is ErrorCode.NONE
