"""The models of KIP-268 close with the pinned counts and hold; a switch that is off breaks one."""

from __future__ import annotations

import pytest

from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, Pin, read_pins
from tests.spec.pinned import assert_as_pinned

PROCEDURE = {"rolls_in_turn", "first_roll_ends", "waits_for_stable", "offline"}
"""What the operator does."""

COVERED = {"own_bound", "unique_field", "leader_rises_at_once", "lists_what_is_given", "thread_keeps_its_own"}
"""Guards that break nothing alone: no minimum is above what a member supports (own_bound); who rejoins only on a change
has changed its subscription (unique_field); the leader is one of those that rise (leader_rises_at_once); a probe that
moves no tasks lists what it gives, and leaves each thread its own (lists_what_is_given, thread_keeps_its_own)."""


@pytest.mark.sample(1, verify=20)
@pytest.mark.pins("streams/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("streams", pin)


def test_every_switch_is_pinned_off() -> None:
    """No guard is without a model that finds what it is for."""
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("streams/")]
    off = [{n for n, v in p.changes.items() if v == "false"} for p in pins if "violated" in p.expected]
    switches = {n for n, v in load("streams").constants.items() if isinstance(v, bool)} - PROCEDURE
    assert switches - set().union(*(o for o in off if len(o) == 1)) == COVERED
    assert set().union(*off) >= COVERED
    assert load_spec("streams").models[0].name == "probing"


def test_every_setting_but_repaired_is_violated() -> None:
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("streams/")]
    found = {p.setting for p in pins if p.setting and "violated" in p.expected}
    assert found == {"pre_kip", "draft", "shipped_2_0", "shipped_2_3_1", "shipped_2_4", "shipped_2_6"}
