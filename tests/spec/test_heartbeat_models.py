"""The models of KIP-343 close with the pinned counts and hold; a switch that is off breaks what is pinned."""

from __future__ import annotations

import pytest

from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, Pin, read_pins
from tests.spec.pinned import assert_as_pinned

COVERED = {"controller_epoch_in_heartbeat", "fetch_names_incarnation"}
"""Guards that break nothing alone. A former controller cannot read ZooKeeper afresh, so that no heartbeat counts with
it (checks_registration); and whoever has a lower incarnation is fenced, and does not fetch (fetches_unfenced)."""


@pytest.mark.sample(1, verify=10)
@pytest.mark.pins("heartbeat/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("heartbeat", pin)


def test_every_switch_is_pinned_off() -> None:
    """No guard is without a model that finds what it is for."""
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("heartbeat/")]
    off = [{n for n, v in p.changes.items() if v == "false"} for p in pins if "violated" in p.expected]
    switches = {n for n, v in load("heartbeat").constants.items() if isinstance(v, bool)}
    assert switches - set().union(*(o for o in off if len(o) == 1)) == COVERED
    assert load_spec("heartbeat").models[0].name == "leases"


def test_every_setting_but_repaired_is_violated() -> None:
    pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith("heartbeat/")]
    assert {p.setting for p in pins if p.setting and "violated" in p.expected} == {"draft", "shipped"}
