"""Small programs in IR, with counts that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from checker.lang.graph import Graph
from checker.lang.ir import Bag, Event, EventKind, Instance, Kind, Leaf, Node, Property, Site
from checker.lang.program import Program


class Builder:
    """Collects the parts of a program. Every action has one site of each kind, in `sites[action]`."""

    def __init__(self, actions: Sequence[str], leaves: Sequence[Leaf], bags: Sequence[Bag] = ()) -> None:
        self.g = Graph()
        self.nodes = [self.g.leaf(i, leaf) for i, leaf in enumerate(leaves)]
        self.instances: list[Instance] = []
        sites = [Site(kind, a, "small.py", a, name) for a, name in enumerate(actions) for kind in EventKind]
        self.program = Program(
            list(leaves), list(bags), list(actions), sites, self.instances, [], self.g.false, self.g.true
        )

    def event(self, kind: EventKind, action: int, condition: Node) -> Event:
        """The step ends here when `condition` holds."""
        return Event(condition, action * len(EventKind) + list(EventKind).index(kind), self.g.true)

    def step(
        self,
        action: int,
        events: Sequence[Event],
        updates: dict[int, Node],
        breaks: tuple[tuple[int, Node], ...] = (),
        outside: Node | None = None,
    ) -> None:
        number = sum(1 for i in self.instances if i.action == action)
        self.instances.append(
            Instance(action, (number,), tuple(events), updates, breaks, self.g.false if outside is None else outside)
        )

    def property(self, name: str, kind: str, condition: Node | None = None) -> None:
        self.program.properties.append(Property(name, kind, condition))


def counters(n: int, k: int) -> Program:
    """k counters that step by one up to n - 1 and are cut there: n**k states."""
    b = Builder(["step"], [Leaf(f"c{i}", Kind.INT, n) for i in range(k)])
    for i, node in enumerate(b.nodes):
        full = b.g.eq(node, b.g.integer(n - 1))
        b.step(0, [b.event(EventKind.CUT, 0, full)], {i: b.g.add(node, b.g.integer(1))})
    b.property("all are full", "witness", b.g.all_([b.g.eq(node, b.g.integer(n - 1)) for node in b.nodes]))
    return b.program


def subsets(n: int) -> Program:
    """A set of n members; each can be removed (where it is there) or added: 2**n states."""
    b = Builder(["remove", "add"], [Leaf("s", Kind.SET, n)])
    s = b.nodes[0]
    for i in range(n):
        absent = b.g.not_(b.g.has(s, b.g.integer(i)))
        b.step(0, [b.event(EventKind.ABSENT, 0, absent)], {0: b.g.set_minus(s, b.g.mask(1 << i))})
    for i in range(n):
        b.step(1, [], {0: b.g.set_or(s, b.g.mask(1 << i))})
    return b.program


def messages(kinds: int, capacity: int) -> Program:
    """A bag of messages; any kind can be sent while there is room, any message received."""
    leaves = [Leaf(f"bag[{i}]", Kind.INT, kinds + 1, slot=(0, i)) for i in range(capacity)]
    b = Builder(["send", "receive"], leaves, [Bag("bag", tuple((i,) for i in range(capacity)))])
    g, zero = b.g, b.g.integer(0)
    for kind in range(1, kinds + 1):
        updates = {}
        for i, node in enumerate(b.nodes):
            first_free = g.eq(node, zero) if i == 0 else g.and_(g.eq(node, zero), g.not_(g.eq(b.nodes[i - 1], zero)))
            updates[i] = g.select(first_free, g.integer(kind), node)
        full = g.not_(g.eq(b.nodes[-1], zero))
        b.step(0, [b.event(EventKind.CUT, 0, full)], updates)
    for i, node in enumerate(b.nodes):
        b.step(1, [b.event(EventKind.ABSENT, 1, g.eq(node, zero))], {i: zero})
    return b.program


def epochs(k: int) -> Program:
    """k epochs that are renewed, copied and dropped: every weak order of every subset of them is a state."""
    b = Builder(["renew", "copy", "drop"], [Leaf(f"e{i}", Kind.ORDINAL, sort="Epoch") for i in range(k)])
    b.program.fresh_per_step["Epoch"] = 1
    for i in range(k):
        b.step(0, [], {i: b.g.fresh("Epoch", 0)})
    for i in range(k):
        for j in range(k):
            if i != j:
                b.step(1, [], {i: b.nodes[j]})
    for i in range(k):
        b.step(2, [], {i: b.g.absent_ordinal("Epoch")})
    return b.program


def line(n: int) -> Builder:
    """A counter that goes from 0 to n - 1 and then has nothing to do."""
    b = Builder(["step"], [Leaf("c", Kind.INT, n)])
    c = b.nodes[0]
    b.step(0, [b.event(EventKind.REQUIRE, 0, b.g.eq(c, b.g.integer(n - 1)))], {0: b.g.add(c, b.g.integer(1))})
    return b


def history() -> Program:
    """A counter 0..3 that goes round, with a hidden flag that remembers whether it went the other way."""
    b = Builder(["up", "down"], [Leaf("c", Kind.INT, 4), Leaf("went_down", Kind.BOOL, hidden=True)])
    g, (c, _) = b.g, b.nodes
    last, first = g.eq(c, g.integer(3)), g.eq(c, g.integer(0))
    b.step(0, [], {0: g.select(last, g.integer(0), g.add(c, g.integer(1)))})
    b.step(1, [], {0: g.select(first, g.integer(3), g.add(c, g.integer(-1))), 1: g.true})
    return b.program
