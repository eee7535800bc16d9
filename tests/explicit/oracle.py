"""A breadth-first search in plain Python over `ir.evaluate`: what the engine's search must report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from checker.explicit.kernel.coverage import ActionCoverage, SiteCoverage
from checker.explicit.kernel.layout import Layout
from checker.lang.interpret import evaluate
from checker.lang.ir import Event, EventKind, Node, Op
from checker.lang.program import Program
from tests.explicit.random_models import Reference, interpret

Words = tuple[int, ...]


@dataclass
class Expected:
    """The parts of a `SearchResult` that any number of shards must agree on."""

    generated: int = 0
    distinct: int = 0
    depth: int = 0
    actions: list[ActionCoverage] = field(default_factory=list)
    sites: list[SiteCoverage] = field(default_factory=list)
    broken: dict[int, int] = field(default_factory=dict)
    witnesses: dict[int, int] = field(default_factory=dict)
    errors: dict[int, int] = field(default_factory=dict)
    deadlock: int | None = None


class Oracle:
    """Searches up to `max_depth` levels, or (stop) to the end of the level in which something broke."""

    def __init__(self, program: Program, stop: bool) -> None:
        self.program = program
        self.layout = Layout(program.leaves, program.bags, program.fresh_per_step)
        self.stop = stop
        self.found = Expected(
            actions=[ActionCoverage() for _ in program.actions], sites=[SiteCoverage() for _ in program.sites]
        )
        self.identities: set[Words] = set()

    def search(self, initial: Sequence[Sequence[int]], max_depth: int) -> Expected:
        found = self.found
        frontier: dict[Words, Words] = {}
        for codes in initial:
            found.generated += 1
            outside = self._holds(self.program.outside, codes)
            self._arrive(self.layout.canonical(codes), 0, outside, None, 1, frontier, {})
        frontier = self._store(frontier, 1)
        level = 1
        while frontier and level < max_depth and not (self.stop and (found.broken or found.errors)):
            arrived: dict[Words, Words] = {}
            origins: dict[Words, int] = {}
            for words in frontier.values():
                self._expand(self.layout.unpack(words), level, arrived, origins)
            for action in origins.values():
                found.actions[action].new += 1
            level += 1
            frontier = self._store(arrived, level)
        found.distinct = len(self.identities)
        return found

    def _store(self, arrived: dict[Words, Words], level: int) -> dict[Words, Words]:
        self.identities |= arrived.keys()
        if arrived:
            self.found.depth = level
        for words in arrived.values():
            self._note(self.layout.unpack(words), level, ("invariant", "witness"))
        return arrived

    def _holds(self, node: Node, codes: Sequence[int]) -> bool:
        return bool(evaluate(node, codes, {}, {}))

    def _note(self, codes: Sequence[int], level: int, kinds: tuple[str, ...]) -> None:
        for index, declared in enumerate(self.program.properties):
            if declared.kind in kinds and declared.condition is not None and self._holds(declared.condition, codes):
                table = self.found.witnesses if declared.kind == "witness" else self.found.broken
                table.setdefault(index, level)

    def _arrive(
        self,
        codes: list[int],
        broken: int,
        outside: bool,
        action: int | None,
        level: int,
        arrived: dict[Words, Words],
        origins: dict[Words, int],
    ) -> None:
        for index in range(len(self.program.properties)):
            if broken >> index & 1:
                self.found.broken.setdefault(index, level)
        if outside:
            self._note(codes, level, ("invariant",))
            return
        words = self.layout.pack(codes)
        identity = tuple(w & v for w, v in zip(words, self.layout.view, strict=True))
        if identity not in self.identities:
            arrived[identity] = min(words, arrived.get(identity, words))
            if action is not None:
                origins[identity] = min(action, origins.get(identity, action))

    def _expand(self, codes: list[int], level: int, arrived: dict[Words, Words], origins: dict[Words, int]) -> None:
        enabled = False
        for instance in self.program.instances:
            end = interpret(self.program, self.layout, codes, instance)
            enabled |= self._cover(codes, instance.action, instance.events, end, level)
            if end.codes is not None:
                self.found.generated += 1
                self._arrive(end.codes, end.broken, end.outside, instance.action, level + 1, arrived, origins)
        if not enabled and not self._holds(self.program.terminal, codes):
            if self.found.deadlock is None:
                self.found.deadlock = level
            for index, declared in enumerate(self.program.properties):
                if declared.kind == "deadlock":
                    self.found.broken.setdefault(index, level)

    def _cover(self, codes: list[int], action: int, events: Sequence[Event], end: Reference, level: int) -> bool:
        """Count how one instance ended; whether it was enabled."""
        fresh = {sort: len(self.layout.sorts.get(sort, [])) + 1 for sort in self.program.fresh_per_step}
        coverage = self.found.actions[action]
        kind = None
        for event in events:
            kind = self.program.sites[event.site].kind
            site = self.found.sites[event.site]
            ends = bool(evaluate(event.condition, codes, fresh, {}))
            counted = kind is not EventKind.REQUIRE or event.reached.op is Op.CONST
            if kind is not EventKind.ABSENT:
                site.evaluated += counted or bool(evaluate(event.reached, codes, fresh, {}))
                site.ended += ends
            if ends:
                break
        else:
            kind = None
        if kind is EventKind.ABSENT:
            return False  # no attempt
        coverage.attempts += 1
        coverage.fired += kind is None
        coverage.cut += kind is EventKind.CUT
        coverage.errors += kind is EventKind.ERROR
        if kind is EventKind.ERROR:
            assert end.site is not None
            self.found.errors.setdefault(end.site, level)
        return kind is not EventKind.REQUIRE
