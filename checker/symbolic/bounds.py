"""The bounds of a model that a proof rests on, and those that it does without.

A model bounds its counters (Nat), its bags and its sequences, so that a search ends; a step that would
exceed a bound is cut. A proof does without the bound of a place where each step of the model without it, from any
state, is matched by one of the model with it: one that starts from the same state but for that place and does the same.

- A counter: nothing but the steps' own change of it reads it, and guards and cuts that let the step pass for some value
  of it, whatever else there is.
- A bag: a step reads the members that its parameters stand for, puts in and takes out, and asks of the others only that
  there be none of some kind. Then it does the same where these members are all that there is.
- A sequence: nothing reads it, and no step may be cut for its length.

An invariant that reads a counter or a sequence keeps its bound. One that reads a bag may do without, too, where it says
something of every message, or of every few messages that have room in the bag: see `network`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checker.lang.ir import BoundReads, Event, EventKind, Instance, Kind, Member, Node, Op, Property, reachable, support
from checker.lang.program import Program
from checker.lang.types import BagType, MapType, OptionType, RangeType, RecordType, SeqType, SetType, Type, UnionType
from checker.symbolic.rebuild import Rebuilt


@dataclass(frozen=True)
class Growing:
    """A place of the state that a step may grow, and what bounds it there.

    kind: "counter", "sequence" or "bag", and "inside" for what stands inside one of these; most: the largest number,
    length or number of members. bound: the leaves whose largest code that is. slots: of a bag, the leaves of each.
    """

    path: str
    kind: str
    most: int
    leaves: frozenset[int]
    bound: frozenset[int] = frozenset()
    slots: tuple[frozenset[int], ...] = ()

    def __str__(self) -> str:
        words = {"counter": f"up to {self.most}", "inside": f"up to {self.most}",
                 "sequence": f"at most {self.most} long", "bag": f"at most {self.most} in flight"}  # fmt: skip
        return f"{self.path}: {words[self.kind]}"


def growing(type_: Type, program: Program) -> list[Growing]:
    """The counters (Nat) and bags of a state that some step changes, the counters inside bags and the like, and the
    sequences that a step changes which may be cut."""
    changed, cut = set[int](), set[int]()
    for instance in program.instances:
        changed |= instance.updates.keys()
        if any(program.sites[e.site].kind is EventKind.CUT for e in instance.events):
            cut |= instance.updates.keys()
    return [p for p in _places(type_, "", 0) if p.leaves & (cut if p.kind == "sequence" else changed)]


def _places(type_: Type, path: str, start: int) -> Iterator[Growing]:
    leaves = frozenset(range(start, start + type_.width))
    name = path.lstrip(".")
    if isinstance(type_, RangeType):
        if type_.cuts and type_.size > 1:
            yield Growing(name, "counter", type_.hi, leaves, leaves)
    elif isinstance(type_, BagType):
        w = type_.slot_width
        slots = tuple(frozenset(range(at, at + w)) for at in range(start, start + type_.width, w))
        yield Growing(name, "bag", type_.capacity, leaves, slots=slots)
        yield from _inside(type_.element, f"{path}[]", leaves)
    elif isinstance(type_, SeqType):
        if type_.length:
            yield Growing(name, "sequence", type_.length, leaves, frozenset({start}))
        yield from _inside(type_.element, f"{path}[]", leaves)
    elif isinstance(type_, SetType | UnionType):
        yield from _inside(type_, path, leaves)
    elif isinstance(type_, RecordType):
        for field, inner in type_.fields.items():
            yield from _places(inner, f"{path}.{field}", start + type_.offsets[field])
    elif isinstance(type_, MapType):
        for i, key in enumerate(type_.keys):
            yield from _places(type_.value_type, f"{path}[{key!r}]", start + i * type_.value_type.width)
    elif isinstance(type_, OptionType):
        yield from _places(type_.inner, path, start + type_.width - type_.inner.width)


def _inside(type_: Type, path: str, leaves: frozenset[int]) -> Iterator[Growing]:
    """The counters and sequences in a value of which several share these leaves: nothing finer is known of them."""
    if isinstance(type_, RangeType):
        if type_.cuts and type_.size > 1:
            yield Growing(path.lstrip("."), "inside", type_.hi, leaves, leaves)
    elif isinstance(type_, SeqType):
        if type_.length:
            yield Growing(path.lstrip("."), "inside", type_.length, leaves, leaves)
    elif isinstance(type_, RecordType):
        for field, inner in type_.fields.items():
            yield from _inside(inner, f"{path}.{field}", leaves)
    elif isinstance(type_, UnionType):
        for variant in type_.variants:
            yield from _inside(variant, path, leaves)
    elif isinstance(type_, OptionType):
        yield from _inside(type_.inner, path, leaves)
    elif isinstance(type_, SetType):
        yield from _inside(type_.element, f"{path}[]", leaves)
    elif isinstance(type_, MapType):
        yield from _inside(type_.value_type, f"{path}[]", leaves)


@dataclass(frozen=True)
class Rests:
    """Bounds of a model that something rests on. places: by number; cuts: sites whose cut involves no place."""

    places: frozenset[int] = frozenset()
    cuts: frozenset[int] = frozenset()

    def __or__(self, other: Rests) -> Rests:
        return Rests(self.places | other.places, self.cuts | other.cuts)

    def union(self, others: Iterable[Rests]) -> Rests:
        return functools.reduce(operator.or_, others, self)


class Bounds:
    """The places of a program that may grow, and the bounds that its steps and properties rest on."""

    def __init__(self, program: Program, places: list[Growing]) -> None:
        self.program, self.places = program, places
        self._support: dict[int, frozenset[int]] = {}
        self._rebuilt = Rebuilt(program)
        self._steps: dict[int, Rests] = {}

    def reads(self, node: Node) -> frozenset[int]:
        """The leaves that an expression reads."""
        if node.serial not in self._support:
            self._support[node.serial] = support(node)
        return self._support[node.serial]

    @functools.cached_property
    def decided(self) -> Rests:
        """The bounds that some step rests on without showing it: without the bound it might do anything else."""
        return Rests().union(self._hidden(i.reads) | self._folded(i) for i in self.program.instances)

    def _folded(self, instance: Instance) -> Rests:
        """Places about which a step may ask what lack of room makes constant, so that its updates need not show it."""
        cuts = self._conditions(instance, EventKind.CUT)
        return Rests(frozenset(
            n for n, place in enumerate(self.places)
            if (place.kind == "sequence" and any(self.reads(c) & place.leaves for c in cuts))
            or (place.kind == "bag"
                and place.most - self._members(place, instance) < _depth(instance.reads.quantified, place))
        ))  # fmt: skip

    def _meeting(self, leaves: frozenset[int]) -> frozenset[int]:
        return frozenset(n for n, place in enumerate(self.places) if place.leaves & leaves)

    def _hidden(self, reads: BoundReads) -> Rests:
        """The places whose bounds these rest on."""
        found = []
        for n, place in enumerate(self.places):
            if place.bound & reads.largest or place.leaves & reads.counted:
                found.append(n)
        return Rests(frozenset(found))

    def guards(self, number: int) -> frozenset[int]:
        """Events of a step that are guards resting on a bound; a proof over a growing network leaves them out."""
        events = self.program.instances[number].events
        return frozenset(i for i, event in enumerate(events) if self._hidden(event.reads).places)

    # Properties.

    def property(self, index: int, any_number: bool) -> Rests:
        """The bounds that evaluating a property rests on. any_number: it was proved for a growing network."""
        found = self.program.properties[index]
        if found.condition is None:
            return self._hidden(found.reads)
        read = self.reads(found.condition).union(*[leaves for leaves, _ in found.reads.quantified])
        return self._hidden(found.reads) | Rests(frozenset(
            n for n in self._meeting(read) if not (any_number and self._of_few(self.places[n], found))
        ))  # fmt: skip

    def _of_few(self, place: Growing, found: Property) -> bool:
        """True if a violation of an invariant involves only a few members of a bag, which fit in it."""
        if place.kind != "bag" or found.condition is None or _depth(found.reads.quantified, place) > place.most:
            return False
        members = self._members_in(found.condition, place.leaves)
        return members is not None and members <= place.most

    def breaks(self, instance: Instance, index: int) -> Rests:
        """The bounds that checking a transition property on a step rests on."""
        conditions = [node for i, node in instance.breaks if i == index]
        read = frozenset[int]().union(*map(self.reads, conditions))
        return Rests(frozenset(
            n for n in self._meeting(read) if not self._as_narrow(self.places[n], instance, index, conditions)
        ))  # fmt: skip

    def _as_narrow(self, place: Growing, instance: Instance, index: int, conditions: list[Node]) -> bool:
        """True if a step that breaks a transition property also does so from a bag of the members taken and few others.

        So it is where it breaks it for want of some members, or because of some, which have room in the bag then.
        """
        if place.kind != "bag":
            return False
        taken = self._taken(place, instance)
        others = place.leaves - taken
        depth = _depth(self.program.properties[index].reads.quantified, place)
        if depth + self._members(place, instance) > place.most:
            return False
        if all(self._only_some(node, others, -1) for node in conditions):
            return True
        found = [self._members_in(node, others) for node in conditions]
        members = [n for n in found if n is not None]
        if len(members) < len(found) or max(members) + self._members(place, instance) > place.most:
            return False
        slots = [slot for slot in place.slots if slot & others]
        empty = dict.fromkeys(frozenset().union(*slots[max(members) :]), 0)
        cuts = [c for c in self._conditions(instance, EventKind.CUT) if self.reads(c) & place.leaves]
        return all(self._rebuilt.is_false(cut, empty) for cut in cuts)

    # Steps.

    def step(self, number: int, guarded: bool) -> Rests:
        """The bounds that a step rests on. guarded: the guards that rest on a bound are needed."""
        if number not in self._steps:
            self._steps[number] = self._step(self.program.instances[number])
        if not guarded:
            return self._steps[number]
        events = self.program.instances[number].events
        return self._steps[number].union(self._hidden(events[i].reads) for i in self.guards(number))

    def _step(self, instance: Instance) -> Rests:
        kept, starts = set[int](), dict[int, dict[int, int]]()
        for n, place in enumerate(self.places):
            start = None if self._seen(place, instance) else self._start(place, instance)
            if start is None:
                kept.add(n)
            else:
                starts[n] = start
        cuts = [e for e in instance.events if self._kind(e) is EventKind.CUT]
        while True:
            codes = {leaf: code for n, start in starts.items() if n not in kept for leaf, code in start.items()}
            left = [e for e in cuts if not self._rebuilt.is_false(e.condition, codes)]
            more = self._meeting(frozenset().union(*[self.reads(e.condition) for e in left])) - kept
            if not more:
                unknown = {e.site for e in left if not self._meeting(self.reads(e.condition))}
                return Rests(frozenset(kept), frozenset(unknown))
            kept |= more

    def _kind(self, event: Event) -> EventKind:
        return self.program.sites[event.site].kind

    def _conditions(self, instance: Instance, kind: EventKind) -> list[Node]:
        """The conditions under which events of a kind end a step, except guards that rest on a bound."""
        events = [e for e in instance.events if self._kind(e) is kind]
        return [e.condition for e in events if not self._hidden(e.reads).places]

    def _taken(self, place: Growing, instance: Instance) -> frozenset[int]:
        """The leaves of those slots of a bag that the step's parameters stand for."""
        absent = self._conditions(instance, EventKind.ABSENT)
        if not any(self.reads(condition) & place.leaves for condition in absent):
            return frozenset()
        chosen = {p.index for p in instance.parameters if isinstance(p, Member)}
        return frozenset().union(*[slot for i, slot in enumerate(place.slots) if i in chosen])

    def _members(self, place: Growing, instance: Instance) -> int:
        """The most members of a bag that the step's parameters stand for."""
        return sum(isinstance(p, Member) for p in instance.parameters) if self._taken(place, instance) else 0

    def _seen(self, place: Growing, instance: Instance) -> bool:
        """True if a step reads the place other than in guards, cuts and its own change of the place."""
        if place.kind == "inside":
            return True
        absent = self._conditions(instance, EventKind.ABSENT)
        own = [node for leaf, node in instance.updates.items() if leaf in place.leaves]
        shown = [*self._conditions(instance, EventKind.ERROR),
                 *[node for leaf, node in instance.updates.items() if leaf not in place.leaves]]  # fmt: skip
        if place.kind != "bag":
            return any(self.reads(node) & place.leaves for node in [*shown, *absent])
        others = place.leaves - self._taken(place, instance)
        room = place.most - self._members(place, instance)
        return (
            any(self.reads(node) & others for node in shown)
            or any(self._asks(node, place) for node in [*own, *absent])
            or room < _depth(instance.reads.quantified, place)
            or not all(self._only_some(node, others) for node in self._conditions(instance, EventKind.REQUIRE))
        )

    def _asks(self, root: Node, place: Growing) -> bool:
        """True if an expression asks anything of the members of a bag."""
        asked = (n for n in reachable([root]) if n.serial in self.program.quantifiers)
        return any(self.reads(node) & place.leaves for node in asked)

    def _start(self, place: Growing, instance: Instance) -> dict[int, int] | None:
        """Codes of the place for which no guard refuses the step: {leaf: code}; None if there are none."""
        if place.kind == "bag":
            return dict.fromkeys(place.leaves - self._taken(place, instance), 0)
        guards = [g for g in self._conditions(instance, EventKind.REQUIRE) if self.reads(g) & place.leaves]
        if place.kind == "sequence":
            return None if guards else dict.fromkeys(place.leaves, 0)
        [leaf] = place.leaves
        starts = ({leaf: code} for code in range(self.program.leaves[leaf].size))
        return next((s for s in starts if all(self._rebuilt.is_false(g, s) for g in guards)), None)

    def _only_some(self, root: Node, leaves: frozenset[int], way: int = 1) -> bool:
        """True if `root`, as far as these leaves go, holds because members are present, never because some are missing.

        way: -1 to ask that of its negation.
        """
        seen: set[tuple[int, int, bool]] = set()
        stack = [(root, way, False)]
        while stack:
            node, way, inside = stack.pop()
            if (node.serial, way, inside) in seen or not self.reads(node) & leaves:
                continue
            seen.add((node.serial, way, inside))
            if node.serial in self.program.quantifiers:
                inside = True
                if way != 1:
                    return False
            if node.op is Op.LEAF and not inside:
                return False
            ways = _WAYS.get(node.op if node.kind is Kind.BOOL else Op.ADD, (0,))
            stack += [(a, way * ways[min(i, len(ways) - 1)], inside) for i, a in enumerate(node.args)]
        return True

    def _members_in(self, root: Node, leaves: frozenset[int]) -> int | None:
        """The most members needed to make `root` hold, as far as these leaves go; None if the number is not limited."""
        memo: dict[tuple[int, int], int] = {}
        stack = [(root, 1)]
        while stack:
            node, way = stack[-1]
            ways = _WAYS.get(node.op if node.kind is Kind.BOOL else Op.ADD, (0,))
            parts = [(a, way * ways[min(i, len(ways) - 1)]) for i, a in enumerate(node.args) if self.reads(a) & leaves]
            missing = [(a, turned) for a, turned in parts if (a.serial, turned) not in memo]
            if node.serial in self.program.quantifiers:
                if way != 1 or not self._only_some(node, leaves):
                    return None
                memo[node.serial, way] = self.program.quantifiers[node.serial]
            elif (node.op is Op.LEAF and node.data in leaves) or any(turned == 0 for _, turned in parts):
                return None
            elif missing:
                stack += missing
                continue
            else:
                counts = [memo[a.serial, turned] for a, turned in parts]
                together = (node.op, way) in ((Op.AND, 1), (Op.OR, -1))
                memo[node.serial, way] = sum(counts) if together else max(counts, default=0)
            stack.pop()
        return memo[root.serial, 1]


_WAYS: dict[Op, tuple[int, ...]] = {Op.NOT: (-1,), Op.AND: (1,), Op.OR: (1,), Op.SELECT: (0, 1)}
"""Whether a node holds the more the more its arguments hold (1), the less (-1), or neither (0). The last stands for all
that follow."""


def _depth(quantified: Iterable[tuple[frozenset[int], int]], place: Growing) -> int:
    return max((depth for leaves, depth in quantified if leaves & place.leaves), default=0)
