"""Invariants, transition invariants, witnesses, liveness properties and lemmas of KIP-343.

`STATEMENTS` numbers what the design must guarantee; a property names in its source the statements that it is part of.
"""

from spec.heartbeat.properties import (
    incarnations,
    leadership,
    lemmas,
    liveness,
    memory,
    messages,
    records,
    steps,
    terms,
    witnesses,
)

__all__ = [
    "incarnations",
    "leadership",
    "lemmas",
    "liveness",
    "memory",
    "messages",
    "records",
    "steps",
    "terms",
    "witnesses",
]

STATEMENTS = {
    "S1": "Once any controller went by an incarnation of an id, nothing of a lower one changes committed state or is "
    "accepted, across failovers.",
    "S2": "At most one process serves.",
    "S3": "A fenced process accepts no request that arrived after it was fenced.",
    "S4": "The ISR is never empty and has the leader in it; nobody inactive is added.",
    "S5": "A record that was acknowledged is on the disk of every member of the ISR, unless the last of them lost its "
    "disk.",
    "S6": "Metadata lists exactly the brokers that are ACTIVE or STOPPING.",
    "S7": "Leader epochs and versions never go back, each change of leader raises the epoch, and no two incarnations "
    "serve one.",
    "S8": "The leader's maximal ISR covers the committed one.",
    "S9": "Who was told to exit leads nothing.",
    "S10": "A write or control request of a superseded controller has no effect.",
    "S11": "No ISR update of a legacy leader or of the controller is lost.",
    "L1": "A silent broker is INACTIVE in the end, across failovers.",
    "L2": "A registered broker that reaches the controller is unfenced and ACTIVE in the end.",
    "L3": "A controlled shutdown ends.",
    "L4": "An ISR change is resolved.",
    "L5": "A broker that is cut off from the controller, and not from ZooKeeper, loses its leaderships.",
    "L6": "A leaderless partition with an active member of the ISR gets a leader.",
}
