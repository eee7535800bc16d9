"""Bounds of types: whole numbers, that fit what engines compute with."""

from __future__ import annotations

from typing import Any

from checker.lang.errors import SpecError, shortened
from checker.lang.graph import HIGHEST, LOWEST
from checker.lang.values import Size

MAX_LEAVES = 16_384
"""Scalars that a type may be made from. A state of these has kilobytes, and takes minutes to compile."""


def bound_of(size: Size, where: str, what: str) -> int:
    """The number that a size or a bound stands for, with the constants in force. what: "size", "maximum", ...

    Raises SpecError where it cannot be computed, is not a whole number, or takes more than 64 bits.
    """
    try:
        value: Any = size() if callable(size) else size
    except Exception as error:
        raise SpecError(
            f"{where}: the {what} cannot be computed: {type(error).__name__}: {shortened(error)}",
            hint="a number, or a function of the constants: Nat(lambda: Design.max_version)",
        ) from None
    if not isinstance(value, int) or isinstance(value, bool):
        raise SpecError(f"{where}: the {what} is {shortened(repr(value))}, which is not a whole number",
                        hint="a number, or a function of the constants that gives one")  # fmt: skip
    if not LOWEST <= value <= HIGHEST:
        raise SpecError(f"{where}: the {what} {shortened(value)} takes more than 64 bits",
                        hint="numbers are from -2**63 to 2**63 - 1")  # fmt: skip
    return value


def check_width(leaves: int, where: str, what: str) -> None:
    """Refuse a collection of too many scalars. what: which, as in "a map with 100000 keys". Raises SpecError."""
    if leaves > MAX_LEAVES:
        raise SpecError(f"{where}: {what} is made from {leaves} scalars, and at most {MAX_LEAVES} fit a state",
                        hint="shrink the constants: a small model shows what a large one does")  # fmt: skip
