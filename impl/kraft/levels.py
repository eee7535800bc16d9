"""The levels of metadata.version that this software supports, as Kafka names them (MetadataVersion)."""

from __future__ import annotations

from collections.abc import Mapping

from impl.kraft.image import METADATA_VERSION
from impl.kraft.records import SupportedFeature

RELEASES: Mapping[str, int] = {
    "3.3-IV3": 7, "3.4-IV0": 8, "3.5-IV0": 9, "3.5-IV1": 10, "3.5-IV2": 11, "3.6-IV0": 12, "3.6-IV1": 13,
    "3.6-IV2": 14,
}  # fmt: skip
"""From 17 on (3.7-IV2) replicas have directories, which the cores have not."""

SUPPORTED = (SupportedFeature(METADATA_VERSION, min(RELEASES.values()), max(RELEASES.values())),)

CHANGING_LEVELS = frozenset((8, 11, 13, 14))
"""From each of these on there may be metadata that a lower one has not: brokers that migrate, SCRAM users, tokens."""
