"""The mutants of the kraft models that are explained: each key still names one."""

from __future__ import annotations

from checker.lang.loader import load, load_spec
from checker.mutate.mutants import edits_of, functions_of, name_of
from checker.mutate.summary import read_explained
from tests.conftest import ROOT


def test_every_explained_survivor_is_a_mutant() -> None:
    missing = set(read_explained(ROOT / "spec/kraft/survivors.toml"))
    assert missing
    for model in load_spec("kraft").models:
        bound = load(f"kraft/{model.name}")
        bound.bind()
        for function in functions_of(bound):
            if any(key.startswith(f"{name_of(function)}: ") for key in missing):
                missing -= {key for key, _ in edits_of(function)}
    assert not missing
