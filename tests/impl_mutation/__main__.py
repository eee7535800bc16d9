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
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from checker.mutate.summary import read_explained
from tests.conform.test_kraft_conforms import PINS
from tests.conftest import ROOT
from tests.impl_mutation.judges import Judge, Model, Tests
from tests.impl_mutation.mutants import Mutant, all_mutants
from tests.impl_mutation.pool import answers
from tests.impl_mutation.verdicts import Verdicts

EXPLAINED = Path(__file__).parent / "survivors.toml"
RANDOM = {
    "controller at random": "tests/impl/test_controller_invariants.py::TestController::runTest",
    "brokers at random": "tests/impl/test_broker_cluster.py::TestCluster::runTest",
    "cluster at random": "tests/conform/test_kraft_random.py::test_what_the_spec_claims_holds",
}
TESTS = ["tests/impl", RANDOM["cluster at random"]]
LIVE = sys.stdout.isatty()  # one line that changes, else one from time to time
TOLD_EVERY_S = 10.0


class Run:
    """Asks judges in turn: what one has killed no other is asked about."""

    def __init__(self, mutants: list[Mutant], judges: list[Judge], verdicts: Verdicts, jobs: int) -> None:
        self.mutants, self.judges, self.verdicts, self.jobs = mutants, judges, verdicts, jobs
        self.files = {mutant.file for mutant in all_mutants()}
        self.prepared: set[str] = set()

    def judge_all(self) -> None:
        """First each judge is asked about what it objected to before, then about whatever is left."""
        for judge in self.judges:
            hinted = [m for m in self.left(judge) if self.verdicts.hints.get(m.key, ("", ""))[0] == judge.name]
            self.ask(judge, hinted)
        for judge in self.judges:
            self.ask(judge, self.left(judge))

    def left(self, judge: Judge) -> list[Mutant]:
        verdicts = self.verdicts
        alive = (mutant for mutant in self.mutants if verdicts.killer(mutant.key) is None)
        return [mutant for mutant in alive if judge.name not in verdicts.found.get(mutant.key, {})]

    def ask(self, judge: Judge, mutants: list[Mutant]) -> None:
        if not mutants:
            return
        if judge.name not in self.prepared:
            show(f"{judge.name}: prepares")
            judge.prepare(self.files)
            self.prepared.add(judge.name)
        mutants = [mutant for mutant in mutants if judge.runs(mutant.file, mutant.lines)]
        hints = self.verdicts.hints
        questions = [(mutant, hints.get(mutant.key, ("", None))[1]) for mutant in mutants]
        started = told = time.monotonic()
        killed = 0
        for number, (mutant, objection) in enumerate(answers(judge, questions, self.jobs), 1):
            self.verdicts.add(mutant.key, judge.name, objection)
            killed += objection is not None
            now = time.monotonic()
            if LIVE or now - told > TOLD_EVERY_S or number == len(mutants):
                told = now
                show(f"{judge.name}: {number}/{len(mutants)}, {killed} killed, {now - started:.0f} s")


def show(progress: str) -> None:
    print(f"\r\x1b[K{progress}" if LIVE else progress, end="" if LIVE else "\n", flush=True)


def tell(run: Run, explained: dict[str, str], whole: bool) -> int:
    """Print what became of the mutants. Gives the exit code."""
    if LIVE:
        print()
    verdicts = run.verdicts
    killers: Counter[str] = Counter()
    survivors, stale = [], []
    for mutant in run.mutants:
        killer = verdicts.killer(mutant.key)
        if killer is not None:
            killers[killer[0]] += 1
            stale += [mutant.key] * (mutant.key in explained)
        elif whole or mutant.key in verdicts.found:
            survivors.append(mutant)
    unexplained = [mutant for mutant in survivors if mutant.key not in explained]
    for mutant in unexplained:
        print(f"  {mutant.place}  {mutant.key}" + ("" if mutant.key in verdicts.found else "  (nobody runs it)"))
    for key in stale:
        print(f"killed, and need not be explained: {key}")
    for name, count in killers.most_common():
        print(f"{count:6,} killed by {name}")
    left = len(run.mutants) - killers.total() - len(survivors)
    print(
        f"{len(run.mutants):,} mutants: {killers.total():,} killed, {len(survivors) - len(unexplained)} explained, "
        f"{len(unexplained)} survived" + ("" if whole else f", {left:,} not judged; incomplete")
    )
    return 3 if not whole else 1 if unexplained or stale else 0


class Plugin:
    """Takes the tests that pytest has collected, and runs them itself."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.exit_code = 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.exit_code = judged(self.arguments, session.items)
        return True


def judges(items: list[pytest.Item]) -> Iterator[Judge]:
    """The quick ones first: tests of one thing each, tests that go on at random, models by size."""
    random = set(RANDOM.values())
    yield Tests("tests", [item for item in items if item.nodeid not in random])
    for name, nodeid in RANDOM.items():
        yield Tests(name, [item for item in items if item.nodeid == nodeid])
    yield from map(Model, sorted(PINS, key=lambda pin: pin.transitions))


def judged(arguments: argparse.Namespace, items: list[pytest.Item]) -> int:
    mutants = [mutant for mutant in all_mutants() if arguments.only in mutant.key]
    asked = [judge for judge in judges(items) if arguments.judge in judge.name]
    if not mutants or not asked:
        print("no mutant or no judge is called so", file=sys.stderr)
        return 2
    arguments.verdicts.parent.mkdir(parents=True, exist_ok=True)
    run = Run(mutants, asked, Verdicts(arguments.verdicts), arguments.jobs)
    try:
        run.judge_all()
        whole = True
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        whole = False
    return tell(run, read_explained(EXPLAINED), whole)


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
