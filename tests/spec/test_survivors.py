"""The mutants that are explained beside the models of each design: each key still names one."""

from __future__ import annotations

import pytest

from checker.lang.loader import load, load_spec
from checker.mutate.mutants import edits_of, functions_of, name_of
from checker.mutate.summary import read_explained
from tests.conftest import ROOT


@pytest.mark.sample(2)
@pytest.mark.parametrize("design", ["kraft", "pinning", "heartbeat", "group", "streams"])
def test_every_explained_survivor_is_a_mutant(design: str) -> None:
    missing = set(read_explained(ROOT / "spec" / design / "survivors.toml"))
    assert missing
    for model in load_spec(design).models:
        bound = load(f"{design}/{model.name}")
        bound.bind()
        for function in functions_of(bound):
            if any(key.startswith(f"{name_of(function)}: ") for key in missing):
                missing -= {key for key, _ in edits_of(function)}
    assert not missing
