"""Kafka's controllers that closed models come to are among those that brokers bring about which ask at will."""

from __future__ import annotations

import pytest

from impl.adapters.apache_kafka.system import ApacheCore
from tests.conform.controllers_met import met
from tests.impl.apache.jars import skip_without

VERSION, SETTING = "4.3.1", "kafka_4_3_controller"
CLOSED = [
    ("membership", {}, 9, 11),
    ("zombie", {}, 6, 19),
    ("late", {}, 6, 11),
    ("lossy", {"max_disk_losses": "0"}, 6, 13),
    ("twins_spurious", {}, 6, 13),
]
"""Models, how deep they are driven, and how many controllers they come to there at least."""


@pytest.mark.long("a JVM, and thousands of steps in it")
@pytest.mark.xdist_group("apache")
def test_closed_models_come_to_no_other_controller() -> None:
    """All objects of a controller, of those that begin with a log, and of those that have written it."""
    skip_without(VERSION)
    core = ApacheCore(VERSION)
    at_will = met(core, "open", {}, setting=SETTING)
    for model, changes, depth, least in CLOSED:
        closed = met(core, model, changes, depth, SETTING)
        assert len(closed) >= least, model
        assert closed <= at_will, model
