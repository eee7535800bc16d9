"""The types of a trace.

Values are encoded as ITF JSON all the way (ADR-015 of Apalache), so that a trace needs no spec to be read:

    true, 7, "FENCED"                  a bool, an int, a name (of an enum's member, of an identity)
    [a, b]                             a sequence
    {"#tup": [a, b]}                   a tuple
    {"#set": [a, b]}                   a set
    {"#map": [[key, value], ...]}      a map; also a bag, as a map from element to count
    {"field": value, ...}              a record
    {"tag": "Register", "value": v}    a case of a tagged union
    {"tag": "Some", "value": v}        an option that is present
    {"tag": "None", "value": {"#tup": []}}     an option that is absent
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "bool | int | str | list[Value] | dict[str, Value]"


def printable(text: str) -> str:
    """`text` with what would move a terminal's cursor or break a line written as escapes."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class TraceError(Exception):
    """A trace that cannot be read, written or built: what is wrong, where, and how to fix it.

    `where` is a file, a line or a JSON path, or several of them from the outermost to the innermost;
    `hint` is a sentence that says what to do, or empty.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return printable(f"{place}{self.what}" + (f". {self.hint}" if self.hint else ""))

    def within(self, place: str) -> TraceError:
        """The same error, seen from further out: `place` (a file, a line) is put before its `where`."""
        return TraceError(self.what, where=", ".join(filter(None, (place, self.where))), hint=self.hint)


@dataclass(frozen=True)
class Step:
    """One step of a trace, and the state after it."""

    index: int
    """1-based, as TLC counts: the initial state is step 1."""
    action: str
    """Name of the action; "init" for the first step, "" when the file names no action."""
    actor: str
    """Who acts: "broker 1", "active controller", or ""."""
    parameters: dict[str, Value]
    state: dict[str, Value] | None
    """The state after the step. None only for a last step that broke while it ran."""
    notes: tuple[str, ...] = ()
    """One line per thing the step did: "BrokerRegistration v1 -> NONE"."""
    source: str = ""
    """Document and section of the action."""


@dataclass(frozen=True)
class Violation:
    """The property that the last step of a trace breaks; for a witness, reaches."""

    property: str
    kind: str
    """ "invariant", "transition invariant", "deadlock", "runtime error", "witness", ..."""
    statement: str
    """What the property says, in words: its docstring."""
    source: str
    """Document and section of the property."""
    conjunct: str = ""
    """Source text of the conjunct that is false."""
    location: str = ""
    """ "spec/kraft/properties/heartbeat.py:41"."""
    values: tuple[tuple[str, Value], ...] = ()
    """(expression, value) pairs that broke it: ("s.leader", "broker1")."""


@dataclass(frozen=True)
class Column:
    """A part of the state drawn under one heading: a process, the controller, the network.

    A cell is (label, path into the state). A path walks records by field name, maps by key and sequences by
    0-based index, and sees through options and tagged unions. A cell may be coarse: of a whole record
    or map only the parts that changed are drawn. A label may be "" where the title says it all; that of a part of
    a part has dots. What no cell names is not drawn.
    """

    title: str
    cells: tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True)
class Trace:
    """A finite behaviour of a model, with what is needed to read it without the model.

    Raises `TraceError` when the steps are not numbered 1, 2, ..., when a step before the last has no state,
    or when `loop` is not the index of a step.
    """

    model: str
    """ "kraft/isr", or the path of a file."""
    constants: dict[str, Value]
    """Every constant and switch in force."""
    steps: tuple[Step, ...]
    violation: Violation | None = None
    head: tuple[str, ...] = ()
    """Lines for the head; "label: text" is set in two columns."""
    tail: tuple[str, ...] = ()
    """Lines for the end, of the same form."""
    columns: tuple[Column, ...] = ()
    """Empty: one column, with the whole state."""
    loop: int | None = None
    """For a lasso, the 0-based position (as in ITF) of the step that the last one leads back to."""

    def __post_init__(self) -> None:
        for position, step in enumerate(self.steps, start=1):
            if step.index != position:
                raise TraceError(
                    f"step {position} of the trace is numbered {step.index}",
                    hint="Steps are numbered 1, 2, 3, ...; one is missing or out of order",
                )
            if step.state is None and position < len(self.steps):
                hint = "Only the last step may break while it runs"
                raise TraceError(f"step {position} has no state", hint=hint)
        if self.loop is not None and not 0 <= self.loop < len(self.steps):
            raise TraceError(f"the loop goes back to state {self.loop}, and there are {len(self.steps)}")
