"""Seeded crash runs: a storage works, is crashed, recovered and goes on, some lives long; the ledger judges each.

python -m tests.impl.kraft.storage.crashes --runs 100000 --resume-from build/crash-runs.txt
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

from impl.kraft.simulation.kafka_files import flush_point
from impl.kraft.storage.batches import LENGTH_END, BatchError, Record, headers
from impl.kraft.storage.control import ControlType
from impl.kraft.storage.disk import read_whole
from impl.kraft.storage.election import QUORUM_STATE, ElectionState
from impl.kraft.storage.errors import BitRotError, DiskFullError, StorageEndedError, StorageError
from impl.kraft.storage.flush_point import NAME
from impl.kraft.storage.simulated_disk import Fault, PowerLossError, ProcessKilledError, SimulatedDisk
from impl.kraft.storage.snapshots import PART, Snapshots, name_of
from tests.impl.kraft.storage.ledger import BrokenPromise, Ledger
from tests.impl.kraft.storage.workload import (
    DIRECTORY,
    EVEN_BYTES,
    FOREVER_MS,
    OPERATIONS,
    Worker,
    formatted,
    settings_of,
)

LIVES = 4
_STEP = 500


class Run:
    """One seed: faults and how often, sizes, and the mix of operations are all drawn from it.

    lost_power: since the last recovery that came to its end. Until the next one does, the flush point may be old.
    flips: its rot is a bit of the log that flips behind a power loss, which may have left a torn tail.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.disk = formatted(SimulatedDisk(rng.randrange, sector_bytes=rng.choice([64, 512])))
        self.ledger = Ledger()
        self.wide = Random(f"wide {seed}") if seed % 2 else None
        segment_bytes = rng.choice([150, 400, 1_500, 1 << 30])
        if self.wide is None:
            self.settings = settings_of(self.disk, segment_bytes)
        else:
            segment_ms = self.wide.choice([200, 900, FOREVER_MS])
            segment_bytes = self.wide.choice([9_000, 20_000, 1 << 30, 4 * EVEN_BYTES])
            self.settings = settings_of(self.disk, segment_bytes, segment_ms=segment_ms)
        self.faults = [fault for fault in Fault if rng.randrange(2)] or [Fault.POWER_LOSS]
        self.rots = rng.randrange(3) == 0
        self.weights = [weight * rng.randrange(3) for weight, _ in OPERATIONS.values()]
        self.weights[0] += 1
        self.flips = seed % 5 == 3
        if self.flips:
            self.settings = settings_of(self.disk, 1 << 30)
            self.faults, self.rots, self.weights = [Fault.POWER_LOSS], True, [3, 1, 1, 0, 0, 0, 0]
        self.excused_from: int | None = None
        self.lost_power = False
        self.seen: Counter[str] = Counter()

    def go(self) -> Counter[str]:
        """How often each fault happened. Raises BrokenPromise; BitRotError where nothing is rotten."""
        for _ in range(self.rng.randrange(1, LIVES)):
            self.live()
            if self.rots and (self.flips or self.rng.randrange(2)):
                self.rot()
                damaged, is_begun = logs(self.disk), any(".tail" in path for path in self.disk.image())
                try:
                    self.worker().open(self.excused_from)
                    self.seen["rot that did no harm"] += 1
                except BitRotError:
                    if logs(self.disk) != damaged and not is_begun:
                        raise BrokenPromise("a log that is refused was changed") from None
                return self.seen
        self.recover_twice()
        return self.seen

    def live(self) -> None:
        """One process, from its start to its end."""
        rng, disk = self.rng, self.disk
        fault = rng.choice(self.faults)
        if self.wide is not None and self.ledger.log and self.wide.randrange(4) == 0:
            leave_unfinished_snapshot(disk, self.ledger, self.wide)
        disk.operations = 0
        if fault is not Fault.FULL:
            disk.faults = {rng.randrange(1, 60): fault}
        try:
            worker = self.worker().open()
            self.lost_power = False
            if fault is Fault.FULL:
                disk.capacity_bytes = disk.used_bytes() + rng.randrange(3_000)
            self.work(worker)
        except PowerLossError:
            self.lose_power(fault)
            return
        except (ProcessKilledError, StorageError, OSError) as ended:
            if isinstance(ended, BitRotError) or not is_of_a_disk(ended):
                raise
            self.seen[fault.name] += 1
        else:
            if fault is Fault.POWER_LOSS:
                self.lose_power(fault)
                return
        disk.capacity_bytes = None
        disk.after_kill()

    def work(self, worker: Worker) -> None:
        operations = [operation for _, operation in OPERATIONS.values()]
        for operation in self.rng.choices(operations, self.weights, k=self.rng.randrange(2, 25)):
            try:
                operation(worker)
            except DiskFullError:
                persist_all_the_same(worker)
                raise
            except StorageEndedError:
                self.disk.faults = {}
                refuses_everything(worker)
                raise

    def lose_power(self, fault: Fault) -> None:
        self.seen[fault.name] += 1
        self.disk = self.disk.after_power_loss()
        self.lost_power = True

    def recover_twice(self) -> None:
        """Whether a crash interrupts a recovery or not, the next finds what this one has found."""
        self.disk.operations, self.disk.faults = 0, {self.rng.randrange(1, 25): Fault.POWER_LOSS}
        try:
            self.worker().open()
        except PowerLossError:
            self.seen["power lost in a recovery"] += 1
        self.disk = self.disk.after_power_loss()
        self.worker().open()
        found = self.ledger.log
        self.disk = self.disk.after_power_loss()
        last = self.worker().open()
        if self.ledger.log != found:
            raise BrokenPromise("a second recovery finds another log")
        if self.wide is not None:  # so that several segments are closed, and one is cut before
            last.append(6)
            last.truncate()
            last.append(9)
            last.flush()
        last.close()
        if self.wide is not None:
            self.misread_election(self.wide)

    def misread_election(self, rng: Random) -> None:
        """What nobody writes into `quorum-state` is refused."""
        path = f"{DIRECTORY}/{QUORUM_STATE}"
        fields = json.loads(self.disk.image().get(path, b"null"))
        if fields is None:
            return
        fields[rng.choice(["leaderEpoch", "leaderId", "votedId"])] = nonsense = rng.choice([-2, 1.5, True, None, "1"])
        self.disk.damage(path, json.dumps(fields).encode())
        with suppress(BitRotError):
            self.worker().open()
            raise BrokenPromise(f"{QUORUM_STATE} is read that has {nonsense!r}")

    def rot(self) -> None:
        """Damage a file: a bit flips, a sector that was written is lost, a log is too short.

        After a power loss, or a failed write of the flush point, what is behind it may look like a torn tail.
        """
        files = {path: data for path, data in self.disk.image().items() if path.startswith(DIRECTORY)}
        paths = [path for path, data in files.items() if data and not path.endswith(UNCHECKED)]
        if not paths:
            return
        path = self.rng.choice([path for path in paths if path.endswith(".log")] or paths)
        if not self.flips and self.rng.randrange(4) == 0:
            path = self.rng.choice(paths)
        is_log = path.endswith(".log")
        kind = self.rng.choice(OF_OTHERS if not is_log else OF_FLIPS if self.flips else OF_LOGS)
        damaged, looks_torn = rotten(files[path], self.rng, self.disk.sector_bytes, kind, is_log=is_log)
        self.disk.damage(path, damaged)
        self.seen["rot"] += 1
        self.ledger.is_rotten = True
        known = flush_point(files.get(f"{DIRECTORY}/{NAME}", b""))
        if looks_torn and (self.lost_power or known is None):
            self.excused_from = known or 0

    def worker(self) -> Worker:
        is_even = self.wide is not None and self.settings.log.segment_bytes % EVEN_BYTES == 0
        return Worker(self.disk, self.ledger, self.settings, self.rng, wide=self.wide, is_even=is_even)


def leave_unfinished_snapshot(disk: SimulatedDisk, ledger: Ledger, rng: Random) -> None:
    """What has the name of a snapshot and no footer, as who renames before all is written leaves it, is none."""
    snapshot_id = (ledger.end + 7, ledger.epoch + 1)
    writing = SimulatedDisk()
    writer = Snapshots(writing, "").create(snapshot_id, 0, now_ms=0)
    writer.append([Record(b"", key=rng.choice([None, bytes([0, 0, 0, ControlType.SNAPSHOT_FOOTER])]))])
    data = read_whole(writing, f"/{name_of(snapshot_id)}{PART}")
    file = disk.open(f"{DIRECTORY}/{name_of(snapshot_id)}", create=True)
    file.write(0, data[: rng.choice(batch_bounds(data))])
    file.fsync()
    file.close()
    disk.sync_directory(DIRECTORY)


def is_of_a_disk(ended: Exception) -> bool:
    """A process ends by what a disk does, and by no error of its own."""
    error = ended.__cause__ or ended
    return not isinstance(error, OSError) or error.errno in (errno.EIO, errno.ENOSPC)


UNCHECKED = ("quorum-state", "partition.metadata")
"""Kafka's formats have no checksum for these: a bit that turns one number into another is not seen."""


class Damage(Enum):
    """What happens to a file; the last two to a log alone, a bit of which flips."""

    BIT = auto()
    SECTOR = auto()
    END = auto()
    HEADER = auto()
    "In the base offset, length or epoch of a batch, which no CRC covers."
    LAST = auto()
    "In the last whole batch."


OF_OTHERS = (Damage.BIT, Damage.SECTOR)
OF_LOGS = (Damage.BIT, Damage.SECTOR, Damage.END, Damage.HEADER)
OF_FLIPS = (Damage.HEADER, Damage.LAST)


def rotten(data: bytes, rng: Random, sector_bytes: int, kind: Damage, *, is_log: bool) -> tuple[bytes, bool]:
    """The damaged bytes, and whether a crash might have left the like where they were not flushed."""
    damaged = bytearray(data)
    *starts, whole_bytes = batch_bounds(data) if is_log else [0]
    at = rng.randrange(len(data))
    match kind:
        case Damage.SECTOR:
            at -= at % sector_bytes
            damaged[at : at + sector_bytes] = bytes(min(sector_bytes, len(data) - at))
            return bytes(damaged), is_log
        case Damage.END:
            del damaged[rng.choice([at, *starts]) :]
            return bytes(damaged), is_log
        case Damage.HEADER if starts:
            at = min(rng.choice(starts) + rng.choice([rng.randrange(16), rng.randrange(8, LENGTH_END)]), len(data) - 1)
        case Damage.LAST if starts:
            at = rng.randrange(starts[-1], whole_bytes)
    damaged[at] ^= 1 << rng.randrange(8)
    start = max((one for one in starts if one <= at), default=0)
    is_before_torn_tail = start == max(starts, default=0) and at < start + LENGTH_END and whole_bytes < len(data)
    end = min((one for one in (*starts, whole_bytes) if one > at), default=len(data))
    return bytes(damaged), is_log and (is_before_torn_tail or has_hole(damaged, start, end, sector_bytes))


def has_hole(data: Sequence[int], start: int, end: int, sector_bytes: int) -> bool:
    """Is a sector all zeros between two positions, or what of it lies there?"""
    bounds = [start, *range(start + sector_bytes - start % sector_bytes, end, sector_bytes), end]
    return any(not any(data[one:other]) for one, other in pairwise(bounds))


def logs(disk: SimulatedDisk) -> dict[str, bytes]:
    return {path: data for path, data in disk.image().items() if path.endswith(".log")}


def batch_bounds(data: bytes) -> list[int]:
    """Where each whole batch begins, and the last ends. Where a tail is torn, a batch may lack only its offset."""
    found, end_offset = [0], None
    with suppress(BatchError):
        for at, header in headers(data):
            if end_offset not in (None, header.base_offset):
                break
            found.append(at + header.size_bytes)
            end_offset = header.end_offset
    return found


def persist_all_the_same(worker: Worker) -> None:
    """On a full disk a leader resigns, and a vote can be given; nothing is appended behind what was begun."""
    try:
        worker.persist()
    except DiskFullError:
        raise BrokenPromise("on a full disk no election state can be persisted") from None
    with suppress(DiskFullError):
        worker.storage.append(b"", 1)
        raise BrokenPromise("a storage appends behind an append that failed for want of space")


def refuses_everything(worker: Worker) -> None:
    """Behind a write that failed, whatever comes later proves nothing."""
    storage = worker.storage
    for attempt in (storage.flush, partial(storage.persist, ElectionState(1)), partial(storage.truncate, 1 << 40)):
        with suppress(StorageEndedError):
            attempt()
            raise BrokenPromise("a storage goes on behind a write that failed") from None


def run_all(seeds: range) -> Counter[str]:
    """All of these seeds. Raises BrokenPromise, which names the seed."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        try:
            seen += Run(seed).go()
        except (BrokenPromise, BitRotError) as broken:
            raise BrokenPromise(f"seed {seed}: {broken}") from broken
    return seen


def main(arguments: Sequence[str]) -> int:
    """0: every promise was kept; 1: one was broken; 3: interrupted, to be resumed."""
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.storage.crashes")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--resume-from", type=Path, help="a file that keeps how many have passed")
    options = parser.parse_args(arguments)
    file, done = options.resume_from, 0
    if file is not None and file.exists():
        done = int(file.read_text())
    began, first = time.process_time(), done
    logging.disable(logging.WARNING)
    try:
        while done < options.runs:
            run_all(range(done, min(done + _STEP, options.runs)))
            done = min(done + _STEP, options.runs)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{done}\n")
            rate = (done - first) / (time.process_time() - began)
            print(f"{done:,} of {options.runs:,} crash runs, {rate:,.0f} a CPU second", flush=True)
    except BrokenPromise as broken:
        print(f"violated: {broken}")
        return 1
    except KeyboardInterrupt:
        print(f"incomplete: {done:,} crash runs are done")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
