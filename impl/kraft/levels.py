"""The levels of metadata.version that this software supports, as Kafka names them (MetadataVersion)."""

from __future__ import annotations

from collections.abc import Mapping

from impl.kraft.image import METADATA_VERSION
from impl.kraft.records import SupportedFeature

RELEASES: Mapping[str, int] = {
    "3.3-IV3": 7, "3.4-IV0": 8, "3.5-IV0": 9, "3.5-IV1": 10, "3.5-IV2": 11, "3.6-IV0": 12, "3.6-IV1": 13,
    "3.6-IV2": 14, "3.7-IV0": 15, "3.7-IV1": 16, "3.7-IV2": 17, "3.7-IV3": 18, "3.7-IV4": 19,
}  # fmt: skip

SUPPORTED = (SupportedFeature(METADATA_VERSION, min(RELEASES.values()), max(RELEASES.values())),)

CHANGING_LEVELS = frozenset((8, 11, 13, 14, 15, 17))
"""From each of these on there may be metadata that a lower one has not: brokers that migrate, SCRAM users, tokens,
controllers, directories."""
