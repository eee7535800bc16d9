"""Levels of features, by kio's schemas: UpdateFeatures as a request of the core, and what ApiVersions tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kio.schema.update_features.v1 import response as update_response

from impl.kraft.errors import ErrorCode
from impl.kraft.image import METADATA_VERSION
from impl.kraft.messages import ListPartitionReassignmentsRequest, UpdateFeatureRequest
from impl.kraft.records import SupportedFeature
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Parts

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def update_features(entity: Any) -> Parts:
    """All or nothing, as in Kafka (FeatureControlManager.updateFeatures): where one update is wrong, none is made.

    There is one feature, so that of updates of different ones some are wrong; of several of one the last counts.
    That a downgrade would lose metadata is never passed over, as by Kafka, whose unsafe downgrades do no more.
    """
    updates = {one.feature: one for one in entity.feature_updates}
    problem = next(filter(None, map(problem_of, updates.values())), "")
    asked = () if problem else tuple(
        UpdateFeatureRequest(
            name, int(one.max_version_level), int(one.upgrade_type) != UPGRADE, entity.validate_only
        )
        for name, one in updates.items()
    )  # fmt: skip

    def updated(responses: Sequence[Any]) -> Any:
        given = [(one.error, one.message) for one in responses if hasattr(one, "message")]
        standby = [(one.error, "") for one in responses if one.error is ErrorCode.NOT_CONTROLLER]
        wrong = [(ErrorCode.INVALID_UPDATE_VERSION, problem)] if problem else []
        errors = [one for one in (*standby, *wrong, *given) if one[0] is not ErrorCode.NONE]
        error, message = errors[0] if errors else (ErrorCode.NONE, "")
        return update_response.UpdateFeaturesResponse(
            throttle_time=NO_TIME, error_code=wire_code(error), error_message=message or None,
            results=() if errors else tuple(
                update_response.UpdatableFeatureResult(
                    feature=one.feature, error_code=wire_code(ErrorCode.NONE), error_message=None
                )
                for one in entity.feature_updates
            ),
        )  # fmt: skip

    return Parts(asked or (ListPartitionReassignmentsRequest(()),), updated)


def problem_of(update: Any) -> str:
    """The reason why an update is refused whatever level the feature has; empty where it is not."""
    if update.feature != METADATA_VERSION:
        return f"{update.feature}: there is no such feature"
    if int(update.upgrade_type) not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{update.feature}: there is no update of type {int(update.upgrade_type)}"
    return ""


def features_told(supported: Sequence[SupportedFeature], finalized: Mapping[str, tuple[int, int]], epoch: int) -> Any:
    """Those fields of ApiVersions. epoch: grows with each change of what is finalized."""
    return {
        "supported_features": [
            {"name": one.name, "min_version": one.min_supported_version, "max_version": one.max_supported_version}
            for one in supported
        ],
        "finalized_features_epoch": epoch,
        "finalized_features": [
            {"name": name, "min_version_level": least, "max_version_level": most}
            for name, (least, most) in sorted(finalized.items())
        ],
    }
