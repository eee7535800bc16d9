"""The checker finds the pinned counts and verdicts: those of other checkers, and those proved by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import load, load_spec

if TYPE_CHECKING:
    from tests.conftest import Pin

ROOT = Path(__file__).parent.parent.parent
COUNTED = ("generated", "distinct", "depth", "verdict")


@pytest.mark.sample(100)
@pytest.mark.pins("tests/models/")
@pytest.mark.parametrize("threads", [1, 2])
def test_pinned(pin: Pin, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    model = load(pin.target, pin.changes, pin.setting)
    found = check(model, CheckOptions(threads=threads, all_violations=True), started=time.perf_counter()).to_json()
    expected = dict(pin.expected)
    violated = expected.pop("violated", {})
    lengths = {p["name"]: p["trace_length"] for p in found["properties"] if p["verdict"] == "violated"}
    assert {name.split(": ", 1)[-1]: length for name, length in lengths.items()} == violated
    if "cuts" in expected:
        assert sum(cut["count"] for cut in found["cuts"]) == expected.pop("cuts")
    assert set(expected) <= set(COUNTED)
    assert {name: found[name] for name in expected} == expected


def test_every_model_is_pinned() -> None:
    """But for `expressions`, which is for the differential tests only."""
    from tests.conftest import read_pins

    pinned = {p.target for p in read_pins(ROOT / "tests" / "pins.toml")}
    for file in sorted((ROOT / "tests" / "models").glob("*.py")):
        if file.stem.startswith("test_") or file.stem == "expressions":
            continue
        target = f"tests/models/{file.name}"
        models = load_spec(str(file)).models
        wanted = {f"{target}/{m.name}" for m in models} if len(models) > 1 else {target}
        assert wanted <= pinned
