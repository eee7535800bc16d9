"""Forked processes that work for this one.

A worker is forked, so that it shares what was loaded and compiled before, and only tasks and answers travel. The parent
waits for answers and not for work: Ctrl-C is heard at once. A worker that dies is noticed, and costs the one answer it
was working on; whatever a worker used is gone with it.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from checker.errors import FencepostError, with_stack
from checker.running.interrupts import leave_to_parent
from checker.verdicts import ExitCode

_FORK = multiprocessing.get_context("fork")

Task = TypeVar("Task")
Work = Callable[..., Any]
"""What a worker does with a task: called with what `ask` is given, it returns the answer."""


class OutOfTime(Exception):
    """The deadline of a pool of workers has passed."""


class WorkerError(FencepostError):
    """A process without which the work cannot continue has died. The message says how."""

    exit_code = ExitCode.INTERNAL

    @property
    def message(self) -> str:
        return f"internal error: {self}; there is no verdict"


@dataclass(frozen=True)
class Died:
    """Stands for the answer of a worker whose process ended. code: its exit code, negative for a signal."""

    code: int

    @property
    def how(self) -> str:
        """The name of the signal, or the exit code."""
        return signal.Signals(-self.code).name if self.code < 0 else f"exit code {self.code}"

    def __str__(self) -> str:
        return f"its process ended with {self.how}"


class Worker(Protocol):
    """Does one task at a time."""

    def ask(self, *task: Any) -> None: ...

    def answer(self) -> Any:
        """Of the last task; waits for it. Raises what the work raised, WorkerError where the process is gone."""


class Local:
    """A worker in this process. It works when its answer is wanted."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def ask(self, *task: Any) -> None:
        self._task = task

    def answer(self) -> Any:
        return self._work(*self._task)


class Forked:
    """A worker in a process of its own, in which `make` is called. beside: others, whose pipes it inherits."""

    def __init__(self, make: Callable[[], Work], beside: Iterable[Forked] = ()) -> None:
        self._connection, theirs = _FORK.Pipe()
        inherited = [self._connection, *(other._connection for other in beside)]
        self._process = _FORK.Process(target=_serve, args=(make, theirs, inherited), daemon=True)
        self._process.start()
        theirs.close()

    def fileno(self) -> int:
        """For `wait`: readable once there is an answer."""
        return self._connection.fileno()

    def ask(self, *task: Any) -> None:
        with suppress(BrokenPipeError):  # it died while it had nothing to do: `answer` says so
            self._connection.send(task)

    def answer_or_death(self) -> Any:
        """As `answer`; Died where the process is gone."""
        try:
            answer = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return Died(self._process.exitcode or 0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def answer(self) -> Any:
        answer = self.answer_or_death()
        if isinstance(answer, Died):
            memory = "; where memory ran out, --jobs and --memory-gib bound what is taken" * (answer.code < 0)
            raise WorkerError(f"a worker process ended by itself ({answer.how}{memory})")
        return answer

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._connection.close()
        self._process.join()


def _serve(make: Callable[[], Work], connection: Connection, inherited: Sequence[Connection]) -> None:
    """The life of a worker: do tasks until the parent hangs up."""
    leave_to_parent()
    gc.freeze()  # a collection would touch, and so copy, whatever is shared
    for other in inherited:
        other.close()
    work = make()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            answer = work(*task)
        except Exception as error:  # for the parent to raise
            answer = with_stack(error)
        connection.send(answer)


@contextmanager
def team(make: Callable[[int], Work], jobs: int) -> Iterator[list[Worker]]:
    """`jobs` workers, each made by its number and asked by itself; a single one works in this process."""
    if jobs == 1:
        yield [Local(make(0))]
        return
    workers: list[Forked] = []
    try:
        for number in range(jobs):
            workers.append(Forked(partial(make, number), workers))
        yield list(workers)
    finally:
        _close(workers)


def ready(workers: Sequence[Worker]) -> list[Worker]:
    """Those of a team, all of whom were asked, that can answer at once; waits until there is one."""
    forked = [worker for worker in workers if isinstance(worker, Forked)]
    return _ready(forked) if forked else list(workers)  # type: ignore[return-value]  # a list of Forked is one of Worker


def _ready(workers: Sequence[Forked], timeout_s: float | None = None) -> list[Forked]:
    return wait(workers, timeout_s)  # type: ignore[arg-type, return-value]  # `wait` gives what it got


def _close(workers: Iterable[Forked]) -> None:
    for worker in workers:
        worker.close()


class Pool:
    """Workers that all do the same; one that dies is replaced. deadline: `time.monotonic()` at which waiting ends."""

    def __init__(self, make: Callable[[], Work], jobs: int, deadline: float | None) -> None:
        self._make, self._deadline = make, deadline
        self._workers: list[Forked] = []
        for _ in range(jobs):
            self._start()

    def _start(self) -> Forked:
        self._workers.append(Forked(self._make, self._workers))
        return self._workers[-1]

    def close(self) -> None:
        _close(self._workers)

    def answers(self, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """(number of the task, its answer or Died) as they come in; tasks are given out in order. Raises OutOfTime."""
        waiting = iter(range(len(tasks)))
        busy: dict[Forked, int] = {}

        def give(worker: Forked) -> None:
            number = next(waiting, None)
            if number is not None:
                worker.ask(tasks[number])
                busy[worker] = number

        for worker in self._workers:
            give(worker)
        while busy:
            left_s = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            answering = _ready(list(busy), left_s)
            if left_s == 0 or not answering:
                raise OutOfTime
            for worker in answering:
                number, answer = busy.pop(worker), worker.answer_or_death()
                if isinstance(answer, Died):
                    self._workers.remove(worker)
                    worker.close()
                    worker = self._start()
                give(worker)
                yield number, answer


@contextmanager
def pool(make: Callable[[], Work], jobs: int, deadline: float | None = None) -> Iterator[Pool]:
    """Workers that are gone when this is left, however it is left. `make` is called once in each of them."""
    workers = Pool(make, jobs, deadline)
    try:
        yield workers
    finally:
        workers.close()


def one_process_each(
    work: Callable[[Task], Any], tasks: Iterable[Task], jobs: int, idle_s: float | None = None
) -> Generator[tuple[Task, Any] | None]:
    """(a task, its answer or Died) as they come in, each from a process of its own, forked when its turn comes.

    So tasks and what they refer to need not travel, and what a task does to its process no other one sees. None stands
    for `idle_s` seconds in which no answer came. Processes end when the iterator is closed.
    """
    waiting = iter(tasks)
    busy: dict[Forked, Task] = {}
    try:
        while True:
            for task in islice(waiting, jobs - len(busy)):
                worker = Forked(partial(partial, work, task), busy)
                worker.ask()
                busy[worker] = task
            if not busy:
                return
            answering = _ready(list(busy), idle_s)
            for worker in answering:
                answer = worker.answer_or_death()
                worker.close()
                yield busy.pop(worker), answer
            if not answering:
                yield None
    finally:
        _close(busy)
