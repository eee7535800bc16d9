"""AsyncIsr of hachikuji/kafka-specification as IR, built by hand: 3 replicas, leader 0."""

from __future__ import annotations

from checker.lang.graph import Graph
from checker.lang.ir import Event, EventKind, Instance, Kind, Leaf, Member, Node, Property, Site
from checker.lang.program import Program

ISRS = 8
CONTROLLER_SHRINKS, CONTROLLER_HANDLES, LEADER_SHRINKS, LEADER_EXPANDS, WRITE, LEARN, REPLICATE = range(7)
ACTIONS = [
    "controller_shrinks",
    "controller_handles",
    "leader_shrinks",
    "leader_expands",
    "leader_writes",
    "leader_learns",
    "follower_replicates",
]


class AsyncIsr:
    """Builds the program for the given bounds."""

    def __init__(self, max_version: int, max_offset: int) -> None:
        self.max_version, self.max_offset = max_version, max_offset
        self.g = Graph()
        self.versions = max_version + 2
        self.leaves: list[Leaf] = []
        self.isr = self._leaf("isr", Kind.SET, 3)
        self.version = self._leaf("version", Kind.INT, self.versions)
        self.leader_isr = self._leaf("leader_isr", Kind.SET, 3)
        self.leader_version = self._leaf("leader_version", Kind.INT, self.versions)
        self.pending_isr = self._leaf("pending_isr", Kind.SET, 3)
        self.pending_version = self._leaf("pending_version", Kind.INT, self.versions + 1)
        self.offsets = [self._leaf(f"offset[{r}]", Kind.INT, max_offset + 2) for r in range(3)]
        self.requests = [self._leaf(f"requests[{v}]", Kind.SET, ISRS) for v in range(self.versions)]
        self.updates = [self._leaf(f"updates[{v}]", Kind.SET, ISRS) for v in range(self.versions)]
        self.sites: list[Site] = []
        self.instances: list[Instance] = []

    def _leaf(self, path: str, kind: Kind, size: int) -> Node:
        self.leaves.append(Leaf(path, kind, size))
        return self.g.leaf(len(self.leaves) - 1, self.leaves[-1])

    def _site(self, kind: EventKind, action: int) -> int:
        self.sites.append(Site(kind, action, "async_isr.py", len(self.sites) + 1, f"guard {len(self.sites)}"))
        return len(self.sites) - 1

    def _outside(self, updates: dict[int, Node]) -> Node:
        def after(node: Node) -> Node:
            return updates.get(node.data, node)

        g = self.g
        over = [g.lt(g.integer(self.max_version), after(self.version))]
        over += [g.lt(g.integer(self.max_offset), after(offset)) for offset in self.offsets]
        return g.any_(over)

    def _add(self, action: int, parameters: tuple[object, ...], events: list[Event], updates: dict[int, Node]) -> None:
        self.instances.append(Instance(action, parameters, tuple(events), updates, (), self._outside(updates)))

    def _guard(self, condition: Node, site: int) -> Event:
        return Event(self.g.not_(condition), site, self.g.true)

    def _chosen(self, places: list[Node], index: Node) -> Node:
        result = places[-1]
        for k in reversed(range(len(places) - 1)):
            result = self.g.select(self.g.eq(index, self.g.integer(k)), places[k], result)
        return result

    def _put(self, places: list[Node], index: Node, bit: Node, updates: dict[int, Node]) -> None:
        g = self.g
        for k, place in enumerate(places):
            value = g.select(g.eq(index, g.integer(k)), g.set_or(place, bit), place)
            if value is not place:
                updates[place.data] = value

    def _code(self, isr: Node) -> Node:
        """The index of an ISR among all subsets (a select chain, as a front end would make it)."""
        g = self.g
        result = g.integer(ISRS - 1)
        for k in reversed(range(ISRS - 1)):
            result = g.select(g.eq(isr, g.mask(k)), g.integer(k), result)
        return result

    def _controller(self) -> None:
        g = self.g
        site = self._site(EventKind.REQUIRE, CONTROLLER_SHRINKS)
        up = g.add(self.version, g.integer(1))
        for r in (1, 2):
            isr = g.set_minus(self.isr, g.mask(1 << r))
            updates = {self.version.data: up, self.isr.data: isr}
            self._put(self.updates, up, g.bit(self._code(isr)), updates)
            self._add(CONTROLLER_SHRINKS, (r,), [self._guard(g.has(self.isr, g.integer(r)), site)], updates)
        site = self._site(EventKind.ABSENT, CONTROLLER_HANDLES)
        pending = self._chosen(self.requests, self.version)
        for i in range(ISRS):
            updates = {self.version.data: up, self.isr.data: g.mask(i)}
            self._put(self.updates, up, g.mask(1 << i), updates)
            guard = self._guard(g.has(pending, g.integer(i)), site)
            self._add(CONTROLLER_HANDLES, (Member(i),), [guard], updates)

    def _request(self, action: int, r: int, isr: Node, events: list[Event]) -> None:
        g = self.g
        updates = {
            self.pending_isr.data: g.set_or(self.pending_isr, isr),
            self.pending_version.data: g.add(self.leader_version, g.integer(1)),
        }
        self._put(self.requests, self.leader_version, g.bit(self._code(isr)), updates)
        self._add(action, (r,), events, updates)

    def _leader(self) -> None:
        g = self.g
        site = self._site(EventKind.REQUIRE, LEADER_SHRINKS)
        for r in (1, 2):
            guard = self._guard(g.has(self.leader_isr, g.integer(r)), site)
            self._request(LEADER_SHRINKS, r, g.set_minus(self.leader_isr, g.mask(1 << r)), [guard])
        sites = [self._site(EventKind.REQUIRE, LEADER_EXPANDS) for _ in range(2)]
        either = g.set_or(self.leader_isr, self.pending_isr)
        for r in range(3):
            not_member = g.not_(g.has(self.leader_isr, g.integer(r)))
            behind = [
                g.and_(g.has(either, g.integer(q)), g.not_(g.lt(self.offsets[r], self.offsets[q]))) for q in range(3)
            ]
            events = [self._guard(not_member, sites[0]), self._guard(g.any_(behind), sites[1])]
            self._request(LEADER_EXPANDS, r, g.set_or(self.leader_isr, g.mask(1 << r)), events)
        up = g.add(self.offsets[0], g.integer(1))
        self._add(WRITE, (), [], {self.offsets[0].data: up})

    def _learn(self) -> None:
        g = self.g
        absent = self._site(EventKind.ABSENT, LEARN)
        newer = self._site(EventKind.REQUIRE, LEARN)
        for v in range(1, self.versions):
            for i in range(ISRS):
                events = [
                    self._guard(g.has(self.updates[v], g.integer(i)), absent),
                    self._guard(g.lt(self.leader_version, g.integer(v)), newer),
                ]
                updates = {
                    self.leader_isr.data: g.mask(i),
                    self.leader_version.data: g.integer(v),
                    self.pending_isr.data: g.mask(0),
                    self.pending_version.data: g.integer(0),
                }
                self._add(LEARN, (v, Member(i)), events, updates)

    def program(self) -> Program:
        g = self.g
        self._controller()
        self._leader()
        self._learn()
        site = self._site(EventKind.REQUIRE, REPLICATE)
        for r in (1, 2):
            guard = self._guard(g.lt(self.offsets[r], self.offsets[0]), site)
            self._add(REPLICATE, (r,), [guard], {self.offsets[r].data: g.add(self.offsets[r], g.integer(1))})
        ahead = g.any_([g.lt(self.offsets[0], offset) for offset in self.offsets[1:]])
        return Program(
            self.leaves,
            [],
            ACTIONS,
            self.sites,
            self.instances,
            [Property("no follower is ahead", "invariant", ahead)],
            self._outside({}),
            g.true,
        )

    def initial(self) -> list[int]:
        full = {"isr": 7, "leader_isr": 7}
        return [full.get(leaf.path, 0) for leaf in self.leaves]
