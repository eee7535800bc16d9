"""Invariants, transition invariants, witnesses, liveness properties and lemmas of KIP-268.

`STATEMENTS` numbers what the design must guarantee; a property names in its source the statements that it is part of.
"""

from spec.streams.properties import faults, lemmas, liveness, rebalances, steps, tasks, versions, witnesses

__all__ = ["faults", "lemmas", "liveness", "rebalances", "steps", "tasks", "versions", "witnesses"]

STATEMENTS = {
    "V1": "No thread dies of a version, in any order of bounces that the procedure allows.",
    "V2": "Nobody is sent bytes that it cannot read, and nobody sends a version above its own.",
    "V3": "A member with upgrade.from uses the version that it stands for, whatever the leader offers.",
    "T1": "The active tasks of one generation are disjoint over members.",
    "T2": "Except in a probe, every task has an owner; after a probe, in the next generation.",
    "T3": "A member owns nothing between giving up and the next assignment, and no two members own one task.",
    "T4": "A rebalance moves no task between members that were there before, but to even out their numbers.",
    "T5": "The GlobalAssignment lists each process with exactly the active tasks of its threads, but who probes.",
    "B1": "After the last perturbation, so many more rebalances complete at most.",
    "B2": "A bounce that is no change of version takes two at most.",
    "L1": "After the last bounce every member sends the newest version.",
    "L2": "Left alone, the group settles, half-way through an upgrade, too.",
    "L3": "A group in which a process keeps upgrade.from settles on that version.",
    "L4": "Members come down to the version of a process that is rolled back.",
}
