"""Reminders that a broker sets for itself, at once or later.

A timer that is due at once is how one step leads to another without being part of it.
"""

from __future__ import annotations

from enum import StrEnum

from impl.kraft.effects import SetTimer
from impl.kraft.image import PartitionKey

Timer = tuple[str | int, ...]


class Due(StrEnum):
    """The first element of a timer; the last two have a topic id and a partition id after it."""

    COMMUNICATION = "communication"
    INITIAL_REGISTRATION = "initial registration"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    PUBLICATION = "publication"
    ISR_EXPIRATION = "ISR expiration"
    ALTER_PARTITION = "alter partition"
    HIGH_WATERMARK = "high watermark"


def due(what: Due, at_ms: int) -> SetTimer:
    """The reminder of what is not about a partition."""
    return SetTimer((what,), at_ms)


def due_for(what: Due, key: PartitionKey, at_ms: int) -> SetTimer:
    """The reminder of what is about a partition."""
    return SetTimer((what, key[0].int, key[1]), at_ms)
