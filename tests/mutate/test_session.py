"""A session over many models: in which order they are tried changes no verdict."""

from __future__ import annotations

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
