"""Workers in this process, or each in one of its own."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from checker.errors import FencepostError, with_stack
from checker.running.interrupts import leave_to_parent
from checker.verdicts import ExitCode


class WorkerError(FencepostError):
    """A process of the pool has ended. The message says how it ended."""

    exit_code = ExitCode.INTERNAL

    @property
    def message(self) -> str:
        return f"internal error: {self}; there is no verdict"


class Member(Protocol):
    """A member of a pool: runs a method of its worker when asked, and answers."""

    def ask(self, method: str, *arguments: Any) -> None: ...

    def answer(self) -> Any: ...


class Local:
    """A worker in this process. It works when its answer is wanted."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def ask(self, method: str, *arguments: Any) -> None:
        self._asked = (method, arguments)

    def answer(self) -> Any:
        method, arguments = self._asked
        return getattr(self._worker, method)(*arguments)


class Remote:
    """A worker in a forked process, which shares what was compiled and loaded before."""

    def __init__(self, make: Callable[[], Any], inherited: list[Connection]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(make, theirs, [self.connection, *inherited]), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, method: str, *arguments: Any) -> None:
        try:
            self.connection.send((method, arguments))
        except BrokenPipeError:
            raise self._gone() from None

    def answer(self) -> Any:
        try:
            answer = self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._gone() from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _gone(self) -> WorkerError:
        self._process.join()
        code = self._process.exitcode or 0
        how = f"exit code {code}"
        if code < 0:
            how = f"{signal.Signals(-code).name}; where memory ran out, --jobs and --memory-gib bound what is taken"
        return WorkerError(f"a process of the exploration ended by itself ({how})")

    def close(self) -> None:
        self._process.terminate()
        self.connection.close()
        self._process.join()


def _serve(make: Callable[[], Any], connection: Connection, inherited: list[Connection]) -> None:
    """What a process does: answer until the parent hangs up."""
    leave_to_parent()
    for other in inherited:
        other.close()
    gc.disable()  # the process ends with its work
    worker = make()
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = getattr(worker, method)(*arguments)
        except Exception as error:  # for the parent to raise
            answer = with_stack(error)
        connection.send(answer)


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for garbage in cycles: it would look at every state that is kept, each time.

    Workers search what is new once, between levels.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def pool(make: Callable[[int], Any], jobs: int) -> Iterator[list[Member]]:
    """`jobs` workers, made by their number; their processes are gone when this is left, however it is left."""
    if jobs == 1:
        with without_collection():
            yield [Local(make(0))]
        return
    members: list[Remote] = []
    try:
        for number in range(jobs):
            members.append(Remote(partial(make, number), [member.connection for member in members]))
        yield list(members)
    finally:
        for member in members:
            member.close()


def ready(members: list[Member]) -> list[Member]:
    """Those of `members`, all of whom were asked, that can answer at once; waits until there is one."""
    remote = {member.connection: member for member in members if isinstance(member, Remote)}
    if not remote:
        return members
    return [remote[connection] for connection in wait(list(remote))]  # type: ignore[index]  # `wait` gives what it got
