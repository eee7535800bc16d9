"""Finalized feature levels (KIP-584). As in Kafka, a feature has one level, and its record's range that one alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.image import METADATA_VERSION, Image
from impl.kraft.levels import CHANGING_LEVELS
from impl.kraft.messages import UpdateFeatureRequest, UpdateFeatureResponse
from impl.kraft.records import FeatureLevelRecord, SupportedFeature


def supports(features: Iterable[SupportedFeature], name: str, lowest: int, highest: int) -> bool:
    """Software with these features works at all these levels of a feature."""
    return any(
        feature.name == name and feature.min_supported_version <= lowest and highest <= feature.max_supported_version
        for feature in features
    )


def supports_all(features: Iterable[SupportedFeature], finalized: Mapping[str, tuple[int, int]]) -> bool:
    """Software with these features works at the levels that the cluster is at."""
    return all(supports(features, name, lowest, highest) for name, (lowest, highest) in finalized.items())


def update_feature(image: Image, supported: tuple[SupportedFeature, ...], request: UpdateFeatureRequest) -> Decision:
    """Sets the level of a feature, if this controller and all nodes that are registered, fenced or not, support it."""
    level = request.max_feature_level
    _, current = image.features.get(request.name, (0, 0))
    if problem := problem_of(image, supported, request, current):
        return Decision(UpdateFeatureResponse(ErrorCode.INVALID_UPDATE_VERSION, problem))
    if level == current:
        return Decision(UpdateFeatureResponse(ErrorCode.NONE))
    record = FeatureLevelRecord(name=request.name, min_feature_level=level, max_feature_level=level)
    return Decision(UpdateFeatureResponse(ErrorCode.NONE), (record,))


def problem_of(
    image: Image, supported: tuple[SupportedFeature, ...], request: UpdateFeatureRequest, current: int
) -> str:
    """The reason why a feature cannot have a level; empty where it can."""
    name, level = request.name, request.max_feature_level
    if level < 0:
        return f"the level {level} of {name} is negative"
    if level < current and not request.allow_downgrade:
        return f"{name} is at level {current}: lowering it to {level} needs allow_downgrade"
    if level > current and request.allow_downgrade:
        return f"{name} is at level {current}: raising it to {level} is no downgrade"
    if name == METADATA_VERSION and any(level < changing <= current for changing in CHANGING_LEVELS):
        return f"{name} is at level {current}: at {level} some metadata may be lost"
    if level == 0 and name != METADATA_VERSION:
        return ""
    if not supports(supported, name, level, level):
        return f"the controller does not support level {level} of {name}"
    for broker_id, registration in sorted(image.registrations.items()):
        if not supports(registration.features, name, level, level):
            return f"broker {broker_id} does not support level {level} of {name}"
    for controller_id, controller in sorted(image.controllers.items()):
        if not supports(controller.features, name, level, level):
            return f"controller {controller_id} does not support level {level} of {name}"
    return ""
