"""Notes on a counterexample: what a step decided, wrote and answered, in the words of the design.

A spec says them in plain Python, in any form: no engine compiles them, and no verdict rests on them. A design lists its
notes as NOTES in `spec/<design>/notes.py`, a spec in one file as NOTES in that file; a model has those of its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class TakenStep(Generic[S]):
    """A step as notes see it: number in the trace, name of the action, its parameters, the states around it."""

    index: int
    action: str
    given: Mapping[str, Any]
    before: S
    after: S


def nothing(steps: Sequence[TakenStep[Any]]) -> Iterable[str]:
    """No notes."""
    return ()


@dataclass(frozen=True)
class Notes(Generic[S]):
    """The notes on traces of a state.

    of_step: lines on the last of the steps that it is given, which may look back at those before it (a trace of an
    implementation gives none of these). at_end: lines for the end of a trace, of the form "label: text".
    """

    state: type[S]
    of_step: Callable[[Sequence[TakenStep[S]]], Iterable[str]]
    at_end: Callable[[Sequence[TakenStep[S]]], Iterable[str]] = nothing
