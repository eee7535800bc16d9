"""Plain Python is the oracle: the compiled kernel does the same on every transition.

All transitions of the small models, and those along random walks through the large ones, kraft and pinning.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.lang.loader import load
from tests.conftest import Pin, read_pins
from tests.differential import Pair, breadth_first, random_walks

ROOT = Path(__file__).parent.parent.parent
SMALL = 2000  # states up to which every transition is compared
WALKS, STEPS = 12, 25

ALL_PINS = list(read_pins(ROOT / "tests" / "pins.toml"))
PINS = [p for p in ALL_PINS if p.target.endswith(".py") or ".py/" in p.target]
SMALL_PINS = [p for p in PINS if p.expected.get("distinct", 0) <= SMALL]
LARGE_PINS = [p for p in PINS if p not in SMALL_PINS]
PINNING = [p for p in ALL_PINS if p.target.startswith("pinning/") and p.expected.get("distinct", SMALL + 1) <= SMALL]


STREAMS = [p for p in ALL_PINS if p.target.startswith("streams/") and p.expected.get("distinct", SMALL) <= SMALL // 2]
GROUP = [p for p in ALL_PINS if p.target.startswith("group/") and p.expected.get("distinct", SMALL) <= SMALL // 4]


def pair_of(pin: Pin) -> Pair:
    return Pair(load(str(ROOT / pin.target), pin.changes, pin.setting))


@pytest.mark.sample(50)
@pytest.mark.parametrize("pin", SMALL_PINS, ids=str)
def test_every_transition(pin: Pin) -> None:
    pair = pair_of(pin)
    states = list(breadth_first(pair, SMALL + 1))
    if "distinct" in pin.expected and not pair.model.model.hide:
        assert len(states) == pin.expected["distinct"]


@pytest.mark.parametrize("name", ["collections_of_values", "choices", "shapes", "helpers"])
def test_every_transition_of_templates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions are run once for all bindings, however few they have."""
    monkeypatch.setattr("checker.lang.frontend.templates.MIN_BINDINGS", 2)
    list(breadth_first(Pair(load(str(ROOT / f"tests/models/{name}.py"))), SMALL))


@pytest.mark.long("6 s of CPU each")
@pytest.mark.parametrize("swapped", ["true", "false"])
def test_every_form_of_expression(swapped: str) -> None:
    pair = Pair(load(str(ROOT / "tests/models/expressions.py"), {"swapped": swapped}))
    assert len(pair.initial()) < SMALL, "all operands are compared, as the search begins with them"
    assert len(list(breadth_first(pair, SMALL))) == SMALL


@pytest.mark.parametrize("pin", LARGE_PINS, ids=str)
def test_random_walks(pin: Pin) -> None:
    random_walks(pair_of(pin), seed=1, walks=WALKS, steps=STEPS)


NAMES = ["membership", "lossy", "twins", "isr", "quorum", "shutdown", "reassignment", "recreated", "raft_snapshot"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_random_walks_of_kraft(name: str) -> None:
    """In one of its settings, which differ in constants only; another model has another turn."""
    settings = [None, *load(f"kraft/{name}").model.settings]
    setting = settings[NAMES.index(name) % len(settings)]
    random_walks(Pair(load(f"kraft/{name}", setting=setting)), seed=1, walks=6, steps=STEPS)


@pytest.mark.long("4 s of CPU each")
@pytest.mark.parametrize("pin", PINNING, ids=str)
def test_every_transition_of_pinning(pin: Pin) -> None:
    states = list(breadth_first(Pair(load(pin.target, pin.changes, pin.setting)), SMALL + 1))
    assert len(states) == pin.expected["distinct"]


@pytest.mark.long("up to 9 s of CPU each")
@pytest.mark.parametrize("pin", GROUP, ids=str)
def test_every_transition_of_group(pin: Pin) -> None:
    states = list(breadth_first(Pair(load(pin.target, pin.changes, pin.setting)), SMALL + 1))
    assert len(states) == pin.expected["distinct"]


@pytest.mark.long("up to 9 s of CPU each")
@pytest.mark.parametrize("pin", STREAMS, ids=str)
def test_every_transition_of_streams(pin: Pin) -> None:
    states = list(breadth_first(Pair(load(pin.target, pin.changes, pin.setting)), SMALL + 1))
    assert len(states) == pin.expected["distinct"]


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", ["both", "failover", "beside_old", "mixed_releases", "tasks", "rollback"])
def test_random_walks_of_streams(name: str) -> None:
    """What its small models have not: leaving, crashes, sessions that end, failovers, releases that meet, tasks."""
    random_walks(Pair(load(f"streams/{name}")), seed=1, walks=6, steps=STEPS)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["late", "mixed", "offsets", "pings", "shutdown", "topics", "section2", "timed"])
def test_random_walks_of_group(name: str) -> None:
    """What its small models have not: late responses, failovers, pings, offsets, new topics, sockets, time."""
    random_walks(Pair(load(f"group/{name}")), seed=1, walks=6, steps=STEPS)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["repin_crash", "hung", "expiry", "zombie", "takeover"])
def test_random_walks_of_pinning(name: str) -> None:
    """Crashes, hangs, sessions that end and writes in office, which its small models have not."""
    random_walks(Pair(load(f"pinning/{name}")), seed=1, walks=6, steps=STEPS)


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", ["failover", "late", "stopping", "legacy", "zombie", "timed"])
def test_random_walks_of_heartbeat(name: str) -> None:
    """Sessions, failovers, late copies, legacy brokers, two controllers, clocks."""
    random_walks(Pair(load(f"heartbeat/{name}")), seed=1, walks=6, steps=STEPS)
