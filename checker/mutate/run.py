"""All mutants of a model, each judged in a process of its own.

A process is forked for every mutant: it shares what was explored and compiled of the original, and takes what it
used, or whatever became of it, away with it.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

from checker.mutate.judge import INVALID, UNDECIDED, Original, Verdict, judge
from checker.mutate.mutants import Mutant
from checker.running.interrupts import stopped_by
from checker.running.pool import Died, one_process_each
from checker.verdicts import INTERRUPTED

_LOOK_S = 0.2  # how often progress is shown while nothing happens


def run(
    original: Original,
    mutants: Sequence[Mutant],
    *,
    jobs: int,
    deadline: float | None = None,
    traced: bool = False,
    so_far: Mapping[str, str] | None = None,
    found: Callable[[Verdict], None],
    progress: Callable[[], None],
) -> str | None:
    """Judge mutants, `jobs` at a time; `found` is given each verdict when it is there.

    deadline: of `time.monotonic()`. so_far: key -> the verdict of other models, see `judge`.
    Returns None when all are judged, else what stopped it.
    """
    for mutant in mutants:
        if not original.infects(mutant):
            found(judge(original, mutant))
    infecting = [mutant for mutant in mutants if original.infects(mutant)]
    interrupted: list[str] = []
    judged = one_process_each(
        partial(_judge, original, traced, so_far or {}), _prepared(original, infecting), jobs, _LOOK_S
    )
    with stopped_by(lambda: interrupted.append(INTERRUPTED)), closing(judged):  # an exception would get lost in a fork
        for answered in judged:
            if answered is not None:
                found(_verdict(*answered))
            progress()
            if interrupted:
                return INTERRUPTED
            if deadline is not None and time.monotonic() >= deadline:
                return "time limit"
    return None


def _prepared(original: Original, mutants: Sequence[Mutant]) -> Iterator[Mutant]:
    for mutant in mutants:
        original.stepper(mutant.actions)  # here, so that the processes from now on share it
        yield mutant


def _judge(original: Original, traced: bool, so_far: Mapping[str, str], mutant: Mutant) -> Verdict:
    """The work of a process."""
    gc.disable()  # the process ends with it
    try:
        return judge(original, mutant, traced=traced, so_far=so_far.get(mutant.key, INVALID))
    except Exception as error:  # the others are judged all the same
        stack = "".join(traceback.format_exception(error))
        return Verdict(mutant.key, mutant.place, UNDECIDED, f"internal error, a bug in Fencepost: {stack}")


def _verdict(mutant: Mutant, answer: Verdict | Died) -> Verdict:
    return Verdict(mutant.key, mutant.place, UNDECIDED, str(answer)) if isinstance(answer, Died) else answer
