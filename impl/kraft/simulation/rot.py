"""Bit rot: what a disk gives back is not what was written on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import NamedTuple

from impl.kraft.storage.batches import CRC_END, BatchError, headers
from impl.kraft.storage.simulated_disk import SimulatedDisk


class Rot(NamedTuple):
    """A bit of a file that has flipped."""

    path: str
    at: int
    mask: int


def rot_in(files: Mapping[str, bytes], rng: Random) -> Rot | None:
    """A bit of a batch of the log, of what its CRC covers. None: there is no batch.

    A bit of an epoch or of an offset that fits all the same is not seen in Kafka's format.
    """
    batches = [
        (path, *batch)
        for path, data in sorted(files.items())
        if path.endswith(".log")
        for batch in _batches(data)
    ]  # fmt: skip
    if not batches:
        return None
    path, begins, ends = rng.choice(batches)
    return Rot(path, rng.randrange(begins + CRC_END, ends), 1 << rng.randrange(8))


def _batches(data: bytes) -> list[tuple[int, int]]:
    """Where each batch begins and ends, up to the first that is not whole."""
    found = list[tuple[int, int]]()
    with suppress(BatchError):
        for at, header in headers(data):
            found.append((at, at + header.size_bytes))
    return found


def flip(disk: SimulatedDisk, rot: Rot) -> None:
    """Let it rot, or put it back, unless a power loss has taken the file, or its end."""
    content = bytearray(disk.image().get(rot.path, b""))
    if rot.at < len(content):
        content[rot.at] ^= rot.mask
        disk.damage(rot.path, bytes(content))
