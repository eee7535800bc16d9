"""impl.streams does what spec.streams does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`. Together these take every action of the spec.
"""

from __future__ import annotations

import pytest

from impl.adapters.streams import SYSTEM
from tests.conform.pinned import Pin, assert_can_be_sent, assert_conforms, cases

TWO = {"processes": 2}
PINS = [
    Pin("threads", "repaired", {"processes": 1}, 87, 64),
    Pin("probing", "repaired", TWO, 750, 412),
    Pin("probing", "shipped_2_6", TWO, 772, 426),
    Pin("leaving", "draft", TWO, 780, 424),
    Pin("leaving", "shipped_2_0", TWO, 895, 491),
    Pin("leaving", "shipped_2_4", TWO, 938, 495),
    Pin("expiry", "repaired", TWO, 5_047, 2_963),
    Pin("crash", "repaired", TWO, 5_436, 2_307),
    Pin("failover", "repaired", TWO, 2_848, 1_986),
    Pin("lost_reply", "repaired", TWO, 2_290, 1_090),
    Pin("two_bounces", "repaired", TWO, 403, 277),
    Pin("matrix", "pre_kip", TWO, 539, 315),
    Pin("matrix", "repaired", TWO, 1_963, 879),
    Pin("offline", "repaired", TWO, 107, 66),
    Pin("rollback", "repaired", TWO, 6_772, 3_042),
    Pin("rollback", "repaired", {"processes": 2, "tasks": 1}, 15_895, 7_297),
    Pin("three_versions", "repaired", TWO, 7_242, 3_200),
    Pin("beside_old", "repaired", {}, 7_351, 3_096),
    Pin("mixed_releases", "repaired", TWO, 871, 465),
    Pin("missing_topic", "repaired", {}, 1_651, 957),
    Pin("tasks", "repaired", {"max_expiries": 0}, 1_497, 860),
    Pin("tasks_leaving", "draft", TWO, 1_624, 948),
    Pin("tasks_leaving", "shipped_2_0", TWO, 2_268, 1_337),
    Pin("tasks_leaving", "shipped_2_3_1", TWO, 2_481, 1_426),
    Pin("tasks_leaving", "shipped_2_4", TWO, 2_813, 1_641),
]


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize("pin", cases(PINS, quick=100), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "streams")


@pytest.mark.long("the parallel exploration would fail, too")
def test_a_cluster_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("streams"), SYSTEM)
