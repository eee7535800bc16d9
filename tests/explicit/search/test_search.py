"""Search on models whose counts are known, and everything that can stop it."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Path, Target, shortest
from checker.explicit.search.results import SearchResult
from checker.lang.ir import EventKind
from checker.lang.program import Program
from checker.running.limits import Limits, Progress
from checker.running.memory import default_memory
from tests.explicit.async_isr import AsyncIsr
from tests.explicit.small_models import counters, epochs, history, line, messages, subsets

SHARDS = pytest.mark.parametrize("threads", [1, 2, 7])


@pytest.fixture(scope="module", autouse=True)
def small_levels_are_shared_too() -> Iterator[None]:
    """Else the levels of small models would all be expanded by one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checker.explicit.search.breadth_first.SMALL", 0)
        yield


def kernel_of(program: Program) -> Kernel:
    return compile_kernel(program, "test")


def zeros(program: Program) -> list[list[int]]:
    return [[0] * len(program.leaves)]


def run(program: Program, threads: int = 1, **options: Any) -> tuple[Kernel, SearchResult]:
    kernel = kernel_of(program)
    return kernel, search(kernel, zeros(program), threads=threads, **options)


@SHARDS
@pytest.mark.parametrize(("bounds", "counts"), [((3, 2), (134129, 22456, 21)), ((4, 3), (1666321, 287160, 28))])
def test_async_isr(bounds: tuple[int, int], counts: tuple[int, int, int], threads: int) -> None:
    model = AsyncIsr(*bounds)
    result = search(kernel_of(model.program()), [model.initial()], threads=threads)
    assert (result.generated, result.distinct, result.depth) == counts
    assert result.stopped is None and not result.violated
    assert sum(action.new for action in result.actions) == result.distinct - 1
    assert sum(action.fired for action in result.actions) == result.generated - 1


@SHARDS
def test_counters_and_cuts(threads: int) -> None:
    n, k = 6, 4
    kernel, result = run(counters(n, k), threads)
    assert result.distinct == n**k
    assert result.generated == 1 + k * (n - 1) * n ** (k - 1)
    assert result.depth == k * (n - 1) + 1
    assert list(result.cuts(kernel.sites).values()) == [k * n ** (k - 1)]
    action = result.actions[0]
    assert (action.attempts, action.enabled, action.cut) == (k * n**k, k * n**k, k * n ** (k - 1))
    assert result.witnesses == {0: result.depth}
    assert result.seen[0].codes == frozenset(range(n))
    assert result.deadlock is None


@SHARDS
def test_sets(threads: int) -> None:
    n = 11
    _, result = run(subsets(n), threads)
    assert (result.distinct, result.depth) == (2**n, n + 1)
    assert result.actions[0].attempts == result.actions[0].fired == n * 2 ** (n - 1)
    assert result.generated == 1 + n * 2**n + n * 2 ** (n - 1)
    assert result.seen[0].union == 2**n - 1


@SHARDS
def test_bags(threads: int) -> None:
    _, result = run(messages(3, 5), threads)
    assert result.distinct == math.comb(8, 5)


@SHARDS
def test_ordinals(threads: int) -> None:
    weak_orders = [1, 1, 3, 13, 75]
    _, result = run(epochs(4), threads)
    assert result.distinct == sum(math.comb(4, j) * weak_orders[j] for j in range(5))


@SHARDS
def test_a_view_hides_history(threads: int) -> None:
    kernel, result = run(history(), threads)
    assert (result.distinct, result.depth, result.generated) == (4, 3, 9)
    stored = [words for shard in result.exploration.shards for words in shard.states(0, shard.count)]
    states = sorted(kernel.layout.unpack(words) for words in stored)
    assert states == [[0, 0], [1, 0], [2, 0], [3, 1]]  # up, up is kept for 2: the least words


@SHARDS
def test_deadlock(threads: int) -> None:
    b = line(5)
    b.property("goes on", "deadlock")
    b.program.terminal = b.g.false
    kernel, result = run(b.program, threads)
    assert (result.deadlock, result.broken) == (5, {0: 5})
    for target in (Target(deadlock=True), Target(property=0)):
        assert shortest(kernel, result, target).words == [(i,) for i in range(5)]


def test_a_terminal_state_is_no_deadlock() -> None:
    b = line(5)
    b.property("goes on", "deadlock")
    _, result = run(b.program)
    assert result.deadlock is None and not result.broken


@SHARDS
def test_states_outside_the_constraint_are_generated_and_checked_only(threads: int) -> None:
    b = line(8)
    over = b.g.lt(b.g.integer(3), b.nodes[0])
    after = b.g.lt(b.g.integer(3), b.g.add(b.nodes[0], b.g.integer(1)))
    b.program.outside = over
    b.instances.append(b.instances.pop().__class__(0, (0,), (), {0: b.g.add(b.nodes[0], b.g.integer(1))}, (), after))
    b.property("below four", "invariant", over)
    b.property("four is reached", "witness", over)
    kernel, result = run(b.program, threads)
    assert (result.generated, result.distinct, result.depth) == (5, 4, 4)
    assert (result.broken, result.witnesses) == ({0: 5}, {})
    assert shortest(kernel, result, Target(property=0)).words == [(i,) for i in range(5)]
    assert search(kernel, [[6], [2]], threads=threads).broken == {0: 1}


@SHARDS
def test_errors_and_transition_properties(threads: int) -> None:
    b = line(8)
    (c,) = b.nodes
    two, up = b.g.eq(c, b.g.integer(2)), b.g.add(c, b.g.integer(1))
    b.step(0, [b.event(EventKind.ERROR, 0, b.g.eq(c, b.g.integer(4)))], {0: up}, ((0, two),))
    b.property("not from two", "transition invariant")
    kernel, result = run(b.program, threads, all_violations=True, limits=Limits(max_depth=6))
    (site,) = result.errors
    assert (result.broken, result.errors) == ({0: 4}, {site: 5})
    assert shortest(kernel, result, Target(property=0)) == Path([0, 0, 1], [(0,), (1,), (2,), (3,)])
    assert shortest(kernel, result, Target(site=site)) == Path([0, 0, 0, 0, 1], [(i,) for i in range(5)], site)
    assert result.actions[0].errors == 1
    _, first = run(b.program, threads)
    assert (first.broken, first.errors, first.depth) == ({0: 4}, {}, 4)


def test_limits_stop_cleanly() -> None:
    model = AsyncIsr(4, 3)
    kernel = kernel_of(model.program())
    for limits, reason in [
        (Limits(max_states=1000), "limit of 1000 states"),
        (Limits(max_depth=5), "depth limit of 5"),
        (Limits(time_limit_s=0.0), "time limit of 0 s"),
        (Limits(memory_bytes=3 << 20), "memory limit"),
    ]:
        for threads in (1, 2):
            result = search(kernel, [model.initial()], threads=threads, limits=limits)
            assert result.stopped is not None and result.stopped.startswith(reason)
            assert 0 < result.distinct < 287160
    assert search(kernel, [model.initial()], limits=Limits(max_depth=28)).depth == 28


def test_a_search_that_is_done_was_not_stopped() -> None:
    limits = Limits(max_states=64, max_depth=7)
    _, result = run(subsets(6), limits=limits)
    assert (result.stopped, result.distinct) == (None, 64) or result.stopped == "limit of 64 states"


def test_memory_per_state() -> None:
    model = AsyncIsr(4, 3)
    result = search(kernel_of(model.program()), [model.initial()])
    boxes = 1 << 20  # what does not grow with the states
    assert result.peak_memory_bytes - boxes <= result.distinct * (result.bytes_per_state + 24)
    assert default_memory() > 1 << 20


def test_interrupt() -> None:
    model = AsyncIsr(4, 3)
    before = signal.getsignal(signal.SIGINT)

    def interrupt(progress: Progress) -> None:
        if progress.depth == 9 and progress.queue == 0:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    for threads in (1, 2):
        result = search(kernel_of(model.program()), [model.initial()], threads=threads, progress=interrupt)
        assert result.stopped == "interrupted"
        assert result.depth == 10
    assert signal.getsignal(signal.SIGINT) is before


def test_a_search_outside_the_main_thread() -> None:
    results: list[SearchResult] = []
    worker = threading.Thread(target=lambda: results.append(run(subsets(5))[1]))
    worker.start()
    worker.join()
    assert results[0].distinct == 32


def test_progress_is_reported() -> None:
    model = AsyncIsr(3, 2)
    told: list[Progress] = []
    result = search(kernel_of(model.program()), [model.initial()], progress=told.append)
    assert [p.depth for p in told] == list(range(1, 22))
    assert (told[-1].generated, told[-1].queue) == (result.generated, 0)
    assert sum(p.frontier for p in told) == result.distinct


def test_stopping_at_a_witness() -> None:
    _, result = run(counters(3, 3), stop_on_witness=0)
    assert result.witnesses == {0: 7}
    b = line(9)
    b.property("three", "witness", b.g.eq(b.nodes[0], b.g.integer(3)))
    kernel, result = run(b.program, stop_on_witness=0)
    assert (result.depth, result.witnesses) == (4, {0: 4})
    assert len(shortest(kernel, result, Target(property=0)).words) == 4


def test_a_failing_callback_ends_the_search() -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("no")

    for threads in (1, 3):
        with pytest.raises(RuntimeError, match="no"):
            run(subsets(5), threads, progress=fail)


def test_bad_numbers_of_threads() -> None:
    with pytest.raises(ValueError, match="threads must be 1 to 256, not 0"):
        run(subsets(2), 0)
