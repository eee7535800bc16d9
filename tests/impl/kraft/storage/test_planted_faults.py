"""The crash runs can fail: each rule of the storage, left out, is found by them; most within a hundred seeds."""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from impl.kraft.storage.errors import BitRotError
from tests import fragments
from tests.impl.kraft.storage.crashes import Run
from tests.impl.kraft.storage.exhaustive import explore_failed_writes, explore_torn_sector
from tests.impl.kraft.storage.ledger import BrokenPromise
from tests.impl.kraft.storage.workload import SCRIPTS

MOST_SEEDS = 2_500


@dataclass(frozen=True)
class Fault:
    """In a function of a module of `impl.kraft.storage`, `new` stands for `old`; see tests.fragments.

    script: the workload whose every failing write finds it. torn_sector: `explore_torn_sector` does. Else seeded runs.
    """

    rule: str
    module: str
    function: str
    old: str
    new: str = ""
    script: str = ""
    torn_sector: bool = False

    def __str__(self) -> str:
        return self.rule


FAULTS = [
    # What a vote rests on.
    Fault("the temporary file is fsynced before it is renamed", "disk", "write_durably", "file.fsync()"),
    Fault("a rename is synced", "disk", "write_durably", "disk.sync_directory(directory)"),
    Fault(
        "the election state is replaced as a whole",
        "election",
        "write_election",
        "write_durably(disk, directory, QUORUM_STATE, to_json(state))",
        """
        file = disk.open(f"{directory}/{QUORUM_STATE}", create=True)
        file.truncate(0)
        file.write(0, to_json(state))
        file.fsync()
        """,
    ),
    # What a fetch, and the leader's own count, rest on.
    Fault("a flush fsyncs", "log", "PendingFlush.run", "self.segment.file.fsync()", "pass"),
    Fault(
        "a flush is credited with what it began with",
        "log",
        "Log.finish_flush",
        "self._flushed(pending.end_offset)",
        "self._flushed(self.end_offset)",
    ),
    Fault(
        "the flush point follows the flush",
        "log",
        "Log.begin_flush",
        "self._flushes += 1",
        """
        self._flushes += 1
        self._flush_point.advance(self.end_offset)
        """,
    ),
    # Truncation.
    Fault("a truncation is fsynced before the next append", "segment", "Segment.cut", "self.file.fsync()"),
    Fault(
        "the flush point is lowered before a truncation",
        "log",
        "Log.truncate",
        "self._flush_point.set_durably(min(end_offset, self.flushed_end))",
    ),
    Fault(
        "the epochs are written after a truncation",
        "log",
        "Log.truncate",
        "write_checkpoint(self._disk, self._directory, self.epochs)",
    ),
    # Segments.
    Fault("the old segment is flushed before a new one", "log", "Log._roll", "self._active.file.fsync()"),
    Fault(
        "the name of a new segment is synced",
        "log",
        "Log._begin_segment",
        "self._disk.sync_directory(self._directory)",
    ),
    Fault("segments go one after the other", "log", "Log._drop", "self._disk.sync_directory(self._directory)"),
    Fault(
        "an epoch is on disk before its first batch",
        "log",
        "Log._write",
        "write_checkpoint(self._disk, self._directory, self.epochs)",
        "pass",
    ),
    # Snapshots.
    Fault("a snapshot is fsynced before it is renamed", "snapshots", "SnapshotWriter.sync", "self._file.fsync()"),
    Fault("so is one that was fetched", "snapshots", "SnapshotReceiver.freeze", "self._file.fsync()"),
    Fault(
        "a snapshot's name is synced before anything is deleted",
        "snapshots",
        "Snapshots.commit",
        "self._disk.sync_directory(self._directory)",
    ),
    Fault("an emptied log lowers its flush point", "log", "Log.restart_at", "self._flush_point.set_durably(0)"),
    Fault("a log behind its snapshot is emptied", "log", "Log.open", "log._cover(snapshot)"),
    # Writes that fail.
    Fault(
        "a write that fails ends the storage",
        "storage",
        "QuorumStorage.failed",
        'self._ended = f"{self._directory}: {error}"',
        "pass",
    ),
    Fault(
        "nothing is appended behind a full disk",
        "storage",
        "QuorumStorage._appending",
        "if self._is_full:\n    raise DiskFullError("
        'f"{self._directory}: there was no space left: free some, and start the process again")',
    ),
    Fault("a reserve is given up for the election state", "storage", "QuorumStorage.persist", "self._delete_reserve()"),
    Fault(
        "what is read at a start may be in memory only, and is written again",
        "log",
        "Log._make_durable",
        "write_again(self._disk, self._directory, active.base_offset, active.file, position, active.size_bytes)",
        "active.file.fsync()",
    ),
    Fault(
        "a copy of what is written again is on disk before",
        "tail",
        "write_again",
        "disk.sync_directory(directory)",
        torn_sector=True,
    ),
    Fault("so are its bytes", "tail", "write_again", "copy.fsync()", torn_sector=True),
    Fault(
        "a start that did not finish is finished",
        "tail",
        "finish",
        "_put_back(disk, directory, name, copy, segment, int(match[2]))",
        "pass",
        torn_sector=True,
    ),
    Fault("the copy goes once it is written", "tail", "_put_back", 'disk.delete(f"{directory}/{name}")'),
    Fault(
        "the size that is read at a start is written again",
        "tail",
        "make_size_durable",
        'segment.write(size_bytes, b"\\0")',
        script="truncate",
    ),
    Fault("what is read at a start is fsynced", "tail", "make_size_durable", "segment.fsync()"),
    Fault(
        "names are synced before they are relied on",
        "storage",
        "QuorumStorage.__init__",
        "disk.sync_directory(directory)",
        script="install",
    ),
    Fault("so is the directory's own", "storage", "QuorumStorage.open", "disk.sync_directory(metadata_directory)"),
    # Recovery.
    Fault(
        "a torn tail is no rot",
        "log",
        "Log._load_segment",
        "not is_last or not is_torn(segment, damage, self._settings.sector_bytes)",
        "True",
    ),
    Fault(
        "sectors reach the disk in any order",
        "recovery",
        "is_torn",
        "_has_hole(rest, end, damage, sector_bytes) or (following is None and _is_cut_off(rest))",
        "following is None",
    ),
    Fault("what was flushed is not too short", "log", "Log._load", "max(self.end_offset, covered) < flushed", "False"),
    Fault("there is no gap between segments", "log", "Log._load", "base_offset != self.end_offset", "False"),
    Fault("a CRC is compared", "batches", "header_at", "found != header.crc", "False"),
    Fault("offsets are compared", "recovery", "scan", "header.base_offset != segment.end_offset", "False"),
    Fault("epochs are compared", "log", "Log._load", "self._compare_epochs()"),
    # What is refused, and what goes.
    Fault("a batch has the magic of version 2", "batches", "header_at", "header.magic != MAGIC", "False"),
    Fault("a number has ten bytes at most", "batches", "Reader.uvarint", "shift > 63", "False"),
    Fault("a log that was cut is flushed as a whole", "log", "Log.truncate", "self._flushed(self.end_offset)"),
    Fault(
        "older snapshots get other names",
        "snapshots",
        "Snapshots.delete_before",
        "self._disk.rename(path, path + DELETED)",
    ),
    Fault(
        "a segment has its time",
        "log",
        "Log._is_full",
        "header.max_timestamp - began_ms > self._settings.segment_ms",
        "header.max_timestamp - began_ms >= self._settings.segment_ms",
    ),
]


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The fault is in force."""
    module = importlib.import_module(f"impl.kraft.storage.{fault.module}")
    owner_name, _, name = fault.function.rpartition(".")
    owner: Any = getattr(module, owner_name) if owner_name else module
    right = inspect.getattr_static(owner, name)
    source = right if inspect.isfunction(right) else right.__func__
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(source)))).body
    assert isinstance(tree, ast.FunctionDef)
    changed = fragments.changed(tree, fault.old, textwrap.dedent(fault.new))
    names = dict[str, Any]()
    text = f"from __future__ import annotations\n{ast.unparse(changed)}"
    exec(compile(text, module.__file__ or "", "exec"), module.__dict__, names)
    users = [owner] if owner_name else [m for m in modules() if getattr(m, name, None) is right]
    for user in users:
        setattr(user, name, names[name])
    try:
        yield
    finally:
        for user in users:
            setattr(user, name, right)


def modules() -> list[Any]:
    """The modules of the storage: what a module has imported by name is planted there, too."""
    names = (
        "disk",
        "batches",
        "election",
        "epochs",
        "log",
        "recovery",
        "segment",
        "snapshots",
        "directories",
        "storage",
        "tail",
    )
    return [importlib.import_module(f"impl.kraft.storage.{name}") for name in names]


def found_by(fault: Fault) -> str:
    """The first run that breaks a promise, and how; "" if none does."""
    broken = (BrokenPromise, BitRotError, AssertionError, ValueError, IndexError, FileNotFoundError)
    if fault.script or fault.torn_sector:
        try:
            if fault.torn_sector:
                explore_torn_sector()
            else:
                explore_failed_writes(SCRIPTS[fault.script][1], SCRIPTS[fault.script][0])
        except broken as error:
            return f"a failing write: {error}"
        return ""
    for seed in range(MOST_SEEDS):
        try:
            Run(seed).go()
        except broken as error:
            return f"seed {seed}: {error}"
    return ""


@pytest.fixture(autouse=True)
def no_log_lines() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.sample(3)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_rule_that_is_left_out_is_found(fault: Fault) -> None:
    with planted(fault):
        found = found_by(fault)
    assert found, f"every promise is kept without the rule: {fault}"
    print(found[:150])
