"""The releases of Kafka Streams: which metadata versions each supports, how it behaves, which upgrade.from it takes."""

from __future__ import annotations

from dataclasses import dataclass

from impl.streams.codec import Format
from impl.streams.design import (
    PRE_KIP,
    PRE_KIP_FIXED,
    REPAIRED,
    SHIPPED_2_0,
    SHIPPED_2_3_1,
    SHIPPED_2_4,
    SHIPPED_2_6,
    SHIPPED_2_6_0,
    Design,
)

FIRST_PROBING = 3
"""The first version whose senders can be told to step back."""

STANDS_FOR = {"0.10.0": 1, "0.10.1": 2, "0.10.2": 2, "0.11.0": 2, "1.0": 2, "1.1": 2}
"""The version that a value of upgrade.from stands for."""
_OF_BACK_PORTS = ("0.10.0",)
_OF_KIP_268 = tuple(STANDS_FOR)
_OF_KIP_429 = (*_OF_KIP_268, "2.0", "2.1", "2.2", "2.3")
"""From 2.4 on: the last ones change the rebalance protocol, which is eager here, and not the metadata version."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release, as members are made of it. upgrade_from: the values that it takes besides none at all."""

    name: str
    form: Format
    design: Design
    upgrade_from: tuple[str, ...] = ()

    @property
    def latest(self) -> int:
        """The newest metadata version that it supports."""
        return self.form.latest

    @property
    def probes(self) -> bool:
        """It knows of probing, as the sender of a version and as the leader."""
        return self.latest >= FIRST_PROBING


def _rows() -> list[Release]:
    rows = [Release("0.10.0", Format(1), PRE_KIP), Release("0.10.1", Format(2), PRE_KIP)]
    for line, fixed in (("0.10.1", "2"), ("0.10.2", "2"), ("0.11.0", "3"), ("1.0", "2"), ("1.1", "1")):
        if line != "0.10.1":
            rows.append(Release(f"{line}.{int(fixed) - 1}", Format(2), PRE_KIP))
        rows.append(Release(f"{line}.{fixed}", Format(2, has_tail=True), PRE_KIP_FIXED, _OF_BACK_PORTS))
    rows += [Release("2.0", Format(3), SHIPPED_2_0, _OF_KIP_268)]
    rows += [Release(name, Format(4), SHIPPED_2_0, _OF_KIP_268) for name in ("2.1", "2.2", "2.3.0")]
    rows += [Release(name, Format(4), SHIPPED_2_3_1, _OF_KIP_268) for name in ("2.2.2", "2.3.1")]
    rows += [Release("2.4", Format(5), SHIPPED_2_4, _OF_KIP_429), Release("2.5", Format(6), SHIPPED_2_4, _OF_KIP_429)]
    rows += [Release("2.6.0", Format(7), SHIPPED_2_6_0, _OF_KIP_429)]
    for names, latest in ((("2.6.1", "2.7"), 8), (("2.8",), 9), (("3.0", "3.1"), 10)):
        rows += [Release(name, Format(latest), SHIPPED_2_6, _OF_KIP_429) for name in names]
    rows += [Release(f"3.{minor}", Format(11), SHIPPED_2_6, _OF_KIP_429) for minor in range(2, 10)]
    rows += [Release("simulated", Format(4, is_simulated=True), REPAIRED, _OF_KIP_268)]
    return [*rows, Release("repaired", Format(11), REPAIRED, _OF_KIP_429)]


RELEASES = {row.name: row for row in _rows()}
"""By name. X.Y: all of the line where they do not differ; 0.10.1.2 was committed, and never released.

`simulated` is the document's post-1.2, version 3 with 4 written where the version stands. `repaired` is the design that
loses nothing, with the formats of 3.9.
"""
_NOT_KAFKA = ("simulated", "repaired")


def writers(version: int) -> list[str]:
    """The releases of Kafka whose newest version this is."""
    return [row.name for row in RELEASES.values() if row.latest == version and row.name not in _NOT_KAFKA]
