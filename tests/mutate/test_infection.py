"""A mutant that infects no reachable state takes the original's steps, as comparing them shows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.errors import SpecError
from checker.lang.loader import load
from checker.mutate.compare import Stepper, first_difference
from checker.mutate.judge import Original
from checker.mutate.mutants import mutants_of

ROOT = Path(__file__).parents[2]


SAMPLE = 3  # of so many mutants one is compared


def original(target: str) -> Original:
    report = check(load(target), CheckOptions(threads=2), started=time.perf_counter())
    return Original(report, mutants_of(report.model), None, 1 << 30)


@pytest.mark.long("the front end and the compiler run for every mutant that is spared them")
@pytest.mark.parametrize(("target", "least"), [
    ("kraft/timed", 5), (f"{ROOT}/tests/models/partial_operations.py/guarded", 5),
])  # fmt: skip
def test_what_infects_nothing_takes_the_same_steps(target: str, least: int) -> None:
    held, compared = original(target), 0
    spared = [m for m in mutants_of(held.model) if not held.infects(m)]
    for mutant in spared[::SAMPLE]:
        try:
            theirs = Stepper(held.compile(mutant.of(held.model)), mutant.actions)
        except SpecError:  # no spec, for a reason that no state meets
            continue
        compared += 1
        assert first_difference(held.result, held.stepper(mutant.actions), theirs) is None, mutant.key
    assert compared >= least
