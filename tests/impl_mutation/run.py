"""A run of judges over mutants, and what is printed of it."""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.impl_mutation.judges import Judge
from tests.impl_mutation.mutants import Mutant
from tests.impl_mutation.pool import answers
from tests.impl_mutation.verdicts import Verdicts

LIVE = sys.stdout.isatty()  # one line that changes, else one from time to time
TOLD_EVERY_S = 10.0


class Run:
    """Asks judges in turn: what one has killed no other is asked about."""

    def __init__(self, mutants: list[Mutant], judges: list[Judge], verdicts: Verdicts, jobs: int) -> None:
        self.mutants, self.judges, self.verdicts, self.jobs = mutants, judges, verdicts, jobs
        self.files = {mutant.file for mutant in mutants}
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


def judged(run: Run, explained: dict[str, str]) -> int:
    """Ask, for as long as nobody interrupts it, and tell. Gives the exit code."""
    try:
        run.judge_all()
        whole = True
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        whole = False
    return tell(run, explained, whole)


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
