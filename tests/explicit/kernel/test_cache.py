"""Compiled kernels on disk: found again, rebuilt when damaged, safe with several writers."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from checker.errors import FencepostWarning
from checker.explicit.kernel.build import compile_kernel, load_kernel
from checker.explicit.kernel.cache import cache_directory, own_sources
from checker.explicit.search.breadth_first import search
from tests.explicit.small_models import epochs, subsets


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))


def _entry() -> Path:
    (entry,) = cache_directory().rglob("*.kernel")
    return entry


def test_a_kernel_is_found_again_with_all_it_needs() -> None:
    compiled = compile_kernel(epochs(3), "abc")
    loaded = load_kernel("abc")
    assert loaded is not None
    for name in ("key", "actions", "sites", "properties", "instances", "signatures", "counters", "words"):
        assert getattr(loaded, name) == getattr(compiled, name)
    assert loaded.layout.fields == compiled.layout.fields
    assert search(loaded, [[0, 0, 0]]).distinct == 26
    assert load_kernel("abd") is None
    assert load_kernel("abc", record_outcomes=True) is None


def test_damage_counts_as_absence() -> None:
    compile_kernel(epochs(3), "abc")
    sound = _entry().read_bytes()
    for data in (b"", sound[:20], sound[:-1], sound[:100] + b"?" + sound[101:], sound + b"!"):
        _entry().write_bytes(data)
        assert load_kernel("abc") is None
    compile_kernel(epochs(3), "abc")
    assert load_kernel("abc") is not None


def test_an_entry_in_the_place_of_another_counts_as_absent() -> None:
    """Two models' files exchanged, each of them whole: neither passes for the other."""
    compile_kernel(epochs(3), "abc")
    compile_kernel(subsets(5), "abd")
    first, second = cache_directory().rglob("*.kernel")
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    assert load_kernel("abc") is None
    assert load_kernel("abd") is None


def _write(number: int) -> int:
    compile_kernel(subsets(5), "same")
    kernel = load_kernel("same")
    return 0 if kernel is None else search(kernel, [[0]]).distinct


def test_concurrent_writers() -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(_write, range(9)) == [32] * 9
    assert {p.suffix for p in cache_directory().rglob("*") if p.is_file()} == {".kernel"}


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("FENCEPOST_CACHE", str(blocked))
    with pytest.warns(FencepostWarning, match="compiled models are not kept"):
        kernel = compile_kernel(epochs(2), "x")
    assert search(kernel, [[0, 0]]).distinct == 6
    assert load_kernel("x") is None


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FENCEPOST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "fencepost"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "fencepost"


def test_a_change_of_the_front_end_or_the_code_generator_makes_new_kernels() -> None:
    made_by = {"/".join(file.parts[-3:]) for file in own_sources()}
    assert {"checker/lang/ir.py", "lang/frontend/path.py", "explicit/kernel/codegen.py"} <= made_by
