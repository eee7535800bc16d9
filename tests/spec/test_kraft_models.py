"""The models of KIP-631 close with the pinned counts and hold; a switch that is off breaks what is pinned."""

from __future__ import annotations

import time

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, Pin, read_pins
from tests.spec.pinned import assert_as_pinned, explored


@pytest.mark.sample(1, verify=40)
@pytest.mark.pins("kraft/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("kraft", pin)


@pytest.mark.long("a model is searched twice")
@pytest.mark.parametrize("threads", [1, 7])
def test_threads_change_nothing(threads: int) -> None:
    """Counts, coverage and the counterexample are the same for any number of shards."""
    two, other = explored("kraft/twins_spurious", 2).to_json(), explored("kraft/twins_spurious", threads).to_json()
    for machine_dependent in ("seconds", "peak_memory_bytes", "threads"):
        two.pop(machine_dependent)
        other.pop(machine_dependent)
    assert two == other


@pytest.mark.long("a model is searched twice")
@pytest.mark.parametrize("threads", [1, 7])
def test_threads_find_the_same_counterexample(threads: int) -> None:
    model = load("kraft/lossy", {"kafka_13173": "false"})
    found = [check(model, CheckOptions(threads=n), started=time.perf_counter()).traces for n in (2, threads)]
    assert found[0] == found[1]


NO_GUARDS = {
    "repeated_registration_is_known",
    "registration_keeps_report",
    "failover_knows_shutdowns",
    "fences_once",
    "finds_uncommitted_topics",
    "removed_keep_order",
    "own_image_ends_start",
    "snapshot_keeps_offsets",
}
"""Off, a broker is unfenced, shuts down or recovers later, replicas are sorted, a batch is written that changes
nothing, or a topic cannot be deleted yet, and nothing breaks: Kafka has it so."""


def test_every_switch_is_pinned_off() -> None:
    """No switch of the design is without a model that finds the bug when it is off, but where it guards nothing."""
    broken = {name for p in read_pins(ROOT / "tests" / "pins.toml") if "violated" in p.expected for name in p.changes}
    switches = {n for n, v in load("kraft").constants.items() if isinstance(v, bool)}
    assert switches - broken == NO_GUARDS
    assert load_spec("kraft").models[0].name == "membership"
