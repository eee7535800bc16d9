"""Checks past known violations: which switch is said to repair what, and what is left."""

from __future__ import annotations

import time

import pytest

from checker.explicit.check import CheckOptions, Report, check
from checker.explicit.known import PastKnown, past_known
from checker.lang.loader import BoundModel, load
from checker.running.limits import Limits
from checker.verdicts import HOLDS, INCOMPLETE, KNOWN, VIOLATED
from tests.conftest import ROOT, KnownPin, read_known, read_pins

SWITCHED_OFF = "tests/explicit/switched_off.py"
PINNED = list(read_known(ROOT / "tests" / "pins.toml"))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def checked(model: BoundModel, limits: Limits | None = None) -> Report:
    return check(model, CheckOptions(threads=2, limits=limits or Limits()), started=time.perf_counter())


def found(target: str, setting: str | None, **changes: str) -> PastKnown:
    return past_known(load(target, changes, setting), checked)


def rows(past: PastKnown) -> list[tuple[str, str, int | None, tuple[str, ...]]]:
    return [(one.switch, one.found.name, one.found.trace_length, one.alternatives) for one in past.known]


def test_each_switch_is_known_by_what_it_alone_repairs() -> None:
    past = found(SWITCHED_OFF, "off")
    assert rows(past) == [
        ("locks", "door_is_shut", 2, ("bolts",)),
        ("low_guard", "low_is_low", 3, ("idles",)),  # that idles stops these steps, too, repairs nothing
        ("high_guard", "high_is_low", 3, ()),
    ]
    assert (past.verdict, past.exit_code, past.rest.verdict, past.off) == (KNOWN, 0, HOLDS, ["bolts", "idles"])


def test_what_no_switch_repairs_is_violated() -> None:
    past = found(SWITCHED_OFF, "off", flawed="true")
    assert [one.switch for one in past.known] == ["locks", "low_guard", "high_guard"]
    assert (past.verdict, past.exit_code) == (VIOLATED, 1)
    assert past.reason == "leaps_end: no single switch repairs it"
    assert [len(trace.steps) for trace in past.rest.traces] == [4]


def test_where_nothing_is_known_the_verdict_is_that_of_the_check() -> None:
    past = found(SWITCHED_OFF, None)
    assert (past.verdict, past.known, past.off) == (past.rest.verdict, (), [])
    past = found(SWITCHED_OFF, None, flawed="true")
    assert (past.verdict, past.reason, past.known) == (VIOLATED, "leaps_end", ())


def test_a_check_that_is_stopped_decides_nothing() -> None:
    left = [Limits(), Limits(max_depth=1)]
    past = past_known(load(SWITCHED_OFF, {}, "off"), lambda model: checked(model, left.pop(0)))
    assert (past.verdict, past.exit_code, past.known) == (INCOMPLETE, 3, ())
    assert past.reason == "whether door_is_shut is known was not decided: depth limit of 1"


@pytest.mark.long("5 s of CPU")
def test_a_liveness_property_is_known_by_a_switch() -> None:
    past = found("kraft/unfencing_ends", None, kafka_13959="false")
    assert [(one.switch, one.found.name) for one in past.known] == [("kafka_13959", "ready_broker_is_unfenced")]
    assert past.verdict == KNOWN


def test_what_kafka_shipped_with_is_known_in_every_model() -> None:
    """Whatever a model of KIP-631 finds in `shipped`, the table of known violations takes apart, switch by switch."""
    pins = read_pins(ROOT / "tests" / "pins.toml")
    found = {p.target: p.expected["violated"] for p in pins if p.setting == "shipped" and "violated" in p.expected}
    violated = {target: min(states.values()) for target, states in found.items() if target.startswith("kraft/")}
    known = {pin.target: pin.known for pin in PINNED if pin.setting == "shipped"}
    first = {target: next(iter(switches.values()))[1] for target, switches in known.items()}
    assert first == violated


SETTINGS = [
    pytest.param(pin, marks=[pytest.mark.large("many states, several times")] if pin.large else [],
                 id=f"{pin.target} {pin.setting}")
    for pin in PINNED
]  # fmt: skip


@pytest.mark.sample(0, verify=5)
@pytest.mark.parametrize("pin", SETTINGS)
def test_known_violations_of_a_setting(pin: KnownPin) -> None:
    past = found(pin.target, pin.setting)
    assert {one.switch: [one.found.name, one.found.trace_length] for one in past.known} == pin.known
    assert past.verdict == KNOWN
