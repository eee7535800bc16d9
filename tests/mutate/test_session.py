"""A session over many models: in which order they are tried changes no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checker.lang.loader import load
from checker.mutate import session
from checker.mutate.judge import KILLED
from checker.mutate.session import MutationOptions, Session

PAIR = Path(__file__).with_name("pair.py")


def test_passes_over_many_models_try_each_mutant_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass leaves out one of these mutants, and the last of the models alone kills the other."""
    monkeypatch.setattr(session, "MANY_MODELS", 2)
    models = [load(f"{PAIR}/{name}") for name in ("plain", "watched")]
    only = MutationOptions(only=["not s.on by s.on", "drop s.flips"])
    quiet = Session(models, only, searching=lambda progress: None, judging=lambda *counts: None)
    found = {o.found.key: (o.model, o.verdict) for o in quiet.run().outcomes}
    assert found == {
        "pair.flip: replace not s.on by s.on": (models[0].name, KILLED),
        "pair.flip: drop s.flips = True": (models[1].name, KILLED),
    }


def test_what_killed_before_is_tried_first(tmp_path: Path) -> None:
    """In the second run the model that alone kills one of them does so before the other model is tried on it."""
    models = [load(f"{PAIR}/{name}") for name in ("plain", "watched")]
    key = "pair.flip: drop s.flips = True"
    tried = {}
    for run, earlier in (("first", None), ("second", tmp_path / "first")):
        options = MutationOptions(only=["drop s.flips"], file=tmp_path / run, killers=earlier)
        Session(models, options, searching=lambda progress: None, judging=lambda *counts: None).run()
        verdicts = [json.loads(line) for line in (tmp_path / run).read_text().splitlines()[1:]]
        tried[run] = [v["model"] for v in verdicts if v["key"] == key]
    assert tried == {"first": [m.name for m in models], "second": [models[1].name]}
