"""kill -9 of real processes that write through the real disk interface, each at a random moment; then recovery.

    python -m tests.impl.kraft.storage.kills --runs 500

A writer draws its operations from a seed, so that the judge can draw them again: the writer says on a pipe how many it
has done, and the judge lets the same operations happen on a disk in memory. The system survives, so all of what was
done must be there, and of what was under way any part that the ledger allows.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from impl.kraft.storage.directories import format_directories
from impl.kraft.storage.errors import BitRotError
from impl.kraft.storage.log import LogSettings
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.simulated_disk import Fault, ProcessKilledError, SimulatedDisk
from impl.kraft.storage.storage import QuorumStorage, StorageSettings
from tests.impl.kraft.storage.ledger import BrokenPromise, Ledger
from tests.impl.kraft.storage.workload import CLUSTER, OPERATIONS, Worker, formatted

SETTINGS = StorageSettings(LogSettings(segment_bytes=1_500), reserve_bytes=512)
_LONGEST_S = 0.3


def work(worker: Worker) -> None:
    """The next operation of a seed."""
    operations, weights = [one for _, one in OPERATIONS.values()], [weight for weight, _ in OPERATIONS.values()]
    [operation] = worker.rng.choices(operations, weights)
    operation(worker)


def write_until_killed(root: str, seed: int) -> None:
    """A byte on standard output once the storage is open, and for each operation that is done."""
    worker = Worker(RealDisk(), Ledger(), SETTINGS, Random(seed), root).open()
    while True:
        os.write(1, b".")
        work(worker)


def run(directory: Path, seed: int) -> int:
    """Kill one writer, and recover; how many operations it had done. Raises BrokenPromise, BitRotError."""
    root = str(directory / str(seed))
    format_directories(RealDisk(), [root], CLUSTER, 1, [])
    command = [sys.executable, "-m", "tests.impl.kraft.storage.kills", "--write", root, "--first", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        begun = process.stdout.read(1)
        time.sleep(random.random() * _LONGEST_S)
        process.kill()
        done = len(process.stdout.read())
    if not begun:
        raise BrokenPromise(f"seed {seed}: the writer ended with code {process.returncode} before it was killed")
    judge(root, seed, done)
    shutil.rmtree(root)
    return done


def judge(root: str, seed: int, done: int) -> None:
    """Is what the real disk has allowed after so many operations, with some part of the next?"""
    storage = QuorumStorage.open(RealDisk(), root, SETTINGS)
    try:
        says = ""
        for ledger in ledgers_after(seed, done):
            try:
                ledger.check(storage)
                return
            except BrokenPromise as broken:
                says = str(broken)
        raise BrokenPromise(f"seed {seed}, killed after {done} operations: {says}")
    finally:
        storage.close()


def ledgers_after(seed: int, done: int) -> Iterator[Ledger]:
    """The ledgers that a writer may have had: the same operations in memory, the next killed at each of its writes."""
    killed_at, goes_on = 0, True
    while goes_on:
        killed_at += 1
        disk = formatted(SimulatedDisk())
        worker = Worker(disk, Ledger(), SETTINGS, Random(seed)).open()
        for _ in range(done):
            work(worker)
        disk.operations, disk.faults = 0, {killed_at: Fault.KILL}
        try:
            work(worker)
            goes_on = False
        except ProcessKilledError:
            pass
        yield worker.ledger


def main(arguments: Sequence[str]) -> int:
    """0: every promise was kept; 1: one was broken; 3: interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.storage.kills")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--write", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    if options.write:
        write_until_killed(options.write, options.first)
    operations = run_number = 0
    try:
        with tempfile.TemporaryDirectory() as directory:
            for run_number in range(1, options.runs + 1):
                operations += run(Path(directory), options.first + run_number - 1)
                if run_number % 50 == 0 or run_number == options.runs:
                    print(
                        f"{run_number:,} of {options.runs:,} processes killed, {operations:,} operations done",
                        flush=True,
                    )
    except (BrokenPromise, BitRotError) as broken:
        print(f"violated: {broken}")
        return 1
    except KeyboardInterrupt:
        print(
            f"incomplete: {run_number - 1:,} processes were killed; go on with --first {options.first + run_number - 1}"
        )
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
