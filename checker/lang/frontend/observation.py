"""What a function of a state says, before any state is looked at: its type, and the leaves that it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from checker.lang.errors import SpecError
from checker.lang.frontend import state_leaves
from checker.lang.frontend.path import Frame, Sites
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Store
from checker.lang.graph import Graph
from checker.lang.ir import Kind, support
from checker.lang.loader import BoundModel
from checker.lang.marks import MARK
from checker.lang.resolve import hints, record_type
from checker.lang.types import RecordType
from checker.lang.where import function_place


@dataclass(frozen=True)
class Observation:
    """A function of a state. type: of what it gives; leaves: those of the state that this depends on, in order."""

    function: Callable[[Any], Any]
    type: RecordType
    leaves: tuple[int, ...]


def observation(model: BoundModel, function: Callable[[Any], Any]) -> Observation:
    """`function` as a function of the states of a model that is in force. Raises SpecError for what is none.

    It gives a message without ordinals, of which only the order lasts from one state to the next.
    """
    place = function_place(function)
    cls = hints(function).get("return")
    if not isinstance(cls, type) or MARK not in cls.__dict__:
        raise SpecError(f"{function.__name__} gives no message", place=place,
                        hint="def seen(s: S) -> Seen, where Seen is marked @message")  # fmt: skip
    type_ = record_type(cls)
    ordinals = [name for name, leaf in type_.leaves if leaf.kind is Kind.ORDINAL]
    if ordinals:
        raise SpecError(f"{function.__name__} shows an ordinal ({ordinals[0].lstrip('.')})", place=place,
                        hint="ordinals are numbered anew in each state: show how they compare")  # fmt: skip
    graph = Graph()
    nodes = [graph.leaf(i, leaf) for i, leaf in enumerate(state_leaves(model)[0])]
    machine = Machine(graph, Sites(), -1, Store(list(nodes)))
    result = machine.run(function, [machine.state_place(machine.store, model.state_type, writable=False)], pure=True)
    written = function_of(function)
    machine.frames.append(Frame(written, {}, True))
    shown = machine.coerced(result, type_, written.tree)
    read = frozenset().union(*[support(node) for node in [*shown, *[e.condition for e in machine.events]]])
    return Observation(function, type_, tuple(sorted(read)))
