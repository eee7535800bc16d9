"""Actions with many bindings are run once, with leaves for parameters: a check finds the same as if each were run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.frontend import compile_model
from checker.lang.frontend.templates import Template
from checker.lang.ir import Op
from checker.lang.loader import load

QUICKSORT = '''
from typing import Annotated
from checker.lang import Map, Range, Set, action, constants, init, invariant, message, require, state

@constants
class Size:
    n: int = 3
    "Length."

Index = Annotated[int, Range(0, lambda: Size.n - 1)]
Value = Annotated[int, Range(1, lambda: Size.n)]

@message
class Interval:
    lo: Index
    hi: Index

@state
class Sorting:
    seq: Map[Index, Value]
    todo: Set[Interval]

@init
def start(values: Map[Index, Value]) -> Sorting:
    return Sorting(seq=values, todo=frozenset({Interval(lo=0, hi=Size.n - 1)}))

def number_of(values: Map[Index, Value], value: Value) -> int:
    return sum(1 for i in range(Size.n) if values[i] == value)

@action(who="sorter", source="Quicksort.tla")
def drop(s: Sorting, lo: Index) -> None:
    """An interval of one is sorted."""
    require(Interval(lo=lo, hi=lo) in s.todo)
    s.todo = s.todo - {Interval(lo=lo, hi=lo)}

@action(who="sorter", source="Quicksort.tla")
def partition(s: Sorting, lo: Index, hi: Index, pivot: Index, new: Map[Index, Value]) -> None:
    """An interval is permuted so that what is at most at the pivot is not more than the rest."""
    require(Interval(lo=lo, hi=hi) in s.todo)
    require(lo <= pivot and pivot < hi)
    require(all(new[i] == s.seq[i] for i in range(Size.n) if i < lo or i > hi))
    if new[lo] == 1 and lo == 0:
        require(s.seq[hi] > 0 and len(s.todo) < 9)
    require(all(number_of(new, v) == number_of(s.seq, v) for v in range(1, Size.n + 1)))
    require(all(new[i] <= new[j] for i in range(lo, pivot + 1) for j in range(pivot + 1, hi + 1)))
    s.seq = new
    s.todo = (s.todo - {Interval(lo=lo, hi=hi)}) | {Interval(lo=lo, hi=pivot), Interval(lo=pivot + 1, hi=hi)}

@invariant(source="Quicksort.tla")
def sorted_in_the_end(s: Sorting) -> bool:
    """When nothing is left to do the sequence is sorted."""
    return len(s.todo) > 0 or all(s.seq[i] <= s.seq[j] for i in range(Size.n) for j in range(Size.n) if i < j)
'''


@pytest.fixture
def sort(tmp_path: Path) -> Path:
    file = tmp_path / "sort.py"
    file.write_text(QUICKSORT)
    return file


def found(file: Path, least: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("FENCEPOST_CACHE", str(file.parent / f"cache-{least}"))
    monkeypatch.setattr("checker.lang.frontend.templates.MIN_BINDINGS", least)
    report = check(load(str(file)), CheckOptions(), started=time.perf_counter()).to_json()
    report["requires"].sort(key=lambda site: (site["line"], site["text"]))
    return {name: value for name, value in report.items() if name not in ("seconds", "peak_memory_bytes", "threads")}


def test_a_check_finds_the_same(sort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    at = Template.at

    def counted(self: Template, *args: Any) -> Any:
        made.append(args)
        return at(self, *args)

    monkeypatch.setattr(Template, "at", counted)
    assert found(sort, 1 << 20, monkeypatch) == found(sort, 64, monkeypatch)
    assert len(made) == 3**3 * 27


def test_where_one_run_would_be_too_large_each_binding_is_run(sort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.lang.frontend.templates.MAX_NODES", 0)
    monkeypatch.setattr(Template, "at", None)
    assert found(sort, 64, monkeypatch)["verdict"] == "holds"


@pytest.mark.parametrize("least", [1 << 20, 64])
def test_no_code_after_a_guard_that_is_false(sort: Path, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.lang.frontend.templates.MIN_BINDINGS", least)
    program = compile_model(load(str(sort)), for_kernel=True)
    ended = [i for i in program.instances if i.events[-1].condition.op is Op.CONST]
    assert len(ended) > 600 and not any(i.updates for i in ended)
    assert {e.condition.op for i in program.instances for e in i.events[:-1]}.isdisjoint({Op.CONST})
