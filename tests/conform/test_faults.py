"""Every fault that conformance has to find has its place: what it changes stands in its function once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.conform.faults import group_faults, heartbeat_faults, kraft_faults, pinning_faults, streams_faults
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import Patching

FAULTS: dict[str, Sequence[Fault]] = {
    "group": group_faults.FAULTS,
    "heartbeat": [*heartbeat_faults.FAULTS, *heartbeat_faults.SURVIVORS],
    "kraft": [*kraft_faults.FAULTS, *kraft_faults.SCALE],
    "pinning": pinning_faults.FAULTS,
    "streams": streams_faults.FAULTS,
}


@pytest.mark.parametrize("design", FAULTS)
def test_every_fault_has_its_place(design: str) -> None:
    for fault in FAULTS[design]:
        Patching(fault.function, fault.old, fault.new, design).changed()


def test_a_fault_without_a_place_is_noticed() -> None:
    with pytest.raises(ValueError, match="0 of the fragment"):
        Patching("Elector.pull", "nobody.abstains", "True", "pinning").changed()
