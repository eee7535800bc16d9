"""The releases of the document's test matrix, and the metadata versions that they support."""

from __future__ import annotations

from enum import Enum


class Release(Enum):
    """A release of Kafka Streams, as rows and columns of the test matrix name it."""

    NONE = "none"
    R0_10_0 = "0.10.0"
    R0_10_1 = "0.10.1"
    R0_10_2 = "0.10.2"
    R0_11_0 = "0.11.0"
    R1_0 = "1.0"
    R1_1 = "1.1"
    R1_2 = "1.2"  # came out as 2.0.0
    POST_1_2 = "post-1.2"
    LATER = "later"  # one version more


class Behaviour(Enum):
    """How a member behaves: by the switches, or as a release. The last two say which member behaves how."""

    AS_SET = "AS_SET"
    SHIPPED_2_0 = "SHIPPED_2_0"
    SHIPPED_2_4 = "SHIPPED_2_4"
    SHIPPED_2_6 = "SHIPPED_2_6"
    ALL_FIXED = "ALL_FIXED"  # all come from 2.0; process 0 goes to a 2.4, process 1 to a 2.6, the others are as set
    ONE_UNFIXED = "ONE_UNFIXED"  # all come from 2.0; process 0 goes to a 2.1, process 1 to a 2.4, the others are as set


def version_of(release: Release) -> int:
    """The newest metadata version that a release supports."""
    if release == Release.R0_10_0:
        return 1
    if release == Release.R1_2:
        return 3
    if release == Release.POST_1_2:
        return 4
    if release == Release.LATER:
        return 5
    return 2
