"""The faults of a run, how often and when they come, its sizes and its times, all drawn from the seed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from random import Random

ELECTION_MS, FETCH_MS = 100, 200
QUIET_MS = 60 * ELECTION_MS


@dataclass(frozen=True, slots=True)
class Swarm:
    """Sizes, times, and chances of a hundred. A chance of 0: this run has no such fault.

    chaos_ms: after that nothing fails any more. delay_ms, flush_ms: at most. lost, twice: chances of each message; from
    partition to full_disk: at each tick of the chaos. drift: clocks go wrong by at most so many percent. reserve_bytes:
    what the storage gives up on a full disk. brokers: of a cluster, whose voters are controllers; 0: voters alone run.
    broker_kill, broker_shut_down: chances at each tick of the chaos. From snapshot_bytes on, as `SnapshotSettings`:
    when nodes of a cluster write snapshots, what they keep, and how often they look.
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
    pause: int
    disk_fault: int
    full_disk: int
    drift: int
    reserve_bytes: int
    brokers: int = 0
    broker_kill: int = 0
    broker_shut_down: int = 0
    snapshot_bytes: int = 1 << 40
    snapshot_ms: int = 0
    retention_bytes: int = -1
    retention_ms: int = -1
    clean_ms: int = 1_000


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
        pause=maybe(10),
        disk_fault=maybe(12),
        full_disk=maybe(5),
        drift=rng.choice([0, 0, 10]),
        reserve_bytes=rng.choice([0, 1_000]),
    )


class Kind(StrEnum):
    """What happens to a node at a step of the chaos. The values are fields of `Swarm`, but for the last five."""

    APPEND = "append"
    RESIGN = "resign"
    PARTITION = "partition"
    KILL = "kill"
    POWER_LOSS = "power_loss"
    PAUSE = "pause"
    DISK_FAULT = "disk_fault"
    FULL_DISK = "full_disk"
    BROKER_KILL = "broker_kill"
    BROKER_SHUT_DOWN = "broker_shut_down"
    ROT = "rot"
    STRANGER = "stranger"
    PRODUCE = "produce"
    BROKER_PAUSE = "broker_pause"
    BROKER_PARTITION = "broker_partition"


OF_BROKERS = (Kind.BROKER_KILL, Kind.BROKER_SHUT_DOWN, Kind.PRODUCE, Kind.BROKER_PAUSE, Kind.BROKER_PARTITION)


@dataclass(frozen=True, slots=True)
class Step:
    """seed: of what is drawn when it is carried out, so that a step is the same whichever others are left out.

    node: a voter, or a broker, each counted from 0.
    """

    at_ms: int
    kind: Kind
    node: int
    seed: int


def schedule_of(rng: Random, swarm: Swarm) -> tuple[Step, ...]:
    return tuple(
        Step(at_ms, kind, rng.randrange(swarm.voters), rng.randrange(1 << 30))
        for at_ms in range(swarm.tick_ms, swarm.chaos_ms, swarm.tick_ms)
        for kind in Kind
        if kind not in (*OF_BROKERS, Kind.ROT, Kind.STRANGER) and rng.randrange(100) < getattr(swarm, kind.value)
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run goes by. seed: of delays, losses, timers, and of what a power loss leaves."""

    seed: int
    swarm: Swarm
    schedule: tuple[Step, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Raises ValueError, KeyError, TypeError for what is no plan."""
        found = json.loads(text)
        swarm = Swarm(**found["swarm"])
        steps = tuple(Step(**{**step, "kind": Kind(step["kind"])}) for step in found["schedule"])
        if swarm.voters < 1:
            raise ValueError(f"there are {swarm.voters} voters")
        for step in steps:
            what, count = ("brokers", swarm.brokers) if step.kind in OF_BROKERS else ("voters", swarm.voters)
            if not 0 <= step.node < count:
                raise ValueError(f"the step at {step.at_ms} ms names node {step.node}, of {count} {what} from 0 on")
        return cls(found["seed"], swarm, steps)


def plan_of(seed: int) -> Plan:
    rng = Random(seed)
    swarm = swarm_of(rng)
    more = (*rot_of(seed, swarm), *strangers_of(seed, swarm))
    steps = sorted((*schedule_of(rng, swarm), *more), key=lambda step: step.at_ms)
    return Plan(seed, swarm, tuple(steps))


def rot_of(seed: int, swarm: Swarm) -> tuple[Step, ...]:
    """In every other run a voter's disk rots; of one alone, as nothing is promised where a majority is damaged."""
    rng = Random(f"rot {seed}")
    if rng.randrange(2):
        return ()
    return (Step(rng.randrange(swarm.chaos_ms), Kind.ROT, rng.randrange(swarm.voters), rng.randrange(1 << 30)),)


def strangers_of(seed: int, swarm: Swarm) -> tuple[Step, ...]:
    """Strangers send something now and then."""
    rng = Random(f"strangers {seed}")
    return tuple(
        Step(rng.randrange(swarm.chaos_ms), Kind.STRANGER, rng.randrange(swarm.voters), rng.randrange(1 << 30))
        for _ in range(rng.choice([0, 10]))
    )


def cluster_plan_of(seed: int) -> Plan:
    """The plan of a run with brokers. Faults are rarer than in one of voters alone: a cluster has to get somewhere."""
    rng = Random(f"cluster {seed}")

    def maybe(chance: int) -> int:
        return rng.randrange(1, chance) if rng.randrange(2) else 0

    swarm = replace(
        swarm_of(rng),
        chaos_ms=rng.choice([4_000, 8_000]),
        tick_ms=rng.choice([40, 100]),
        delay_ms=rng.choice([1, 5, 30]),
        flush_ms=rng.choice([1, 10, 60]),
        lost=maybe(10),
        partition=maybe(5),
        kill=maybe(5),
        power_loss=maybe(5),
        append=rng.randrange(30, 90),
        resign=maybe(5),
        pause=maybe(3),
        disk_fault=maybe(4),
        full_disk=maybe(2),
        brokers=rng.randrange(2, 6),
        broker_kill=maybe(4),
        broker_shut_down=maybe(4),
        snapshot_bytes=rng.choice([1, 500, 2_000, 1 << 40]),
        snapshot_ms=rng.choice([0, 0, 300, 2_000]),
        retention_bytes=rng.choice([-1, 0, 3_000]),
        retention_ms=rng.choice([-1, 0, 1_000]),
        clean_ms=rng.choice([50, 500]),
    )
    more = (
        Step(at_ms, kind, rng.randrange(swarm.brokers), rng.randrange(1 << 30))
        for at_ms in range(swarm.tick_ms, swarm.chaos_ms, swarm.tick_ms)
        for kind in (Kind.BROKER_KILL, Kind.BROKER_SHUT_DOWN)
        if rng.randrange(100) < getattr(swarm, kind.value)
    )
    chaos = (*schedule_of(rng, swarm), *more)  # drawn in this order
    further = (*strangers_of(seed, swarm), *producers_of(seed, swarm), *silences_of(seed, swarm))
    steps = sorted((*chaos, *further), key=lambda step: step.at_ms)
    return Plan(seed, swarm, tuple(steps))


def producers_of(seed: int, swarm: Swarm) -> tuple[Step, ...]:
    """In every other run producers write to whatever a broker leads, and go on for a while in the quiet.

    There more brokers are killed, so that the ISR is often another one.
    """
    rng = Random(f"producers {seed}")
    if rng.randrange(2):
        return ()

    def steps(kind: Kind, end_ms: int, every_ms: int) -> list[Step]:
        times = range(swarm.tick_ms, end_ms, every_ms)
        return [Step(at_ms, kind, rng.randrange(swarm.brokers), rng.randrange(1 << 30)) for at_ms in times]

    produced = steps(Kind.PRODUCE, swarm.chaos_ms + QUIET_MS // 2, rng.choice([20, 100]))
    return (*produced, *steps(Kind.BROKER_KILL, swarm.chaos_ms, rng.choice([900, 2_100])))


def silences_of(seed: int, swarm: Swarm) -> tuple[Step, ...]:
    """In every third run brokers stand still, or are cut off from others, for up to two of their leases."""
    rng = Random(f"silences {seed}")
    if rng.randrange(3):
        return ()
    kinds = (Kind.BROKER_PAUSE, Kind.BROKER_PARTITION)
    return tuple(
        Step(at_ms, rng.choice(kinds), rng.randrange(swarm.brokers), rng.randrange(1 << 30))
        for at_ms in range(swarm.tick_ms, swarm.chaos_ms, rng.choice([700, 1_500]))
    )
