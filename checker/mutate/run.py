"""All mutants of a model, each judged in a process of its own.

A process is forked for every mutant: it shares what was explored and compiled of the original, and takes what it
used, or whatever became of it, away with it.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from checker.mutate.judge import UNDECIDED, Original, Verdict, judge
from checker.mutate.mutants import Mutant
from checker.running.interrupts import leave_to_parent, stopped_by
from checker.verdicts import INTERRUPTED

_FORK = multiprocessing.get_context("fork")
_LOOK_S = 0.2  # how often progress is shown while nothing happens


@dataclass
class _Work:
    mutant: Mutant
    process: BaseProcess


def run(
    original: Original, mutants: Sequence[Mutant], *, jobs: int, deadline: float | None = None, traced: bool = False,
    found: Callable[[Verdict], None], progress: Callable[[], None],
) -> str | None:
    """Judge mutants, `jobs` at a time; `found` is given each verdict when it is there.

    deadline: of `time.monotonic()`. Returns None when all are judged, else what stopped it.
    """
    waiting = iter(mutants)
    running: dict[Connection, _Work] = {}
    interrupted: list[str] = []
    with stopped_by(lambda: interrupted.append(INTERRUPTED)):  # an exception would get lost where Python forks
        try:
            while True:
                for mutant in itertools.islice(waiting, jobs - len(running)):
                    running.update([_start(original, mutant, traced)])
                if not running:
                    return None
                for connection in wait(list(running), timeout=_LOOK_S):
                    assert isinstance(connection, Connection)
                    found(_result(connection, running.pop(connection)))
                progress()
                if interrupted:
                    return INTERRUPTED
                if deadline is not None and time.monotonic() >= deadline:
                    return "time limit"
        finally:
            for connection, work in running.items():
                work.process.kill()
                work.process.join()
                connection.close()


def _start(original: Original, mutant: Mutant, traced: bool) -> tuple[Connection, _Work]:
    original.stepper(mutant.actions)  # here, so that the processes after this one share it
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_judge, args=(theirs, original, mutant, traced), daemon=True)
    process.start()
    theirs.close()
    return ours, _Work(mutant, process)


def _judge(connection: Connection, original: Original, mutant: Mutant, traced: bool) -> None:
    """What a process does. On Ctrl-C it is killed, and says nothing."""
    leave_to_parent()
    gc.disable()  # a collection would touch, and so copy, whatever it shares
    try:
        verdict = judge(original, mutant, traced=traced)
    except Exception as error:  # the others are judged all the same
        told = "".join(traceback.format_exception(error))
        verdict = Verdict(mutant.key, mutant.place, UNDECIDED, f"internal error, a bug in Fencepost: {told}")
    connection.send(verdict)


def _result(connection: Connection, work: _Work) -> Verdict:
    try:
        verdict: Verdict = connection.recv()
    except EOFError:
        work.process.join()
        why = f"its process ended with {work.process.exitcode}"
        return Verdict(work.mutant.key, work.mutant.place, UNDECIDED, why)
    finally:
        connection.close()
    work.process.join()
    return verdict
