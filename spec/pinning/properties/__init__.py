"""Invariants, transition invariants, witnesses, liveness properties and lemmas of KIP-39.

`STATEMENTS` numbers what the design must guarantee; a property names in its source the statements that it is part of.
"""

from spec.pinning.properties import lemmas, liveness, memory, moves, office, requests, steps, witnesses

__all__ = ["lemmas", "liveness", "memory", "moves", "office", "requests", "steps", "witnesses"]

STATEMENTS = {
    "P1": "No write and no request of a controller takes effect after a later epoch was issued, and epochs are "
    "issued once.",
    "P2": "No move without a cause: a controller that is up and keeps its session leaves office only for a request "
    "that is the newest and unserved, or by hand.",
    "P3": "A resignation deletes no other broker's /controller.",
    "P4": "`ready` names who owns it.",
    "P5": "A request is served at most once; after that the znodes are as before it.",
    "P6": "The operator is told that a request is served only if the target was in office at that request.",
    "P7": "Who is elected while `ready` names another saw no `ready`, and hands over.",
    "P8": "Where a broker runs, there is a controller in the end, whoever hangs outside office.",
    "P9": "A target that keeps running takes office, or a newer request replaces its own.",
    "P10": "Moves end: from some time on, without new requests and failures, the controller stays.",
    "P11": "A request for a dead target is answered, and harmless.",
}
