"""Mutates impl/kraft in one place at a time: do its tests, or the models that it conforms to, object?

usage: python -m tests.impl_mutation [--only TEXT] [--judge TEXT] [--jobs N] [--verdicts FILE]

--only: mutants whose key has TEXT in it. --judge: judges whose name has: `tests`, or a model. A run that was ended
goes on where it was. Exit codes: 0 all are killed or explained, 1 some are not, 2 usage, or a judge that objects to
the implementation as it is, 3 not all were judged. See docs/mutation.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from checker.mutate.summary import read_explained
from tests.conform.test_kraft_conforms import PINS
from tests.conftest import ROOT
from tests.impl_mutation.judges import Judge, Model, Tests
from tests.impl_mutation.mutants import all_mutants
from tests.impl_mutation.run import Run, judged
from tests.impl_mutation.verdicts import Verdicts

EXPLAINED = Path(__file__).parent / "survivors.toml"
RANDOM = {
    "controller at random": "tests/impl/test_controller_invariants.py::TestController::runTest",
    "brokers at random": "tests/impl/test_broker_cluster.py::TestCluster::runTest",
    "cluster at random": "tests/conform/test_kraft_random.py::test_what_the_spec_claims_holds",
}
TESTS = ["tests/impl", RANDOM["cluster at random"]]


class Plugin:
    """Takes the tests that pytest has collected, and runs them itself."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.exit_code = 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.exit_code = judge(self.arguments, session.items)
        return True


def judges(items: list[pytest.Item]) -> Iterator[Judge]:
    """The quick ones first: tests of one thing each, tests that go on at random, models by size."""
    random = set(RANDOM.values())
    yield Tests("tests", [item for item in items if item.nodeid not in random])
    for name, nodeid in RANDOM.items():
        yield Tests(name, [item for item in items if item.nodeid == nodeid])
    yield from map(Model, sorted(PINS, key=lambda pin: pin.transitions))


def judge(arguments: argparse.Namespace, items: list[pytest.Item]) -> int:
    mutants = [mutant for mutant in all_mutants() if arguments.only in mutant.key]
    asked = [judge for judge in judges(items) if arguments.judge in judge.name]
    if not mutants or not asked:
        print("no mutant or no judge is called so", file=sys.stderr)
        return 2
    arguments.verdicts.parent.mkdir(parents=True, exist_ok=True)
    run = Run(mutants, asked, Verdicts(arguments.verdicts), arguments.jobs)
    return judged(run, read_explained(EXPLAINED))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl_mutation")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--judge", default="", metavar="TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verdicts", type=Path, default=ROOT / "build" / "impl-mutants.ndjson")
    plugin = Plugin(parser.parse_args())
    settings.register_profile(
        "mutation", derandomize=True, database=None, print_blob=False, phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    settings.load_profile("mutation")
    options = ["-p", "no:terminal", "-p", "no:cacheprovider", "--capture=no", "-o", "addopts=--import-mode=importlib"]
    pytest.main([*options, *TESTS], plugins=[plugin])
    return plugin.exit_code


if __name__ == "__main__":
    sys.exit(main())
