"""The changes of each step of a trace, column by column, as rendering needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from traces.trace import Column, Trace, Value, printable
from traces.values import NOTHING, NOWHERE, case, look_up, named_parts, show

_WHOLE_STATE = Column(title="state", cells=(("", ()),))
_WHOLE_DEPTH = 2  # an unchanged value is taken apart until its label has as many parts
_Label = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """The smallest thing that is drawn: one value with its label, and what stood there before."""

    label: str
    now: str
    before: str = ""
    """What the previous step had here; "" when it had nothing here, and when nothing changed."""
    changed: bool = False


@dataclass(frozen=True)
class Row:
    """The drawing of one step: per column its title and its parts, none where nothing changed.

    errors: the codes of the replies that the step gave, the fields of that name which it changed ("NONE" for success).
    """

    cells: list[tuple[str, list[Part]]]
    errors: tuple[str, ...] = ()


def rows(trace: Trace) -> list[Row]:
    """A row per step: the first has the whole state, the others what changed."""
    columns = trace.columns or (_WHOLE_STATE,)
    result: list[Row] = []
    previous: dict[str, Value] | None = None
    for step in trace.steps:
        state = step.state
        cells = [[] if state is None else _cell(column, previous, state) for column in columns]
        drawn = [(column.title, parts) for column, parts in zip(columns, cells, strict=True)]
        result.append(
            Row(drawn, () if previous is None or state is None else tuple(_errors(dict(previous), dict(state))))
        )
        previous = state
    return result


def _cell(column: Column, previous: dict[str, Value] | None, state: dict[str, Value]) -> list[Part]:
    parts: list[Part] = []
    for name, path in column.cells:
        label = tuple(printable(name).split(".")) if name else ()
        new = look_up(dict(state), path)
        if previous is None:
            parts += _all(label, new)
        else:
            parts += _changes(label, look_up(dict(previous), path), new)
    return parts


def _all(label: _Label, value: Value | None) -> list[Part]:
    """`value` as it stands: coarse parts, so that a whole state stays short."""
    taken = None if value is None else named_parts(value)
    if taken is None or len(label) >= _WHOLE_DEPTH or (label and taken[0]):
        return [Part(".".join(label), NOWHERE if value is None else show(value))]
    tag, inner = taken
    parts = [Part(".".join(label), tag)] if tag else []
    return parts + [part for name, item in inner.items() for part in _all((*label, name), item)]


def _changes(label: _Label, old: Value | None, new: Value | None) -> list[Part]:
    """The differences, as finely as both values have the same parts."""
    if _brief(old, full=True) == _brief(new, full=True):
        return []
    before = None if old is None else named_parts(old)
    after = None if new is None else named_parts(new)
    if before is None or after is None or before[0] != after[0]:
        return [Part(".".join(label), _brief(new, full=True), _brief(old), changed=True)]
    _, inner = after
    parts: list[Part] = []
    for name, item in inner.items():
        place = (*label, name)
        if name in before[1]:
            parts += _changes(place, before[1][name], item)
        else:
            parts.append(Part(".".join(place), show(item), changed=True))
    gone = [(name, item) for name, item in before[1].items() if name not in inner]
    return parts + [Part(".".join((*label, name)), NOTHING, _brief(item), changed=True) for name, item in gone]


def _errors(old: Value | None, new: Value | None) -> Iterator[str]:
    """The fields called `error` of what is new."""
    if new is None or old == new:
        return
    before = {} if old is None else (named_parts(old) or ("", {}))[1]
    for name, item in (named_parts(new) or ("", {}))[1].items():
        if name == "error" and isinstance(item, str):
            yield item
        else:
            yield from _errors(before.get(name), item)


def _brief(value: Value | None, full: bool = False) -> str:
    """The printed form of a value; without `full` only the tag of a case, since its fields were seen before."""
    if value is None:
        return NOWHERE
    found = case(value)
    if full or found is None or found[0] == "None":
        return show(value)
    return _brief(found[1]) if found[0] == "Some" else printable(found[0])
