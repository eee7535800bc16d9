"""Levels of features on the wire: all updates of a request, or none; older clients; what ApiVersions tells."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.schema.update_features.v0 import request as first_request
from kio.schema.update_features.v1.response import UpdateFeaturesResponse as WireResponse

from impl.kraft.errors import ErrorCode
from impl.kraft.image import METADATA_VERSION, Image
from impl.kraft.levels import SUPPORTED
from impl.kraft.messages import ListPartitionReassignmentsResponse, UpdateFeatureRequest, UpdateFeatureResponse
from impl.kraft.server.admin_wire import read_parts, refused
from impl.kraft.server.controller_channel import UPDATE_FEATURES, upgraded
from impl.kraft.server.features_wire import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, features_told
from impl.kraft.server.parts import Parts
from impl.kraft.server.versions import api_versions, made, request_kind
from impl.runtime.entities import entity_bytes, read_entity
from tests.impl.kraft.server.admin_requests import levels


def parts_of(*updates: tuple[str, int, int], validate_only: bool = False) -> Parts:
    return read_parts(UPDATE_FEATURES, entity_bytes(levels(*updates, validate_only=validate_only)), Image())


def answer_of(parts: Parts, *responses: Any) -> tuple[int, str | None, list[str]]:
    """Error, message, and the features of which there are results."""
    found: Any = read_entity(WireResponse, parts.response_bytes(responses))
    return int(found.error_code), found.error_message, [one.feature for one in found.results]


@pytest.mark.parametrize("kind", [UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_a_level_is_asked_for(kind: int) -> None:
    parts = parts_of((METADATA_VERSION, 9, kind), validate_only=True)
    assert parts.requests == (UpdateFeatureRequest(METADATA_VERSION, 9, kind != UPGRADE, validate_only=True),)
    assert answer_of(parts, UpdateFeatureResponse(ErrorCode.NONE)) == (0, None, [METADATA_VERSION])
    assert answer_of(parts, UpdateFeatureResponse(ErrorCode.INVALID_UPDATE_VERSION, "no")) == (95, "no", [])


@pytest.mark.parametrize("wrong", [("other", 1, UPGRADE), (METADATA_VERSION, 9, 0), (METADATA_VERSION, 9, 4)])
def test_where_one_update_is_wrong_none_is_made(wrong: tuple[str, int, int]) -> None:
    for parts in (parts_of(wrong), parts_of((METADATA_VERSION, 9, UPGRADE), wrong)):
        assert not any(isinstance(one, UpdateFeatureRequest) for one in parts.requests)
        error, message, results = answer_of(parts, ListPartitionReassignmentsResponse(ErrorCode.NONE, ()))
        assert (error, results) == (95, []) and message is not None and wrong[0] in message
        assert answer_of(parts, ListPartitionReassignmentsResponse(ErrorCode.NOT_CONTROLLER, ()))[0] == 41


def test_of_two_updates_of_one_feature_the_last_counts() -> None:
    parts = parts_of((METADATA_VERSION, 9, UPGRADE), (METADATA_VERSION, 10, UPGRADE))
    assert parts.requests == (UpdateFeatureRequest(METADATA_VERSION, 10),)
    assert answer_of(parts, UpdateFeatureResponse(ErrorCode.NONE)) == (0, None, [METADATA_VERSION] * 2)


def test_who_may_not_is_told_so() -> None:
    answer: Any = read_entity(WireResponse, refused(parts_of((METADATA_VERSION, 9, UPGRADE)), ErrorCode(31)))
    assert int(answer.error_code) == 31


@pytest.mark.parametrize(("allowed", "kind"), [(True, SAFE_DOWNGRADE), (False, UPGRADE)])
def test_what_the_first_version_says_is_forwarded_in_the_next(allowed: bool, kind: int) -> None:
    update = first_request.FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=9, allow_downgrade=allowed)  # type: ignore[arg-type]
    old = first_request.UpdateFeaturesRequest(feature_updates=(update,))
    new = made(request_kind(UPDATE_FEATURES, 1), upgraded(UPDATE_FEATURES, 1, old))
    assert [(one.feature, one.max_version_level, one.upgrade_type) for one in new.feature_updates] == [
        (METADATA_VERSION, 9, kind)
    ]  # fmt: skip
    assert not new.validate_only


def test_api_versions_tell_what_is_supported_and_finalized() -> None:
    told = api_versions(3, {}, features_told(SUPPORTED, {METADATA_VERSION: (8, 8)}, 70))
    found: Any = read_entity(ApiVersionsResponse, told)
    assert [(one.name, one.min_version, one.max_version) for one in found.supported_features] == [
        (METADATA_VERSION, 7, 19)
    ]  # fmt: skip
    assert [(one.name, one.max_version_level) for one in found.finalized_features] == [(METADATA_VERSION, 8)]
    assert found.finalized_features_epoch == 70
