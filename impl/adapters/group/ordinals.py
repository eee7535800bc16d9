"""The sorts of numbers of which only the order counts."""

from __future__ import annotations

from functools import cache

from checker.conform.system import Ordinal


@cache
def epoch(value: int) -> Ordinal:
    return Ordinal("coordinator epoch", value)


@cache
def attempt(broker: int | None, value: int) -> Ordinal:
    """Attempts are numbered anew by each coordinator: a number is compared with those of the same broker."""
    return Ordinal(f"attempt of broker {broker}", value)
