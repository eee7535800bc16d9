"""The faults of a run and how often they come, its sizes and its times, all drawn from the seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

ELECTION_MS, FETCH_MS = 100, 200


@dataclass(frozen=True, slots=True)
class Swarm:
    """Chances are of a hundred; 0: this run has no such fault. chaos_ms: after that nothing fails any more.

    lost, twice: of each message. partition, kill, power_loss, append, resign: at each tick of the chaos.
    """

    voters: int
    uses_prevote: bool
    chaos_ms: int
    tick_ms: int
    delay_ms: int
    flush_ms: int
    segment_bytes: int
    fetch_max_bytes: int
    lost: int
    twice: int
    partition: int
    kill: int
    power_loss: int
    append: int
    resign: int


def swarm_of(rng: Random) -> Swarm:
    def maybe(chance: int) -> int:
        return rng.randrange(1, chance) if rng.randrange(2) else 0

    return Swarm(
        voters=rng.choice([3, 3, 3, 5]),
        uses_prevote=bool(rng.randrange(2)),
        chaos_ms=rng.choice([1_000, 3_000, 6_000]),
        tick_ms=rng.choice([10, 30, 60]),
        delay_ms=rng.choice([1, 5, 30, 80]),
        flush_ms=rng.choice([1, 10, 60, 150]),
        segment_bytes=rng.choice([150, 1_000, 1 << 20]),
        fetch_max_bytes=rng.choice([1, 1 << 20]),
        lost=maybe(30),
        twice=maybe(20),
        partition=maybe(20),
        kill=maybe(12),
        power_loss=maybe(12),
        append=rng.randrange(10, 60),
        resign=maybe(10),
    )
