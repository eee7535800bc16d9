"""Mutants that change nothing in any reachable state, proved of all mutants of a model at once.

A mutant can do something else only out of a state in which its statement is reached, and there leaves something else
than the original statement does: another value, another end of the step. (The literature on mutation calls the first
reachability and the second infection.) The actions are run symbolically once; at each statement, every mutant of it is
run beside it, which gives two conditions on states. Those of all mutants are evaluated in the states that a search has
stored. Where the second is true in none of them, the mutant takes the steps of the original: no compilation, no search.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.build import passing_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.results import SearchResult
from checker.lang.errors import SpecError
from checker.lang.frontend import run_actions
from checker.lang.frontend.path import Ended
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Binding, Block, Machine
from checker.lang.frontend.symbols import Location, Store, Symbol
from checker.lang.graph import Graph, TooLargeError
from checker.lang.ir import Event, Node, Property
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.mutate.mutants import Mutant
from checker.mutate.operators import at
from checker.running.arrays import Words

_BATCH = 1 << 14  # states looked at together


@dataclass(frozen=True)
class Infection:
    """Keys of mutants. reached: the statement is, in some reachable state; infected: it may leave something else."""

    reached: frozenset[str]
    infected: frozenset[str]


def infection(model: BoundModel, result: SearchResult, mutants: Sequence[Mutant]) -> Infection:
    """Hold the mutants' statements to the original's in all states of a finished search. The model must be in force."""
    watch = _Watch(mutants)
    program, graph = run_actions(model.with_properties([]), partial(_Watched, watch))
    reached = {key: graph.any_(list(watch.reached.get(statement, ()))) for key, statement in watch.statements.items()}
    infected = {key: graph.any_(list(watch.infected.get(key, ()))) for key in watch.statements}
    nodes = {node.serial: node for node in (*reached.values(), *infected.values())}
    true = _ever_true(program, graph, list(nodes.values()), result)
    return Infection(
        *[frozenset(k for k, node in found.items() if node.serial in true) for found in (reached, infected)]
    )


class _Watch:
    """Mutants by the statements that they change, and what was found out: the conditions of each visit."""

    def __init__(self, mutants: Iterable[Mutant]) -> None:
        self.statements: dict[str, ast.stmt] = {}
        self.changed: dict[ast.stmt, list[tuple[str, ast.stmt]]] = {}
        self.reached: dict[ast.stmt, set[Node]] = {}
        self.infected: dict[str, set[Node]] = {}
        for mutant in mutants:
            statement: ast.stmt = at(function_of(mutant.function).tree, mutant.edit.statement)
            self.statements[mutant.key] = statement
            found = self.changed.setdefault(statement, [])
            found.append((mutant.key, at(mutant.edit.tree, mutant.edit.statement)))


@dataclass(frozen=True)
class _Left:
    """Everything that a statement leaves: its value, the state, local names, what was returned, and how it may end."""

    value: Any
    nodes: list[Node]
    locals: dict[str, Symbol]
    returned: bool
    result: Symbol | None
    events: list[Event]


class _Watched(Machine):
    """Runs actions, and beside each of their statements its mutants."""

    def __init__(self, watch: _Watch, graph: Graph, sites: Any, action: int, store: Store) -> None:
        super().__init__(graph, sites, action, store)
        self._watch = watch
        self._trying = False
        self._goes_on, self._counted = graph.true, 0  # the condition that none of the first `_counted` events ended it

    def _simple_statement(self, node: ast.stmt | Binding) -> None:
        if isinstance(node, ast.stmt):
            self._look(node, super()._simple_statement)
        super()._simple_statement(node)

    def _branching(self, statement: ast.If | ast.Match | Binding, rest: Block) -> None:
        if isinstance(statement, ast.If):
            self._look(statement, lambda other: self.truth(other.test))
        elif isinstance(statement, ast.Match):
            self._look(statement, None)
        super()._branching(statement, rest)

    def _rounds(self, node: ast.For) -> Block:
        self._look(node, None)
        return super()._rounds(node)

    def _look(self, statement: ast.stmt, run: Callable[[Any], object] | None) -> None:
        """Note where a statement is reached, and where mutants of it leave something else. run: gives the value
        of one, or of its test; None where no more is asked than whether it is reached."""
        changed = self._watch.changed.get(statement)
        if changed is None or self._trying or self.silent or self.ended:
            return
        here = self._got_here()
        self._watch.reached.setdefault(statement, set()).add(here)
        ours = self._attempt(partial(run, statement)) if run is not None else None
        for key, other in changed:
            unlike = self.graph.true
            if run is not None and ours is not None:
                unlike = self._unlike(ours, self._attempt(partial(run, other)))
            self._watch.infected.setdefault(key, set()).add(self.graph.and_(here, unlike))

    def _got_here(self) -> Node:
        """The condition that the step gets to this place."""
        for event in self.events[self._counted :]:
            self._goes_on = self.graph.and_(self._goes_on, self.graph.not_(event.condition))
        self._counted = len(self.events)
        return self.graph.and_(self._goes_on, self.condition)

    def _attempt(self, run: Callable[[], object]) -> _Left | None:
        """Everything that `run` leaves, taken back; None where it always ends the step, or is not of the language."""
        before, events, frames = self.capture(), len(self.events), len(self.frames)
        kept = self.condition, set(self.members), self.ended, self.risks, self.comparing_counts, self.blamed
        trying, self._trying = self._trying, True
        try:
            value, frame = run(), self.frame
            left = _Left(value, list(self.store.nodes), dict(frame.locals), frame.returned, frame.result,
                         self.events[events:])  # fmt: skip
            return None if self.ended else left
        except (SpecError, TooLargeError, Ended):
            return None
        finally:
            self._trying = trying
            del self.events[events:], self.frames[frames:]
            self.restore(before)
            self.condition, self.members, self.ended, self.risks, self.comparing_counts, self.blamed = kept

    # Comparison.

    def _unlike(self, ours: _Left, theirs: _Left | None) -> Node:
        """A condition that is true wherever they differ, and may be so elsewhere."""
        g = self.graph
        if theirs is None or ours.returned != theirs.returned or ours.locals.keys() != theirs.locals.keys():
            return g.true
        values = [(ours.value, theirs.value), (ours.result, theirs.result)]
        values += [(a, theirs.locals[name]) for name, a in ours.locals.items()]
        differ = [self._other_end(ours.events, theirs.events)]
        differ += [g.not_(g.eq(a, b)) for a, b in zip(ours.nodes, theirs.nodes, strict=True) if a is not b]
        return g.any_([*differ, *[self._other_value(a, b) for a, b in values]])

    def _other_end(self, ours: Sequence[Event], theirs: Sequence[Event]) -> Node:
        """The condition that only one of them ends the step; with ends of several kinds, that any of them does."""
        g = self.graph
        one, other = ([(self.sites.sites[e.site].kind, e.condition) for e in events] for events in (ours, theirs))
        if one == other:
            return g.false
        conditions = [g.any_([condition for _, condition in found]) for found in (one, other)]
        alike = len({kind for kind, _ in (*one, *other)}) == 1
        return g.not_(g.eq(*conditions)) if alike else g.or_(*conditions)

    def _other_value(self, a: Any, b: Any) -> Node:
        if a is b or a == b:
            return self.graph.false
        if isinstance(a, Node) and isinstance(b, Node):
            return self.graph.not_(self.graph.eq(a, b))
        if isinstance(a, Location) or isinstance(b, Location):  # names of places: what they stand for may change yet
            return self.graph.true
        left = self._attempt(lambda: self.equal(a, b, self.frame.function.tree)) if None not in (a, b) else None
        same = self.graph.false if left is None or left.events else left.value
        return self.graph.not_(same)


def _ever_true(program: Program, graph: Graph, nodes: Sequence[Node], result: SearchResult) -> set[int]:
    """The serials of those conditions that are true in some state of a search."""
    found = {graph.true.serial}
    asked = [node for node in nodes if node not in (graph.true, graph.false)]
    for first in range(0, len(asked), abi.MAX_PROPERTIES):
        part = asked[first : first + abi.MAX_PROPERTIES]
        witnesses = [Property(str(n), "witness", node) for n, node in enumerate(part)]
        nothing = graph.false
        bare = dataclasses.replace(
            program, instances=[], properties=witnesses, liveness=None, outside=nothing, terminal=nothing
        )
        bits = _bits(passing_kernel(bare, quick=True), result, (1 << len(part)) - 1)
        found |= {node.serial for n, node in enumerate(part) if bits >> n & 1}
    return found


def _bits(kernel: Kernel, result: SearchResult, wanted: int) -> int:
    """The bits of the properties that hold in some state; looks no further than to where all wanted ones do."""
    bits = 0
    for states in _batches(result):
        each = np.zeros(len(states), dtype=np.int64)
        kernel.calls["classify"](states.ctypes.data, len(states), each.ctypes.data)
        bits |= int(np.bitwise_or.reduce(each))
        if bits == wanted:
            break
    return bits


def _batches(result: SearchResult) -> Iterator[Words]:
    for shard in result.exploration.shards:
        for first in range(0, shard.count, _BATCH):
            yield np.ascontiguousarray(shard.states(first, min(first + _BATCH, shard.count)))
