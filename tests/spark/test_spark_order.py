"""Sorted states: what native code makes of them is what Python's own sorting makes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.running.checkpoint import CheckpointError
from checker.spark import runs
from checker.spark.order import Order, Records, order_of
from checker.spark.runs import Folder, Run, RunReader, RunWriter, grown, mark_seen, merge_runs
from checker.spark.search import shards_of
from checker.spark.shard_tasks import parted

ALL = (1 << 64) - 1
WORDS = st.sampled_from([0, 1, 2, 1 << 63, ALL])
STATES = st.sets(st.tuples(WORDS, WORDS), max_size=20)
HIDDEN = (ALL, ALL ^ 3)  # the two lowest bits of word 1 do not count


def _records(states: set[tuple[int, int]], order: Order, meta: int = 7) -> Records:
    found = np.array([(*state, meta) for state in states], np.uint64).reshape(-1, 3)
    return found[order.sort(found[:, :2])]


def _key(state: tuple[int, ...], view: tuple[int, int]) -> int:
    return (state[1] & view[1]) << 64 | state[0] & view[0]


@settings(max_examples=60, deadline=None)
@given(st.lists(STATES, max_size=5), STATES, st.sampled_from([(ALL, ALL), HIDDEN]))
def test_merge_and_strike(parts: list[set[tuple[int, int]]], seen: set[tuple[int, int]], view: tuple[int, int]) -> None:
    order = order_of(view)
    least = [{min(s for s in part if _key(s, view) == k) for k in {_key(s, view) for s in part}} for part in parts]
    merged = order.merge(_records(part, order, meta) for meta, part in enumerate(least))
    expected: dict[int, list[tuple[tuple[int, int], int]]] = {}
    for meta, part in enumerate(least):
        for state in part:
            expected.setdefault(_key(state, view), []).append((state, meta))
    assert [_key(tuple(map(int, row)), view) for row in merged] == sorted(expected)
    for row in merged.tolist():
        found = expected[_key((row[0], row[1]), view)]
        assert row[2] == min(meta for _, meta in found)
        assert (row[1], row[0]) == min((s[1], s[0]) for s, _ in found)
    known = _records(seen, order)[:, :2].copy()
    is_seen = np.zeros(len(merged), np.uint8)
    order.mark_seen(merged, 0, known, is_seen)
    keys = {_key(state, view) for state in seen}
    assert is_seen.tolist() == [_key((row[0], row[1]), view) in keys for row in merged.tolist()]
    below = order.locate(known, merged)
    assert below.tolist() == [sum(k < order.key(state) for k in sorted(expected)) for state in known]


def _written(folder: Folder, name: str, numbers: range) -> Run:
    states = np.stack([np.array(numbers, np.uint64), np.zeros(len(numbers), np.uint64)], axis=1)
    with RunWriter(folder, name, 2) as writer:
        for start in range(0, len(states), 7):
            writer.add(states[start : start + 7])
    return writer.run


def _of(states: int) -> Run:
    return Run("", states, 0, 0, "")


def _numbers(folder: Folder, run: Run) -> list[int]:
    return [int(n) for states in RunReader(folder, run, 2).groups() for n in states[:, 0]]


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "GROUP", 10)


@pytest.mark.usefixtures("small_groups")
def test_runs_are_merged_as_streams(tmp_path: Path) -> None:
    folder, order = Folder(str(tmp_path)), order_of((ALL, ALL))
    parts = [range(0, 95, 3), range(1, 40, 3), range(41, 1000, 3), range(5000, 5001)]
    files = [_written(folder, f"levels/{k}.parquet", part) for k, part in enumerate(parts)]
    merged = merge_runs(folder, order, files, "runs/all.parquet")
    assert _numbers(folder, merged) == sorted(n for part in parts for n in part)
    assert merged.states == sum(map(len, parts))


@pytest.mark.usefixtures("small_groups")
def test_only_the_groups_next_to_candidates_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, order = Folder(str(tmp_path)), order_of((ALL, ALL))
    run = _written(folder, "levels/1.parquet", range(0, 1000, 2))
    asked: list[int] = []
    group = RunReader.group

    def counted(self: RunReader, number: int) -> Any:
        asked.append(number)
        return group(self, number)

    monkeypatch.setattr(RunReader, "group", counted)
    records = np.array([(41, 0, 0), (44, 0, 0), (702, 0, 0), (5000, 0, 0)], np.uint64)
    is_seen = np.zeros(4, np.uint8)
    mark_seen(folder, run, order, records, is_seen)
    assert is_seen.tolist() == [0, 1, 1, 0]
    assert asked == [2, 35, 49]


@pytest.mark.usefixtures("small_groups")
def test_every_byte_counts(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    run = _written(folder, "levels/1.parquet", range(25))
    path, whole = tmp_path / run.name, (tmp_path / run.name).read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match=r"levels/1\.parquet is damaged: bytes .* are not what was written"):
            _numbers(folder, run)
    path.write_bytes(whole[:-1])
    with pytest.raises(CheckpointError, match=rf"has {len(whole) - 1:,} bytes, {len(whole):,} were written"):
        _numbers(folder, run)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"levels/1\.parquet is gone"):
        _numbers(folder, run)


def test_small_runs_are_merged_and_large_ones_left() -> None:
    assert grown([_of(5)] * runs.MOST_RUNS) == 0
    assert grown([_of(5)] * (runs.MOST_RUNS + 1)) == runs.MOST_RUNS + 1
    assert grown([_of(1000), *[_of(5)] * runs.MOST_RUNS]) == runs.MOST_RUNS
    assert grown([_of(1 << 20 >> k) for k in range(runs.MOST_RUNS + 1)]) == 2


@given(st.lists(st.tuples(WORDS, WORDS, st.just(7)), max_size=30), st.integers(1, 1 << 12))
def test_states_go_to_the_shard_of_their_identity(rows: list[tuple[int, int, int]], count: int) -> None:
    records = np.array(rows, np.uint64).reshape(-1, 3)
    for view in ((ALL, ALL), HIDDEN):
        order, found = order_of(view), {}
        for shard, part in parted(order, records, count):
            assert shard not in found and 0 <= shard < count and len(part)
            found[shard] = part.tolist()
        assert sorted(row for part in found.values() for row in part) == sorted(map(list, rows))
        for part in found.values():
            assert part == [row for row in records.tolist() if row in part]  # in the order they had
        homes = {_key((row[0], row[1]), view): shard for shard, part in found.items() for row in part}
        assert all(homes[_key((a, b), view)] == s for s, part in found.items() for a, b, _ in part)


def test_states_are_spread_evenly() -> None:
    states = np.stack([np.arange(1 << 16, dtype=np.uint64), np.zeros(1 << 16, np.uint64)], axis=1)
    sizes = np.bincount(order_of((ALL, ALL)).shards(states, 64), minlength=64)
    assert sizes.min() > 0.8 * (1 << 10) and sizes.max() < 1.2 * (1 << 10)


@given(st.integers(1, 40), st.integers(1, 40))
def test_tasks_share_the_shards(shards: int, tasks: int) -> None:
    tasks = min(tasks, shards)
    parts = [list(shards_of(task, tasks, shards)) for task in range(tasks)]
    assert all(parts) and [shard for part in parts for shard in part] == list(range(shards))
    assert all(shard * tasks // shards == task for task, part in enumerate(parts) for shard in part)


def test_messages_name_places_without_their_secrets() -> None:
    folder = Folder("s3://AKIAKEY:hidden@bucket/run?region=us-east-1")
    assert folder.path("levels/1") == "bucket/run/levels/1"
    assert folder.named("levels/1") == "s3://***@bucket/run?region=us-east-1/levels/1"
    with pytest.raises(CheckpointError) as unknown:
        Folder("s3://AKIAKEY:hidden@bucket/run?colour=blue")
    assert "hidden" not in str(unknown.value) and "AKIAKEY" not in str(unknown.value)


def test_google_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def from_uri(uri: str) -> tuple[None, str]:
        opened.append(uri)
        return None, ""

    monkeypatch.setattr(runs, "fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri)))
    for place in ("gs://bucket/run", "gs://bucket/run?anonymous=true", "gs://bucket/run?retry_limit_seconds=5"):
        runs.file_system(place)
    assert [uri.partition("?")[2] for uri in opened] == [
        "retry_limit_seconds=60", "anonymous=true&retry_limit_seconds=60", "retry_limit_seconds=5"
    ]  # fmt: skip
