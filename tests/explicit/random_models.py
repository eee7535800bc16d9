"""Random programs, and a plain reading of them to hold the kernel to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from checker.explicit.kernel.layout import Layout
from checker.lang.graph import Graph
from checker.lang.interpret import evaluate
from checker.lang.ir import Bag, Event, EventKind, Instance, Kind, Leaf, Node, Property, Site
from checker.lang.program import Program

SORTS = ("Epoch", "Offset")


@dataclass
class Size:
    """Size of a random program."""

    plain: int = 6
    ordinals: int = 4
    bag_slots: int = 0
    actions: int = 3
    instances: int = 3  # per action
    events: int = 3
    depth: int = 3
    hidden: bool = False


class RandomProgram:
    """Builds one program from a source of chance."""

    def __init__(self, chance: random.Random, size: Size) -> None:
        self.g = Graph()
        self.chance = chance
        self.size = size
        self.leaves: list[Leaf] = []
        self.bags: list[Bag] = []
        self.sites: list[Site] = []
        self.fresh = {sort: 2 for sort in SORTS}
        self.in_step = True
        self._declare()
        self.nodes = [self.g.leaf(i, leaf) for i, leaf in enumerate(self.leaves)]

    def _declare(self) -> None:
        chance = self.chance
        for i in range(self.size.plain):
            kind = chance.choice((Kind.BOOL, Kind.INT, Kind.INT, Kind.SET))
            sizes = (1, 2, 3, 5, 7, 17) if kind is Kind.INT else (1, 3, 9, 40)
            self.leaves.append(Leaf(f"f{i}", kind, 0 if kind is Kind.BOOL else chance.choice(sizes)))
        for i in range(self.size.ordinals):
            self.leaves.append(Leaf(f"o{i}", Kind.ORDINAL, sort=chance.choice(SORTS)))
        slots = []
        for slot in range(self.size.bag_slots):
            first = len(self.leaves)
            self.leaves.append(Leaf(f"bag[{slot}].kind", Kind.INT, 3, slot=(0, slot)))
            self.leaves.append(Leaf(f"bag[{slot}].epoch", Kind.ORDINAL, sort=SORTS[0], slot=(0, slot)))
            self.leaves.append(Leaf(f"bag[{slot}].to", Kind.SET, 4, slot=(0, slot)))
            slots.append(tuple(range(first, first + 3)))
        if slots:
            self.bags.append(Bag("bag", tuple(slots)))
        if self.size.hidden:
            self.leaves.append(Leaf("history", Kind.INT, 5, hidden=True))

    def _leaf_of(self, kind: Kind, sort: str) -> list[Node]:
        return [n for n in self.nodes if n.kind is kind and n.sort == sort]

    def expression(self, kind: Kind, depth: int, sort: str = "") -> Node:
        """A random expression of a kind; its value may be out of any leaf's range."""
        g, chance = self.g, self.chance
        leaves = self._leaf_of(kind, sort)
        if depth <= 0 or chance.random() < 0.15:
            if leaves and chance.random() < 0.8:
                return chance.choice(leaves)
            return self._constant(kind, sort)
        if chance.random() < 0.2:
            condition = self.expression(Kind.BOOL, depth - 1)
            return g.select(condition, self.expression(kind, depth - 1, sort), self.expression(kind, depth - 1, sort))
        return {Kind.BOOL: self._bool, Kind.INT: self._int, Kind.SET: self._set}.get(
            kind, lambda d: self.expression(kind, 0, sort)
        )(depth - 1)

    def _constant(self, kind: Kind, sort: str) -> Node:
        g, chance = self.g, self.chance
        if kind is Kind.BOOL:
            return g.boolean(chance.random() < 0.5)
        if kind is Kind.INT:
            return g.integer(chance.randrange(-2, 6))
        if kind is Kind.SET:
            return g.mask(chance.getrandbits(chance.choice((2, 6, 40))))
        if self.in_step and chance.random() < 0.6:
            return g.fresh(sort, chance.randrange(2))
        return g.absent_ordinal(sort)

    def _bool(self, depth: int) -> Node:
        g, choice = self.g, self.chance.randrange(8)
        if choice < 3:
            a, b = self.expression(Kind.BOOL, depth), self.expression(Kind.BOOL, depth)
            return (g.and_(a, b), g.or_(a, b), g.not_(a))[choice]
        if choice == 3:
            return g.has(self.expression(Kind.SET, depth), self._index(depth))
        kind = self.chance.choice((Kind.INT, Kind.INT, Kind.ORDINAL, Kind.SET))
        sort = self.chance.choice(SORTS) if kind is Kind.ORDINAL else ""
        a, b = self.expression(kind, depth, sort), self.expression(kind, depth, sort)
        return g.lt(a, b) if kind is not Kind.SET and choice < 6 else g.eq(a, b)

    def _int(self, depth: int) -> Node:
        g, choice = self.g, self.chance.randrange(4)
        if choice == 3:
            return g.count(self.expression(Kind.SET, depth), 64)
        a, b = self.expression(Kind.INT, depth), self.expression(Kind.INT, depth)
        return (g.add, g.sub, g.mul)[choice](a, b)

    def _set(self, depth: int) -> Node:
        g, choice = self.g, self.chance.randrange(4)
        if choice == 3:
            return g.bit(self._index(depth))
        a, b = self.expression(Kind.SET, depth), self.expression(Kind.SET, depth)
        return (g.set_and, g.set_or, g.set_minus)[choice](a, b)

    def _index(self, depth: int) -> Node:
        """An integer that is surely the index of a bit."""
        node = self.expression(Kind.INT, depth)
        return node if node.lo >= 0 and node.hi < 64 else self.g.integer(self.chance.randrange(64))

    def _site(self, kind: EventKind, action: int) -> int:
        self.sites.append(Site(kind, action, "random.py", len(self.sites) + 1, f"site {len(self.sites)}"))
        return len(self.sites) - 1

    def _update(self, leaf: int, events: list[Event], sites: dict[EventKind, int]) -> Node:
        """A value that fits the leaf where no event ends the step before."""
        g, declared = self.g, self.leaves[leaf]
        value = self.expression(declared.kind, self.size.depth, declared.sort)
        if declared.kind is Kind.INT:
            over = g.or_(g.lt(value, g.integer(0)), g.lt(g.integer(declared.size - 1), value))
            kind = self.chance.choice((EventKind.CUT, EventKind.CUT, EventKind.ERROR))
            if over is not g.false:
                events.append(Event(over, sites[kind], g.true))
        if declared.kind is Kind.SET:
            value = g.set_and(value, g.mask((1 << declared.size) - 1))
        return value

    def _fill_slot(self, updates: dict[int, Node], slot: Sequence[int]) -> None:
        """Set all leaves of a slot to 0 where the slot is empty."""
        g = self.g
        values = [updates.get(i, self.nodes[i]) for i in slot]
        empty = g.eq(values[0], g.integer(0))
        zeros = [g.integer(0), g.absent_ordinal(SORTS[0]), g.mask(0)]
        for i, value, zero in zip(slot, values, zeros, strict=True):
            updates[i] = g.select(empty, zero, value)

    def _instance(self, action: int, number: int, sites: dict[EventKind, list[int]]) -> Instance:
        g, chance = self.g, self.chance
        events = []
        sets = self._leaf_of(Kind.SET, "")
        if sets and chance.random() < 0.5:
            chosen = self.nodes[min(n.data for n in sets)]
            events.append(Event(g.not_(g.has(chosen, g.integer(number))), sites[EventKind.ABSENT][0], g.true))
        for k in range(chance.randrange(self.size.events + 1)):
            guard = self.expression(Kind.BOOL, self.size.depth)
            reached = g.true if chance.random() < 0.7 else self.expression(Kind.BOOL, 1)
            site = sites[EventKind.REQUIRE][k if reached is g.true else -1]
            events.append(Event(g.and_(reached, guard), site, reached))
        changed = chance.sample(range(len(self.leaves)), min(len(self.leaves), chance.randrange(1, 4)))
        last = {kind: places[0] for kind, places in sites.items()}
        updates = {leaf: self._update(leaf, events, last) for leaf in changed}
        for bag in self.bags:
            for slot in bag.slots:
                if any(i in updates for i in slot):
                    self._fill_slot(updates, slot)
        breaks = ((1, self.expression(Kind.BOOL, 2)),) if chance.random() < 0.3 else ()
        outside = self.expression(Kind.BOOL, 2) if chance.random() < 0.2 else g.false
        return Instance(action, (number,), tuple(events), updates, breaks, outside)

    def program(self) -> Program:
        instances = []
        for action in range(self.size.actions):
            sites = {kind: [self._site(kind, action)] for kind in EventKind}
            sites[EventKind.REQUIRE] += [self._site(EventKind.REQUIRE, action) for _ in range(self.size.events)]
            instances += [self._instance(action, i, sites) for i in range(self.size.instances)]
        self.in_step = False  # nothing is fresh in a property of states
        properties = [
            Property("state", "invariant", self.expression(Kind.BOOL, 3)),
            Property("step", "transition invariant", None),
            Property("witness", "witness", self.expression(Kind.BOOL, 3)),
            Property("deadlock", "deadlock", None),
        ]
        names = [f"action{a}" for a in range(self.size.actions)]
        return Program(
            self.leaves,
            self.bags,
            names,
            self.sites,
            instances,
            properties,
            self.g.false,
            self.expression(Kind.BOOL, 1),
            dict(self.fresh),
        )


def random_state(chance: random.Random, program: Program) -> list[int]:
    """Codes of a random state, in canonical form."""
    layout = Layout(program.leaves, program.bags, program.fresh_per_step)
    codes = []
    for leaf in program.leaves:
        if leaf.kind is Kind.SET:
            codes.append(chance.getrandbits(leaf.size) & chance.getrandbits(leaf.size))
        elif leaf.kind is Kind.ORDINAL:
            codes.append(chance.randrange(len(layout.sorts[leaf.sort]) + 1))
        else:
            codes.append(chance.randrange(2 if leaf.kind is Kind.BOOL else leaf.size))
    for bag in program.bags:
        for slot in bag.slots:
            if codes[slot[0]] == 0:
                for i in slot:
                    codes[i] = 0
    return layout.canonical(codes)


@dataclass(frozen=True)
class Reference:
    """Effect of one instance in a state, evaluated from the IR by `ir.evaluate`."""

    site: int | None
    codes: list[int] | None
    broken: int
    outside: bool


def interpret(program: Program, layout: Layout, codes: Sequence[int], instance: Instance) -> Reference:
    """One instance in one canonical state."""
    fresh = {sort: len(layout.sorts.get(sort, [])) + 1 for sort in program.fresh_per_step}
    memo: dict[int, int] = {}
    for event in instance.events:
        if evaluate(event.condition, codes, fresh, memo):
            return Reference(event.site, None, 0, False)
    after = list(codes)
    for leaf, node in instance.updates.items():
        after[leaf] = evaluate(node, codes, fresh, memo)
    broken = sum(1 << p for p, node in instance.breaks if evaluate(node, codes, fresh, memo))
    outside = bool(evaluate(instance.outside, codes, fresh, memo))
    return Reference(None, layout.canonical(after), broken, outside)
