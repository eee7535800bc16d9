"""Searches that are stopped or killed and go on later."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Target, shortest
from checker.running.checkpoint import CheckpointError
from checker.running.limits import Limits
from tests.explicit.async_isr import AsyncIsr
from tests.explicit.small_models import line, subsets

ROOT = Path(__file__).parents[3]


def _kernel(key: str = "subsets") -> Kernel:
    return compile_kernel(subsets(10), key)


def _stopped(directory: Path, threads: int = 1) -> None:
    result = search(_kernel(), [[0]], threads=threads, checkpoint=directory, limits=Limits(max_depth=5))
    assert result.stopped == "depth limit of 5"


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 7), (7, 2), (2, 1)])
def test_a_search_goes_on_with_any_number_of_threads(tmp_path: Path, before: int, after: int) -> None:
    _stopped(tmp_path, before)
    whole = search(_kernel(), [[0]])
    resumed = search(_kernel(), [[0]], threads=after, resume=tmp_path)
    for name in ("stopped", "generated", "distinct", "depth", "actions", "sites", "seen", "witnesses"):
        assert getattr(resumed, name) == getattr(whole, name), name
    again = search(_kernel(), [[0]], resume=tmp_path, threads=3)
    assert (again.distinct, again.generated) == (whole.distinct, whole.generated)


def test_a_violation_is_still_known(tmp_path: Path) -> None:
    b = line(6)
    b.property("below three", "invariant", b.g.eq(b.nodes[0], b.g.integer(3)))
    kernel = compile_kernel(b.program, "line")
    search(kernel, [[0]], checkpoint=tmp_path)
    resumed = search(kernel, [[0]], resume=tmp_path)
    assert (resumed.broken, resumed.depth) == ({0: 4}, 4)
    assert len(shortest(kernel, resumed, Target(property=0)).words) == 4


@pytest.mark.parametrize("threads", [1, 2])
def test_a_level_that_memory_cut_short_is_not_saved(tmp_path: Path, threads: int) -> None:
    model = AsyncIsr(3, 2)
    kernel = compile_kernel(model.program(), "memory")
    peak = search(kernel, [model.initial()], threads=threads).peak_memory_bytes
    stops = 0
    for step in range(24):
        limits = Limits(memory_bytes=peak - (step << 15))
        directory = tmp_path / str(step)
        stopped = search(kernel, [model.initial()], threads=threads, limits=limits, checkpoint=directory)
        stops += stopped.stopped is not None
        if (directory / "manifest.json").exists():
            resumed = search(kernel, [model.initial()], resume=directory)
            assert (resumed.generated, resumed.distinct, resumed.depth) == (134129, 22456, 21)
    assert stops > 3
    with pytest.raises(CheckpointError, match="does not fit the memory limit"):
        search(kernel, [model.initial()], resume=tmp_path / "23", limits=Limits(memory_bytes=1 << 18))


def test_resuming_into_another_directory(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    _stopped(first)
    before = (first / "manifest.json").read_bytes()
    assert search(_kernel(), [[0]], resume=first, checkpoint=second).distinct == 1024
    assert (first / "manifest.json").read_bytes() == before
    assert search(_kernel(), [[0]], resume=second).generated == 1 + 10 * 1024 + 10 * 512


def test_bytes_beyond_the_manifest_are_dropped(tmp_path: Path) -> None:
    _stopped(tmp_path)
    with (tmp_path / "states-0").open("ab") as file:
        file.write(b"half a level")
    assert search(_kernel(), [[0]], resume=tmp_path).distinct == 1024
    assert search(_kernel(), [[0]], resume=tmp_path).distinct == 1024


def _damage(directory: Path, what: str) -> None:
    states, manifest = directory / "states-0", directory / "manifest.json"
    if what == "short":
        os.truncate(states, states.stat().st_size - 8)
    elif what == "flipped":
        states.write_bytes(b"\x01" + states.read_bytes()[1:])
    elif what == "gone":
        states.unlink()
    elif what == "manifest":
        manifest.write_text(manifest.read_text().replace("levels", "levils"))
    elif what == "text":
        manifest.write_text("{")
    elif what == "version":
        outer = json.loads(manifest.read_text())
        body = json.dumps(json.loads(outer["content"]) | {"version": 99})
        manifest.write_text(json.dumps({"digest": hashlib.sha256(body.encode()).hexdigest(), "content": body}))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("short", "shorter than the manifest says"),
        ("flipped", "checksum does not match"),
        ("gone", "No such file"),
        ("manifest", "checksum does not match"),
        ("text", "not a manifest"),
        ("version", "has format 99, this program reads 1"),
    ],
)
def test_damage_is_reported(tmp_path: Path, what: str, message: str) -> None:
    _stopped(tmp_path)
    _damage(tmp_path, what)
    with pytest.raises(CheckpointError, match=message):
        search(_kernel(), [[0]], resume=tmp_path)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
        search(_kernel(), [[0]], resume=tmp_path)
    _stopped(tmp_path)
    with pytest.raises(CheckpointError, match="already holds a checkpoint"):
        search(_kernel(), [[0]], checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="of another model"):
        search(_kernel("other"), [[0]], resume=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="file"):
        search(_kernel(), [[0]], checkpoint=tmp_path / "file")


def test_what_a_killed_process_left_in_files_of_its_own_is_gone(tmp_path: Path) -> None:
    """It had more threads than those before it, and died before its manifest named their files."""
    _stopped(tmp_path)
    (tmp_path / "states-6").write_bytes(b"of a level that nobody saved")
    search(_kernel(), [[0]], resume=tmp_path, threads=7)
    search(_kernel(), [[0]], resume=tmp_path)


def _start(directory: Path, threads: int) -> subprocess.Popen[str]:
    how = "resume" if (directory / "manifest.json").exists() else "start"
    command = [sys.executable, "-m", "tests.explicit.search.checkpointed", str(directory), str(threads), how]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_killed_at_any_moment_a_search_ends_in_the_same_counts(tmp_path: Path) -> None:
    model = AsyncIsr(3, 2)
    chance = random.Random(1)
    kills = 0
    for attempt in range(60):
        process = _start(tmp_path, (1, 2, 7)[attempt % 3])
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if kills < 6:
            time.sleep(chance.uniform(0.0, 0.06))
            process.kill()
        output, _ = process.communicate()
        if process.returncode == 0:
            break
        kills += 1
    assert kills >= 3, "the search was killed"
    whole = search(compile_kernel(model.program(), "whole"), [model.initial()])
    seen = [sorted(s.codes) if s.codes is not None else s.union for s in whole.seen]
    coverage = [vars(c) for c in [*whole.actions, *whole.sites]]
    assert json.loads(output) == [134129, 22456, 21, seen, coverage]
