"""The models of the consumer coordinator close with the pinned counts and hold; a switch that is off breaks one."""

from __future__ import annotations

import pytest

from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, Pin, read_pins
from tests.spec.pinned import assert_as_pinned

ALTERNATIVES = {"auto_commit", "by_sockets", "join_barrier"}
"""Other designs, and no guards."""


@pytest.mark.sample(1, verify=15)
@pytest.mark.pins("group/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("group", pin)


def test_every_switch_is_pinned_off() -> None:
    """No guard is without a model that finds what it is for. `commit_is_monotone` alone breaks nothing: only a former
    coordinator, or a late response, reports less than what is committed (fenced_writes, attempt_ids)."""
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("group/")]
    off = [{n for n, v in p.changes.items() if v == "false"} for p in pins if "violated" in p.expected]
    switches = {n for n, v in load("group").constants.items() if isinstance(v, bool)}
    assert switches - ALTERNATIVES <= set().union(*off)
    assert switches - ALTERNATIVES - {"commit_is_monotone"} <= set().union(*(o for o in off if len(o) == 1))
    assert load_spec("group").models[0].name == "join"


def test_every_setting_but_repaired_is_violated() -> None:
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("group/")]
    assert {p.setting for p in pins if p.setting and "violated" in p.expected} == {"draft", "section2", "shipped"}
