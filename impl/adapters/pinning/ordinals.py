"""The sorts of numbers of which only the order counts."""

from __future__ import annotations

from functools import cache

from checker.conform.system import Ordinal


@cache
def session(value: int) -> Ordinal:
    return Ordinal("session", value)


@cache
def epoch(value: int) -> Ordinal:
    return Ordinal("epoch", value)


@cache
def epoch_version(value: int) -> Ordinal:
    return Ordinal("epoch version", value)


@cache
def zxid(value: int) -> Ordinal:
    return Ordinal("zxid", value)
