"""The fields of messages and records: their types, as wide as the protocol has them, and the check that they are kept.

What reaches a core from outside is checked before it decides anything, so that a request that no wire could carry
changes nothing. A field that has its type and still makes no sense (an id of nobody, an epoch of the future) is for the
decision to refuse, with an error code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints


class InvalidFieldError(ValueError):
    """A field of a message, a record or a setting is not what its type says. The message names it."""


# Signed numbers of so many bits.
Int8 = Annotated[int, 8]
Int16 = Annotated[int, 16]
Int32 = Annotated[int, 32]
Int64 = Annotated[int, 64]

MOST_STRING_BYTES = (1 << 15) - 1
SHOWN = 80
"""Characters of a wrong value that a message repeats."""
SHOWN_TYPES = 6
"""Types of which a message names each."""


class Problem(NamedTuple):
    """where: in a value (".new_isr[1].broker_id", or "" for all of it). wanted: what should be there."""

    where: str
    wanted: str
    found: object


Test = Callable[[Any], Problem | None]


def check(name: str, value: object, *types: type) -> None:
    """Raise InvalidFieldError unless the argument `name` is one of these dataclasses, with fields of their types."""
    kind: type = type(value)
    if kind not in types:
        raise refusal_of(name, types[0].__name__ if len(types) == 1 else "a request of the protocol", value)
    problem = _test_of(kind)(value)
    if problem is not None:
        raise refusal_of(f"{kind.__name__}{problem.where}", problem.wanted, problem.found)


def check_as(name: str, hint: Any, value: object) -> None:
    """Raise InvalidFieldError unless the argument `name` has the type of `hint`."""
    problem = _test_of(hint)(value)
    if problem is not None:
        raise refusal_of(f"{name}{problem.where}", problem.wanted, problem.found)


def check_settings(settings: Any) -> None:
    """Raise InvalidFieldError unless all settings are of their types, and no number of them is negative."""
    kind = type(settings)
    check("settings", settings, kind)
    for one in fields(kind):
        value = getattr(settings, one.name)
        if type(value) is int and value < 0:
            raise refusal_of(f"{kind.__name__}.{one.name}", "at least 0", value)


def refusal_of(name: str, wanted: str, found: object) -> InvalidFieldError:
    return InvalidFieldError(f"{name} must be {wanted}, not {shown(found)}")


def shown(value: object) -> str:
    """A value of any type and size, in a few words."""
    if type(value) is int and value.bit_length() > 128:
        return f"an int of {value.bit_length():,} bits"
    text = repr(value[:SHOWN] if isinstance(value, str | bytes | tuple) else value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


@cache
def _test_of(hint: Hashable) -> Test:
    """The test of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _number(arguments[1])
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple:
        of_each = arguments[1:] == (...,)
        return _sequence(_test_of(arguments[0])) if of_each else _row([_test_of(one) for one in arguments])
    if hint is str:
        return _string
    assert isinstance(hint, type)
    return _record(hint) if is_dataclass(hint) else _instance(hint)


def _number(bits: int) -> Test:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def test(value: Any) -> Problem | None:
        if type(value) is int and lowest <= value <= highest:
            return None
        return Problem("", f"a number of {bits} bits", value)

    return test


def _string(value: Any) -> Problem | None:
    if type(value) is str and len(value) <= MOST_STRING_BYTES and (value.isascii() or _fits(value)):
        return None
    return Problem("", f"a string of at most {MOST_STRING_BYTES:,} bytes of UTF-8", value)


def _fits(value: str) -> bool:
    try:
        return len(value.encode()) <= MOST_STRING_BYTES
    except UnicodeEncodeError:
        return False


def _instance(wanted: type) -> Test:
    name = "None" if wanted is NoneType else wanted.__name__

    def test(value: Any) -> Problem | None:
        return None if type(value) is wanted else Problem("", name, value)

    return test


def _union(hints: tuple[Any, ...]) -> Test:
    """One of several types, of which no two have values of the same class."""
    tests = {int if get_origin(hint) is Annotated else get_origin(hint) or hint: _test_of(hint) for hint in hints}
    names = ["None" if kind is NoneType else kind.__name__ for kind in tests]
    wanted = " or ".join(names if len(names) <= SHOWN_TYPES else [names[0], f"one of {len(names) - 1} other types"])

    def test(value: Any) -> Problem | None:
        of_kind = tests.get(type(value))
        return Problem("", wanted, value) if of_kind is None else of_kind(value)

    return test


def _sequence(of_each: Test) -> Test:
    def test(value: Any) -> Problem | None:
        if type(value) is not tuple:
            return Problem("", "a tuple", value)
        for index, member in enumerate(value):
            if (problem := of_each(member)) is not None:
                return problem._replace(where=f"[{index}]{problem.where}")
        return None

    return test


def _row(tests: list[Test]) -> Test:
    def test(value: Any) -> Problem | None:
        if type(value) is not tuple or len(value) != len(tests):
            return Problem("", f"a tuple of {len(tests)}", value)
        for index, (member, of_member) in enumerate(zip(value, tests, strict=True)):
            if (problem := of_member(member)) is not None:
                return problem._replace(where=f"[{index}]{problem.where}")
        return None

    return test


def _record(wanted: Any) -> Test:
    hints = get_type_hints(wanted, include_extras=True)
    tests = [(one.name, _test_of(hints[one.name])) for one in fields(wanted)]

    def test(value: Any) -> Problem | None:
        if type(value) is not wanted:
            return Problem("", wanted.__name__, value)
        for name, of_field in tests:
            if (problem := of_field(getattr(value, name))) is not None:
                return problem._replace(where=f".{name}{problem.where}")
        return None

    return test
