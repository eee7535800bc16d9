"""Every crash of a small workload: at each operation all that may be left, and at each operation of each recovery."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from random import Random

from impl.kraft.storage.errors import StorageEndedError
from impl.kraft.storage.simulated_disk import Fault, PowerLossError, SimulatedDisk
from impl.kraft.storage.storage import StorageSettings
from tests.impl.kraft.storage.ledger import BrokenPromise, Entries, Ledger
from tests.impl.kraft.storage.workload import Worker, formatted, settings_of

SECTOR_BYTES = 64
Script = Sequence[Callable[[Worker], None]]


@dataclass
class Explored:
    """crash_points: operations at which power was lost; states: different disks after it; recoveries: of these, also
    those that were crashed themselves."""

    crash_points: int = 0
    states: int = 0
    recoveries: int = 0


def explore(script: Script, segment_bytes: int) -> Explored:
    """Crash a workload everywhere. Raises BrokenPromise, BitRotError."""
    found, seen = Explored(), set[bytes]()
    settings = settings_of(new_disk(), segment_bytes, reserve_bytes=0)
    operations = crashed(script, settings, at=0)[0].operations
    for at in range(1, operations + 1):
        found.crash_points += 1
        disk, ledger = crashed(script, settings, at)
        for left in outcomes(disk):
            if (key := digest(left) + repr(ledger).encode()) not in seen:
                seen.add(key)
                found.states += 1
                explore_recovery(left, ledger, settings, found)
    return found


def explore_failed_writes(script: Script, segment_bytes: int) -> Explored:
    """Let each operation fail, which ends the process, and crash the start of the next at each of its operations.

    Nothing of what was not synced is on disk then, and the system shows all of it.
    """
    found = Explored()
    settings = settings_of(new_disk(), segment_bytes, reserve_bytes=0)
    operations = crashed(script, settings, at=0)[0].operations
    for at in range(1, operations + 1):
        explore_next_start(partial(crashed, script, settings, at, Fault.ERROR), settings, found)
    return found


def explore_torn_sector() -> Explored:
    """Let an fsync fail that has written part of a batch, up to the middle of a sector, and crash the next start."""
    found, settings = Explored(), settings_of(new_disk(), 1 << 20, reserve_bytes=0)

    def failed_flush() -> tuple[SimulatedDisk, Ledger]:
        disk, ledger = new_disk(size_step=40), Ledger()
        worker = Worker(disk, ledger, settings, Random(1)).open()
        worker.append(1, size_bytes=30)
        disk.faults, disk.choose = {disk.operations + 1: Fault.ERROR}, lambda n: n - 1
        with suppress(StorageEndedError):
            worker.flush()
        return disk, ledger

    explore_next_start(failed_flush, settings, found)
    return found


def explore_next_start(
    failed: Callable[[], tuple[SimulatedDisk, Ledger]], settings: StorageSettings, found: Explored
) -> None:
    """Crash the start behind a write that failed, at each of its operations."""
    found.crash_points += 1
    in_recovery, goes_on = 0, True
    while goes_on:
        in_recovery += 1
        disk, ledger = failed()
        disk.after_kill()
        disk.operations, disk.faults = 0, {in_recovery: Fault.POWER_LOSS}
        goes_on, judge = False, deepcopy(ledger)
        try:
            Worker(disk, judge, settings, Random(2)).open()
        except PowerLossError:
            goes_on = True
        for left in outcomes(disk):
            found.recoveries += 1
            recovered(left, judge, settings)


def explore_recovery(disk: SimulatedDisk, ledger: Ledger, settings: StorageSettings, found: Explored) -> None:
    """Recover; and crash the recovery at each of its operations: what is recovered then is the same."""
    whole = copied(disk)
    log = recovered(whole, ledger, settings)
    found.recoveries += 1
    seen: set[bytes] = set()
    for at in range(1, whole.operations + 1):
        again = copied(disk)
        again.faults = {at: Fault.POWER_LOSS}
        with suppress(PowerLossError):
            recovered(again, ledger, settings)
        for left in outcomes(again):
            if (key := digest(left)) not in seen:
                seen.add(key)
                found.recoveries += 1
                if recovered(left, ledger, settings) != log:
                    raise BrokenPromise(f"a recovery that is crashed at operation {at} leads to another log")


def crashed(
    script: Script, settings: StorageSettings, at: int, fault: Fault = Fault.POWER_LOSS
) -> tuple[SimulatedDisk, Ledger]:
    """The disk and the ledger of a workload that ended by a fault at an operation; 0: at none."""
    disk, ledger = new_disk(), Ledger()
    disk.faults = {at: fault}
    with suppress(PowerLossError, OSError, StorageEndedError):
        worker = Worker(disk, ledger, settings, Random(1)).open()
        for operation in script:
            operation(worker)
    return disk, ledger


def recovered(disk: SimulatedDisk, ledger: Ledger, settings: StorageSettings) -> Entries:
    """The log that a recovery finds, which the ledger allows."""
    judge = deepcopy(ledger)
    Worker(disk, judge, settings, Random(2)).open()
    return judge.log


def outcomes(disk: SimulatedDisk) -> Iterator[SimulatedDisk]:
    """All disks that a power loss may leave, each once."""
    seen: set[bytes] = set()
    choices: list[tuple[int, int]] = []
    while True:
        at = 0

        def choose(n: int) -> int:
            nonlocal at
            if at == len(choices):
                choices.append((0, n))
            at += 1
            return choices[at - 1][0]

        left = disk.after_power_loss(choose)
        if (key := digest(left)) not in seen:
            seen.add(key)
            yield left
        while choices and choices[-1][0] == choices[-1][1] - 1:
            choices.pop()
        if not choices:
            return
        chosen, n = choices[-1]
        choices[-1] = (chosen + 1, n)


def new_disk(size_step: int = SECTOR_BYTES) -> SimulatedDisk:
    return formatted(SimulatedDisk(sector_bytes=SECTOR_BYTES, size_step=size_step))


def copied(disk: SimulatedDisk) -> SimulatedDisk:
    """A disk on which everything is durable, once more."""
    return disk.after_power_loss(lambda n: 0)


def digest(disk: SimulatedDisk) -> bytes:
    return repr(sorted(disk.image().items())).encode()
