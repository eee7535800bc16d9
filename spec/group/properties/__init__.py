"""Invariants, transition invariants, witnesses and liveness properties of the consumer coordinator.

`STATEMENTS` numbers what the design must guarantee; a property names in its source the statements that it is part of.
"""

from spec.group.properties import connections, fetching, lemmas, liveness, memory, rebalances, steps, timed, witnesses

__all__ = [
    "connections", "fetching", "lemmas", "liveness", "memory", "rebalances", "steps", "timed", "witnesses",
]  # fmt: skip

STATEMENTS = {
    "G1": "No partition is fetched by two running consumers of a group.",
    "G2": "The committed offset never goes back, and never beyond what was consumed.",
    "G3": "Only the newest coordinator, in its current attempt, changes owners or offsets, or is obeyed.",
    "G4": "Who fetches a partition is its owner in ZooKeeper, so that a new coordinator can tell.",
    "G5": "An assignment gives each partition of each subscribed topic to exactly one thread that subscribed to it.",
    "G6": "A partition starts where its last owner stopped (its last report, if it died): no record is skipped.",
    "G7": "No watcher is cleared by the response to another attempt.",
    "G8": "A consumer that shut down in order leaves its last position committed.",
    "G9": "One rebalance of a group at a time.",
    "L1": "Each partition of a subscribed topic with a live member is fetched in the end.",
    "L2": "Each member that stays gets its share.",
    "L3": "The dead are removed, the living are not for ever suspected.",
    "L4": "After a failover every group fetches again.",
    "L5": "A rebalance ends, and after the last retry the next event or a timer tries again.",
    "L6": "A new topic or partition is owned.",
    "L7": "A shutdown ends.",
}
