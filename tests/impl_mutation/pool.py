"""Questions about mutants, each asked in a forked process that holds the mutant and ends with the answer."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.impl_mutation.judges import Judge
from tests.impl_mutation.mutants import Mutant

MEMORY_BYTES = 4 << 30  # what a mutant may add
PATIENCE, LEAST_S = 5, 10  # times what the judge takes of the implementation as it is, and seconds in any case
ENDLESS = "does not end"

_FORK = multiprocessing.get_context("fork")
Question = tuple[Mutant, str | None]
"""A mutant, and what the judge had against it the last time."""


def answers(judge: Judge, questions: Iterable[Question], jobs: int) -> Iterator[tuple[Mutant, str | None]]:
    """What a judge has against each mutant, as the answers come. Who stops to listen ends all that is under way."""
    waiting = iter(questions)
    running: dict[Connection, tuple[Mutant, BaseProcess]] = {}
    try:
        while True:
            while len(running) < jobs and (question := next(waiting, None)) is not None:
                running.update([_asked(judge, *question)])
            if not running:
                return
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                mutant, process = running.pop(connection)
                yield mutant, _answer(connection, process)
    finally:
        for connection, (_, process) in running.items():
            process.kill()
            process.join()
            connection.close()


def _asked(judge: Judge, mutant: Mutant, last: str | None) -> tuple[Connection, tuple[Mutant, BaseProcess]]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_ask, args=(theirs, judge, mutant, last), daemon=True)
    process.start()
    theirs.close()
    return ours, (mutant, process)


def _ask(connection: Connection, judge: Judge, mutant: Mutant, last: str | None) -> None:
    """What a process does. It is killed where it takes too long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    limit_s = round(PATIENCE * judge.seconds + LEAST_S)
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes + MEMORY_BYTES, used_bytes + MEMORY_BYTES))
    try:
        mutant.apply()
        found = judge.objection(mutant.file, mutant.lines, last)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    connection.send(found)


def _answer(connection: Connection, process: BaseProcess) -> str | None:
    try:
        found: str | None = connection.recv()
    except EOFError:
        process.join()
        found = ENDLESS if process.exitcode == -signal.SIGKILL else f"ends with {process.exitcode}"
    connection.close()
    process.join()
    return found
