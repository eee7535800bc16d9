"""Figures of the storage of impl/kraft: append and fsync beside the bare disk, recovery, crash runs.

    python -m tests.benchmarks.storage recovery [--bytes N]

writes a log of 1 GiB, or of so many bytes, and recovers it.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.directories import format_directories
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.storage import QuorumStorage
from tests.benchmarks.printing import line
from tests.impl.kraft.storage.crashes import run_all
from tests.impl.kraft.storage.workload import CLUSTER

REPEATS = 5
FLUSHES = 100
SIZES = (200, 64 << 10)
CRASH_RUNS = 2_000
RECOVERED_BYTES = 64 << 20
RECORDS, RECORD_BYTES = 10, 100


def storage() -> None:
    """Append and fsync per second beside the bare disk, recovery of 64 MiB, simulated crash runs per CPU second."""
    with tempfile.TemporaryDirectory() as folder:
        for size_bytes in SIZES:
            appends(Path(folder) / str(size_bytes), size_bytes)
        recovery(Path(folder) / "recovered", RECOVERED_BYTES)
    logging.disable(logging.WARNING)
    began = time.process_time()
    run_all(range(CRASH_RUNS))
    logging.disable(logging.NOTSET)
    line("simulated crash runs per CPU second", f"{CRASH_RUNS / (time.process_time() - began):,.0f}")


def appends(folder: Path, size_bytes: int) -> None:
    """In turn: a batch appended and flushed, and the same bytes written and fsynced without anything around it."""
    opened = open_storage(folder)
    bare = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
    rates: dict[str, list[float]] = {"storage": [], "bare": []}
    for _ in range(REPEATS):
        rates["storage"].append(rate(lambda: append_and_flush(opened, size_bytes)))
        rates["bare"].append(rate(lambda: write_and_fsync(bare, size_bytes)))
    os.close(bare)
    opened.close()
    for name, found in rates.items():
        line(f"append + fsync of {size_bytes:,} bytes per second, {name}", f"{median(found):,.0f}")
    ratios = [a / b for a, b in zip(rates["storage"], rates["bare"], strict=True)]
    line("  storage to bare disk", f"{median(ratios):.2f}")


def recovery(folder: Path, size_bytes: int) -> None:
    """A log of batches of ten records of 100 bytes: seconds to recover it."""
    opened, batches = open_storage(folder), 0
    encoded = encode(RecordBatch(0, 1, 0, (Record(bytes(RECORD_BYTES)),) * RECORDS))
    while batches < size_bytes // len(encoded):
        places = range(batches, batches + 1_000)
        opened.append(b"".join((n * RECORDS).to_bytes(8, "big") + encoded[8:] for n in places), 1)
        batches += 1_000
    end = opened.flush()
    opened.close()
    began, spent = time.perf_counter(), time.process_time()
    found = open_storage(folder)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - spent
    assert found.log.end_offset == end
    found.close()
    size = sum(file.stat().st_size for file in folder.rglob("*.log"))
    line(f"log of {size / (1 << 20):,.0f} MiB in {batches:,} batches, recovered in s", f"{seconds:.2f}")
    line("  of the processor, s", f"{cpu_seconds:.2f}")
    line("  recovered to read bare", f"{seconds / bare_seconds(folder):.1f}")


def bare_seconds(folder: Path) -> float:
    """Seconds to read the log and do nothing with it."""
    began = time.perf_counter()
    for file in folder.rglob("*.log"):
        with file.open("rb") as opened:
            while opened.read(4 << 20):
                pass
    return time.perf_counter() - began


def open_storage(folder: Path) -> QuorumStorage:
    root = str(folder)
    format_directories(RealDisk(), [root], CLUSTER, 1, [], ignore_formatted=True)
    return QuorumStorage.open(RealDisk(), root)


def append_and_flush(opened: QuorumStorage, size_bytes: int) -> None:
    opened.append(encode(RecordBatch(opened.log.end_offset, 1, 0, (Record(bytes(size_bytes)),))), 1)
    opened.flush()


def write_and_fsync(file: int, size_bytes: int) -> None:
    os.write(file, bytes(size_bytes))
    os.fsync(file)


def rate(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(FLUSHES):
        act()
    return FLUSHES / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.storage")
    parser.add_argument("what", choices=["recovery"])
    parser.add_argument("--bytes", type=int, default=1 << 30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recovery(Path(folder) / "recovered", options.bytes)


if __name__ == "__main__":
    main()
