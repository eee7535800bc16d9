"""impl.kraft.raft does what spec/kraft/raft does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`. Together these take every action of the models of raft.
"""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import load
from impl.adapters.raft import SYSTEM
from tests.conform.pinned import Pin, assert_can_be_sent, assert_conforms, cases

PINS = [
    Pin("raft", None, {"pending_batches": 1, "max_epoch": 1}, 5_739, 2_321),
    Pin("raft_torn", None, {"max_epoch": 3}, 3_835, 1_177),
    Pin("raft_snapshot", None, {"pending_batches": 1, "max_snapshots": 1}, 13_104, 5_189),
    Pin("raft_snapshot_torn", None, {"max_epoch": 3, "max_snapshots": 1}, 1_977, 656),
    Pin("raft_snapshot_crash", None, {"max_epoch": 1}, 428, 196),
]
LARGER = ("raft", "raft_crash", "raft_candidate", "raft_snapshot_epochs")


@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize("pin", cases(PINS, quick=1), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "kraft")


@pytest.mark.parametrize(
    "name", ["raft_torn", *(pytest.param(name, marks=pytest.mark.long("a kernel each")) for name in LARGER)]
)
def test_the_first_steps_conform(name: str) -> None:
    report = conform(load(f"kraft/{name}"), SYSTEM, "raft", ConformOptions(jobs=1, max_depth=3))
    assert report.divergence is None and report.verdict == "incomplete"


def test_what_it_cannot_be_driven_through_is_reported() -> None:
    with pytest.raises(SpecError, match="no switch for restart_resigns"):
        conform(load("kraft/raft_crash", {"restart_resigns": "false"}), SYSTEM, "raft", ConformOptions())


def test_a_quorum_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("kraft"), SYSTEM)
