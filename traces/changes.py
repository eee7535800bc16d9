"""The changes of each step of a trace, column by column, as rendering needs them."""

from __future__ import annotations

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
    dim: bool = False
    """Drawn only to complete a picture."""


@dataclass(frozen=True)
class Row:
    """The drawing of one step: per column its title and its parts, none where nothing changed."""

    cells: list[tuple[str, list[Part]]]


def rows(trace: Trace) -> list[Row]:
    """A row per step: the first has the whole state, and so has a last one that ends in a violation."""
    columns = trace.columns or (_WHOLE_STATE,)
    result: list[Row] = []
    previous: dict[str, Value] | None = None
    for step in trace.steps:
        state = step.state
        whole = step.index == len(trace.steps) and trace.violation is not None
        cells = [[] if state is None else _cell(column, previous, state, whole) for column in columns]
        result.append(Row([(column.title, parts) for column, parts in zip(columns, cells, strict=True)]))
        previous = state
    return result


def _cell(column: Column, previous: dict[str, Value] | None, state: dict[str, Value], whole: bool) -> list[Part]:
    parts: list[Part] = []
    for name, path in column.cells:
        label = tuple(printable(name).split(".")) if name else ()
        new = look_up(dict(state), path)
        if previous is None:
            parts += _all(label, new, dim=False)
        else:
            parts += _changes(label, look_up(dict(previous), path), new, whole)
    return parts


def _all(label: _Label, value: Value | None, dim: bool) -> list[Part]:
    """`value` as it stands: coarse parts, so that a whole state stays short."""
    taken = None if value is None else named_parts(value)
    if taken is None or len(label) >= _WHOLE_DEPTH or (label and taken[0]):
        return [Part(".".join(label), NOWHERE if value is None else show(value), dim=dim)]
    tag, inner = taken
    parts = [Part(".".join(label), tag, dim=dim)] if tag else []
    return parts + [part for name, item in inner.items() for part in _all((*label, name), item, dim)]


def _changes(label: _Label, old: Value | None, new: Value | None, whole: bool) -> list[Part]:
    """The differences, as finely as both values have the same parts; with `whole` also what is equal, dimmed."""
    if _brief(old, full=True) == _brief(new, full=True):
        return _all(label, new, dim=True) if whole else []
    before = None if old is None else named_parts(old)
    after = None if new is None else named_parts(new)
    if before is None or after is None or before[0] != after[0]:
        return [Part(".".join(label), _brief(new, full=True), _brief(old), changed=True)]
    tag, inner = after
    parts = [Part(".".join(label), tag, dim=True)] if tag and whole else []
    for name, item in inner.items():
        place = (*label, name)
        if name in before[1]:
            parts += _changes(place, before[1][name], item, whole)
        else:
            parts.append(Part(".".join(place), show(item), changed=True))
    gone = [(name, item) for name, item in before[1].items() if name not in inner]
    return parts + [Part(".".join((*label, name)), NOTHING, _brief(item), changed=True) for name, item in gone]


def _brief(value: Value | None, full: bool = False) -> str:
    """The printed form of a value; without `full` only the tag of a case, since its fields were seen before."""
    if value is None:
        return NOWHERE
    found = case(value)
    if full or found is None or found[0] == "None":
        return show(value)
    return _brief(found[1]) if found[0] == "Some" else printable(found[0])
