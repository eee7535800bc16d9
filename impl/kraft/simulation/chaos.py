"""Faults of a run, each with what is drawn for it."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

from impl.kraft.simulation.rot import flip, rot_in
from impl.kraft.simulation.swarm import ELECTION_MS
from impl.kraft.storage.simulated_disk import Fault

if TYPE_CHECKING:
    from impl.kraft.simulation.simulation import Simulation


def cut_off(run: Simulation, number: int, rng: Random, among: int) -> None:
    """One node hears, or is heard by, none of some others for a while; or both. among: that many nodes."""
    until_ms = run.now_ms + rng.randrange(1, 10 * ELECTION_MS)
    direction = rng.randrange(3)
    for other in range(among):
        if other != number and rng.randrange(4):
            if direction != 0:
                run.cut[number, other] = until_ms
            if direction != 1:
                run.cut[other, number] = until_ms


def pause(run: Simulation, number: int, rng: Random) -> None:
    """A process stands still: its clock has jumped when it goes on, and all that came meanwhile waits for it."""
    node = run.nodes[number]
    run.talk.contact.stops(number)
    node.paused_until_ms = max(node.paused_until_ms, run.now_ms + rng.randrange(1, 10 * ELECTION_MS))


def fault_disk(run: Simulation, number: int, rng: Random) -> None:
    """One of the next operations fails, finds no space, or is the last of the process or of the machine."""
    disk = run.nodes[number].disk
    disk.faults = {disk.operations + rng.randrange(1, 20): rng.choice(list(Fault))}


def rot(run: Simulation, number: int, rng: Random) -> None:
    """A batch of its log rots, which the next process meets. In the quiet somebody puts it back."""
    node = run.nodes[number]
    if node.raft is not None:
        run.stop(number, loses_power=False)
    node.rot = rot_in(node.disk.image(), rng)
    if node.rot is not None:
        run.note(number, "rot", *node.rot)
        flip(node.disk, node.rot)


def fill_disk(run: Simulation, number: int, rng: Random) -> None:
    """There is little space left, until some is freed."""
    run.nodes[number].disk.capacity_bytes = run.nodes[number].disk.used_bytes() + rng.randrange(1_000)
    run.after(rng.randrange(1, 20 * ELECTION_MS), partial(run.free_disk, number))
