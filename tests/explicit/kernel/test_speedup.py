"""Kernels compiled quickly are replaced by faster ones while they are used, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explicit.kernel.build import compile_kernel, load_kernel, load_quick, quick_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.native import Compilation
from checker.explicit.search.breadth_first import search
from checker.explicit.search.results import SearchResult
from checker.running.limits import Limits
from tests.explicit.async_isr import AsyncIsr


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))


INITIAL = AsyncIsr(3, 2).initial()


def quick(after_s: float) -> Kernel:
    kernel = quick_kernel(AsyncIsr(3, 2).program(), "k")
    assert kernel.speedup is not None
    kernel.speedup.after_s = after_s
    return kernel


def told(result: SearchResult) -> tuple[object, ...]:
    return result.generated, result.distinct, result.depth, result.actions, result.sites, result.seen, result.stopped


@pytest.mark.parametrize("threads", [1, 3])
def test_a_search_goes_on_with_faster_code(threads: int) -> None:
    kernel = quick(0.0)
    before = kernel.calls["expand"]
    result = search(kernel, [INITIAL], threads=threads)
    assert kernel.speedup is None and kernel.calls["expand"] is not before
    assert told(result) == told(search(compile_kernel(AsyncIsr(3, 2).program(), "k"), [INITIAL], threads=threads))


def test_the_faster_code_is_kept() -> None:
    search(quick(0.0), [INITIAL])
    found = load_kernel("k")
    assert found is not None and told(search(found, [INITIAL]))[:3] == (134129, 22456, 21)
    best = load_quick("k")
    assert best is not None and best.speedup is None


def test_a_short_search_leaves_it_at_that() -> None:
    kernel = quick(3600.0)
    assert search(kernel, [INITIAL]).distinct == 22456
    assert kernel.speedup is not None and load_kernel("k") is None
    again = load_quick("k")
    assert again is not None and again.speedup is not None
    again.speedup.after_s = 0.0
    assert search(again, [INITIAL]).distinct == 22456
    assert load_kernel("k") is not None


def test_the_time_limit_holds_while_it_is_made() -> None:
    kernel = quick(0.0)
    result = search(kernel, [INITIAL], limits=Limits(time_limit_s=1e-4))
    assert result.stopped == "time limit of 0.0001 s" and load_kernel("k") is None


def test_a_process_that_fails_leaves_the_code_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = quick(0.0)
    monkeypatch.setattr("checker.explicit.kernel.native.sys.executable", "/bin/false")
    assert search(kernel, [INITIAL]).distinct == 22456
    assert kernel.speedup is None and load_kernel("k") is None


def test_a_compilation_can_be_given_up() -> None:
    compilation = Compilation("; nothing")
    process = compilation._process
    compilation.stop()
    assert process.returncode is not None
