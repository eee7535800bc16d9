"""Questions about mutants, each asked in a forked process that holds the mutant and ends with the answer."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from checker.running.pool import Died, one_process_each
from tests.impl_mutation.judges import Judge
from tests.impl_mutation.mutants import Mutant

MEMORY_BYTES = 4 << 30  # what a mutant may add
PATIENCE, LEAST_S = 5, 10  # times what the judge takes of the implementation as it is, and seconds in any case
ENDLESS = "does not end"

Question = tuple[Mutant, str | None]
"""A mutant, and what the judge had against it the last time."""


def answers(judge: Judge, questions: Iterable[Question], jobs: int) -> Iterator[tuple[Mutant, str | None]]:
    """Yield a judge's objection to each mutant, as the answers arrive. Closing the iterator ends all work under way."""
    with closing(one_process_each(partial(_ask, judge), questions, jobs)) as found:
        for answered in found:
            if answered is not None:
                (mutant, _), objection = answered
                yield mutant, _of_death(objection) if isinstance(objection, Died) else objection


def _ask(judge: Judge, question: Question) -> str | None:
    """The work of a process. It is killed where it takes too long."""
    mutant, last = question
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    limit_s = round(PATIENCE * judge.seconds + LEAST_S)
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes + MEMORY_BYTES, used_bytes + MEMORY_BYTES))
    try:
        mutant.apply()
        return judge.objection(mutant.file, mutant.lines, last)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _of_death(death: Died) -> str:
    return ENDLESS if death.code == -signal.SIGKILL else str(death)
