"""Solver work in processes of its own: each has a Z3 context, and ends with it.

A worker is forked, so that it shares what was compiled and only answers travel. The parent never waits inside the
solver: Ctrl-C is heard at once, and a worker that dies costs the one answer it was working on.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from checker.errors import with_stack
from checker.running.interrupts import leave_to_parent


class OutOfTime(Exception):
    """The deadline of a pool of workers has passed."""


@dataclass(frozen=True)
class Died:
    """Stands for the answer that a worker took with it. `code`: its exit code, negative for a signal."""

    code: int | None


class _Worker:
    def __init__(self, make: Callable[[], Callable[[Any], Any]], inherited: Sequence[Connection]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(make, theirs, [self.connection, *inherited]), daemon=True
        )
        self.process.start()
        theirs.close()
        self.task: int | None = None


def _serve(make: Callable[[], Callable[[Any], Any]], connection: Connection, inherited: Sequence[Connection]) -> None:
    """What a worker does: answer tasks until the parent hangs up."""
    leave_to_parent()
    for other in inherited:
        other.close()
    work = make()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            answer = work(task)
        except Exception as error:  # a fault of ours, for the parent to raise
            answer = with_stack(error)
        connection.send(answer)


def _received(worker: _Worker) -> Any:
    try:
        return worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return Died(worker.process.exitcode)


class Workers:
    """A number of workers that all do the same. `make` runs once in each of them and gives what answers a task.

    deadline: `time.monotonic()` from which they are not waited for.
    """

    def __init__(self, make: Callable[[], Callable[[Any], Any]], jobs: int, deadline: float | None) -> None:
        self._make, self._deadline = make, deadline
        self._workers: list[_Worker] = []
        for _ in range(jobs):
            self._start()

    def _start(self) -> None:
        self._workers.append(_Worker(self._make, [w.connection for w in self._workers]))

    def close(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
            worker.connection.close()
        for worker in self._workers:
            worker.process.join()

    def answers(self, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """(number of the task, its answer) as they come in, tasks being given out in order. Raises OutOfTime."""
        waiting = iter(range(len(tasks)))
        for worker in list(self._workers):
            self._give(worker, tasks, waiting)
        while busy := [w for w in self._workers if w.task is not None]:
            left_s = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            ready = wait([w.connection for w in busy], left_s)
            if left_s == 0 or not ready:
                raise OutOfTime
            for worker in [w for w in busy if w.connection in ready]:
                number, answer = worker.task, _received(worker)
                assert number is not None
                if isinstance(answer, Exception):
                    raise answer
                if isinstance(answer, Died):
                    self._workers.remove(worker)
                    self._start()
                    worker = self._workers[-1]
                self._give(worker, tasks, waiting)
                yield number, answer

    @staticmethod
    def _give(worker: _Worker, tasks: Sequence[Any], waiting: Iterator[int]) -> None:
        worker.task = next(waiting, None)
        if worker.task is not None:
            with suppress(BrokenPipeError):  # it died while it had nothing to do: `_received` says so
                worker.connection.send(tasks[worker.task])


@contextmanager
def workers(
    make: Callable[[], Callable[[Any], Any]], jobs: int, deadline: float | None = None
) -> Iterator[Workers]:
    """Workers that are gone when this is left, however it is left."""
    pool = Workers(make, jobs, deadline)
    try:
        yield pool
    finally:
        pool.close()
