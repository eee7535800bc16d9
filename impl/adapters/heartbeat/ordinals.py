"""The sorts of numbers of which only the order counts."""

from __future__ import annotations

from functools import cache

from checker.conform.system import Ordinal


@cache
def incarnation(value: int) -> Ordinal:
    return Ordinal("incarnation", value)


@cache
def leader_epoch(value: int) -> Ordinal:
    return Ordinal("leader epoch", value)


@cache
def version(value: int) -> Ordinal:
    return Ordinal("version", value)


@cache
def controller_epoch(value: int) -> Ordinal:
    return Ordinal("controller epoch", value)
