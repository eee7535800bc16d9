"""The mutants of the implementation that are explained: each key still names one."""

from __future__ import annotations

from checker.mutate.summary import read_explained
from tests.conftest import ROOT
from tests.impl_mutation.mutants import CORE, PACKAGE, all_mutants

KRAFT = ROOT.joinpath(*PACKAGE.split("."))
VALUES_ONLY = {"effects", "errors", "messages", "records", "controller.decision"}
"""Modules that decide nothing."""


def test_every_explained_survivor_is_a_mutant() -> None:
    keys = [mutant.key for mutant in all_mutants()]
    assert len(keys) == len(set(keys))
    assert set(read_explained(ROOT / "tests/impl_mutation/survivors.toml")) <= set(keys)


def test_every_module_of_the_core_is_mutated() -> None:
    paths = [path.relative_to(KRAFT) for path in KRAFT.rglob("*.py") if path.name != "__init__.py"]
    modules = {".".join(path.with_suffix("").parts) for path in paths if path.parts[0] != "under_test"}
    assert modules - VALUES_ONLY == set(CORE)
