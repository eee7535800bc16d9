"""Invariants, transition invariants, witnesses, liveness properties and lemmas of KIP-631."""

from spec.kraft.properties import (
    administration,
    core,
    leadership,
    lemmas,
    liveness,
    log,
    protocol,
    quorum,
    quorum_witnesses,
    shutdown,
    topics,
    waiting,
    witnesses,
)

__all__ = [
    "administration", "core", "leadership", "lemmas", "liveness", "log", "protocol", "quorum", "quorum_witnesses",
    "shutdown", "topics", "waiting", "witnesses",
]  # fmt: skip
