"""The models of KIP-39 close with the pinned counts and hold; a switch that is off breaks what is pinned."""

from __future__ import annotations

import pytest

from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, Pin, read_pins
from tests.spec.pinned import assert_as_pinned

ALTERNATIVES = {"next_is_replaced", "takeover", "preferred"}
"""Other designs, and no guards: the models hold with either."""


@pytest.mark.sample(1, verify=20)
@pytest.mark.pins("pinning/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("pinning", pin)


def test_every_switch_is_pinned_off() -> None:
    """No guard is without a model that finds what it is for. `ready_owned_by_target` alone breaks nothing: what would
    be overwritten is removed (former_ready_removed)."""
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("pinning/")]
    off = [{n for n, v in p.changes.items() if v == "false"} for p in pins if "violated" in p.expected]
    switches = {n for n, v in load("pinning").constants.items() if isinstance(v, bool)}
    assert switches - ALTERNATIVES <= set().union(*off)
    assert switches - ALTERNATIVES - {"ready_owned_by_target"} <= set().union(*(o for o in off if len(o) == 1))
    assert load_spec("pinning").models[0].name == "pin"


def test_every_setting_but_repaired_is_violated() -> None:
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("pinning/")]
    assert {p.setting for p in pins if p.setting and "violated" in p.expected} == {"draft", "shipped", "unpinned"}
