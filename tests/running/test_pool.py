"""Forked workers: answers, what they raise, and how the death of a process is noticed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from checker.running.pool import Died, OutOfTime, WorkerError, one_process_each, pool, ready, team


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


def squares_but(number: int, otherwise: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda n: otherwise() if n == number else n * n


def fails() -> None:
    raise KeyError("two")


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_tasks_of_a_pool_are_answered_by_number() -> None:
    with pool(lambda: lambda n: (n, os.getpid()), 3) as workers:
        found = dict(workers.answers(range(50)))
    assert [n for n, _ in map(found.__getitem__, range(50))] == list(range(50))
    assert 1 <= len({process for _, process in found.values()} - {os.getpid()}) <= 3


@pytest.mark.parametrize(("end", "how"), [(is_killed, "SIGKILL"), (lambda: os._exit(7), "exit code 7")])
def test_a_worker_that_dies_costs_the_answer_it_was_working_on(end: Callable[[], Any], how: str) -> None:
    with pool(lambda: squares_but(2, end), 1) as workers:
        found = dict(workers.answers(range(4)))
    death = found.pop(2)
    assert isinstance(death, Died) and str(death) == f"its process ended with {how}"
    assert found == {0: 0, 1: 1, 3: 9}
    assert list(one_process_each(squares_but(2, end), [1, 2, 3], 1)) == [(1, 1), (2, death), (3, 9)]


def test_the_error_of_a_worker_is_raised_with_its_stack() -> None:
    with pool(lambda: squares_but(2, fails), 2) as workers, pytest.raises(KeyError, match="two") as raised:
        dict(workers.answers(range(4)))
    assert "in fails" in raised.value.__notes__[0]
    with pytest.raises(KeyError, match="two"):
        list(one_process_each(squares_but(2, fails), range(4), 2))


def test_a_pool_waits_until_its_deadline() -> None:
    with pool(lambda: time.sleep, 1, time.monotonic() + 0.05) as workers, pytest.raises(OutOfTime):
        list(workers.answers([60]))


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_of_a_team_is_asked_by_itself_and_keeps_what_it_knows(jobs: int) -> None:
    def make(number: int) -> Callable[[str], list[str]]:
        known = [str(number)]

        def keep(word: str) -> list[str]:
            known.append(word)
            return known

        return keep

    with team(make, jobs) as workers:
        for word in ("a", "b"):
            for worker in workers:
                worker.ask(word)
            assert set(ready(workers)) <= set(workers)
            found = [worker.answer() for worker in workers]
    assert found == [[str(number), "a", "b"] for number in range(jobs)]


def test_a_team_does_not_go_on_without_one_that_died() -> None:
    with team(lambda number: squares_but(number, is_killed), 2) as workers:
        workers[1].ask(1)
        with pytest.raises(WorkerError, match=r"ended by itself \(SIGKILL; where memory ran out, --jobs"):
            workers[1].answer()
        workers[1].ask(0)
        with pytest.raises(WorkerError):
            workers[1].answer()


def test_a_process_each_shares_what_was_there_when_its_turn_came() -> None:
    made: list[int] = []

    def tasks() -> Iterator[int]:
        for n in range(4):
            made.append(n)
            yield n

    def emptied(_: int) -> list[int]:
        there = made[:]
        made.clear()
        return there

    found = list(one_process_each(emptied, tasks(), 1))
    assert found == [(n, list(range(n + 1))) for n in range(4)]


def test_what_is_not_waited_for_is_ended() -> None:
    answers = one_process_each(time.sleep, [0, 60, 60], 2, idle_s=0.05)
    assert list(islice(answers, 2)) == [(0, None), None]
    answers.close()
