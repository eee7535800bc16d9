"""Forms of expressions and statements, one action each, on a state with a bit of everything: plain Python = kernel.

What stands here is compared on some hundred combinations of operands, with the results and the violations: the bodies
of actions `def step(s: S) -> None`. Those about messages are in `forms_of_messages`, those about sequences in
`forms_of_sequences`, whole actions with parameters in `forms_of_parameters`.
"""

from __future__ import annotations

BODIES = """
r = give(s, B(1))
r.lv = 0
s.w = s.rs[B(1)].lv * 10 + 3
---
r = s.rs[B(0)]
s.r1 = r
r.lv = 2
s.w = s.r1.lv * 10 + s.rs[B(0)].lv
---
k = require_some(s.ob)
r = s.rs[k]
s.ob = B(0)
r.lv = 2
---
s.rs[B(0)] = s.rs[B(1)]
s.rs[B(1)].lv = 2
s.rs[B(0)].who = None
---
r = s.r1
s.r2 = r
s.r1.lv = -2
s.w = r.lv
---
m = s.ms[B(0)]
m[Mode.X] = 2
s.w = s.ms[B(0)][Mode.X]
s.ms[B(1)] = m
m[Mode.Y] = -2
---
s.ms[B(2)] = s.ms[B(0)]
s.ms[B(0)][Mode.Z] = 1
---
for b in B:
    r = s.rs[b]
    r.lv = 0 if r.lv < 0 else r.lv
    s.ms[b][Mode.X] = r.lv
---
for b in s.isr:
    s.rs[b].who = b
---
for b, r in s.rs.items():
    r.lv = 1
---
for r in s.rs.values():
    r.lv = 1
---
s.flag = s.ob in s.isr
---
s.flag = s.ox in s.lvs
---
s.flag = s.om in s.modes
---
s.flag = s.e2 in s.es
---
s.flag = s.e2 == s.e1
s.w = 1 if s.e1 in s.es else 2
---
s.flag = s.e2 < s.e1
---
s.flag = s.ox < s.x
---
s.w = s.ox + 1
---
s.w = -s.ox
---
s.flag = s.e2 is not None and s.e2 > s.e1
---
s.w = s.x * s.y * 3 - s.x
---
s.w = s.x // s.y
---
s.w = s.x % s.y
---
s.w = (s.x * 7 + s.y) // 3 * 10 + (s.x * 7 + s.y) % 3
s.flag = s.y % 2 == 1
---
s.w = (s.x * 7 + s.y) // -3 * 10 + (s.x * 7 + s.y) % -3
---
s.w = 7 // (s.x + 3) * 10 + 7 % (s.x - 3)
---
s.w = s.x // s.y if s.y != 0 else s.x % (len(s.isr) + 1)
---
s.flag = s.y != 0 and s.x % s.y == 0
---
s.w = s.x // (s.y - s.y)
---
s.x //= 2
s.y %= 2
---
s.w = s.ox // s.y
---
s.flag = s.phase < Phase.EARLY or s.phase >= Phase.NEVER
s.w = 1 if s.phase <= Phase.LATE < Phase.EARLY else 2
---
s.phase = max(s.phase, Phase.EARLY)
s.flag = min(p for p in Phase if p > Phase.LATE) == Phase.EARLY
---
s.ob = choose(s.isr)
---
s.ob = choose(b for b in B if b not in s.isr)
---
s.ob = choose(b for b in s.isr if s.rs[b].lv > 0)
---
s.w = choose(s.lvs)
---
s.mode = choose(m for m in Mode if m != s.om)
---
s.w = choose(s.rs[b].lv for b in s.isr)
---
s.e1 = choose(e for e in s.es if e != s.e1)
---
s.w = fold(digits, s.lvs, 0)
---
s.w = fold(digits, s.lb, 0)
---
s.isr = fold(kept, s.isr, frozenset())
---
s.isr = fold(kept, B, s.isr)
---
s.w = fold(digits, {s.x, s.y}, 0)
---
s.om = fold(lowest_mode, s.modes, None)
---
s.triples = s.triples - {Triple(who=B(0), lv=s.x, other=s.y)} | {Triple(who=B(2), lv=2, other=2)}
---
s.triples = {t for t in s.triples if t.who != s.ob} | {Triple(who=b, lv=s.rs[b].lv, other=x) for b in B for x in s.lvs}
s.w = len(s.triples)
---
s.flag = s.triples <= {Triple(who=b, lv=s.x, other=s.y) for b in B} and Triple(who=B(1), lv=s.x, other=s.y) in s.triples
s.w = sum(t.lv for t in s.triples) * 10 + len(s.triples & {Triple(who=B(0), lv=s.x, other=2)})
---
s.flag = s.triples == {Triple(who=b, lv=s.y, other=s.x) for b in s.isr}
s.triples = frozenset()
---
s.ob = choose(s.triples).who
s.w = fold(weighed, (b for b in B if any(t.who == b for t in s.triples)), 0)
---
for t in s.triples:
    s.rs[t.who].lv = 1
    s.triples -= {t}
---
s.quorums |= {s.isr | {B(1)}}
---
s.quorums = {q | {B(0)} for q in s.quorums} - {s.isr}
---
s.flag = s.isr in s.quorums and all(len(p & q) > 0 for p in s.quorums for q in s.quorums)
s.w = sum(len(q) for q in s.quorums)
---
s.isr = choose(q for q in s.quorums if len(q) > 0)
---
s.flag = s.quorums == {frozenset({B(1)}), s.isr} or frozenset() in s.quorums
---
s.w = s.seats[Seat(who=B(1), on=s.x > 0)] * 10 + sum(lv for seat, lv in s.seats.items() if seat.who in s.isr)
---
s.seats = Map({seat: s.seats[seat] if seat.on else s.y for seat in s.seats})
---
s.seats = Map({Seat(who=b, on=o): s.rs[b].lv for b in B for o in (True, False)})
s.w = fold(digits, (s.seats[Seat(who=b, on=True)] for b in B), 0)
---
s.flag = s.per_set[s.isr]
s.per_set[s.isr | {B(0)}] = s.on
---
s.flag = any(yes and B(2) in q for q, yes in s.per_set.items())
---
s.paths = {replace(p, by=s.isr) if len(p.steps) > 0 else p for p in s.paths}
s.flag = Path(steps=(s.on,), by=None) in s.paths
---
s.paths = s.paths | {Path(steps=p.steps[1:] + (s.flag,), by=s.isr - {B(0)}) for p in s.paths}
s.w = len(choose(s.paths).steps)
---
s.flag = len(frozenset()) == 0 and s.triples != frozenset() and not (s.triples < s.triples)
---
s.rare |= {s.x + s.y, s.x * 7}
---
s.w = choose(s.rare) * 10 + sum(s.rare) - max(s.rare)
s.rare = s.lvs
---
s.n = s.x
---
s.n = s.x + 2
---
s.x = s.x + s.y
---
s.x += s.y * 2
s.y -= 1
---
s.fm = s.mm
s.fm[s.mode] = s.x * 3
s.mm = s.fm
---
s.w = level_of(s.x + s.y)
---
s.w = doubled(s.x) * 10 + doubled(x=s.y)
---
s.w = few_of(s.x) + few_of(s.x + 1)
---
s.n = few_of(s.n + s.x)
---
s.flag = s.x in low(s.lvs)
---
s.w = len(low({s.x, s.y * 2}))
---
s.ob = named(s.ob)
---
if s.ob is not None:
    s.ob = named(s.ob)
---
r = place_of(s, s.r2)
if r is not None:
    r.lv = s.y
s.w = s.r2.lv if s.r2 is not None else 9
---
r = place_of(s, s.r1)
if r is not None:
    r.lv = s.y
s.w = s.r1.lv
---
s.w = held_p(s.uu)
---
s.mm = table(s.mm, s.x)
---
s.flag = table(s.mm, s.x) == s.mm
---
s.w = either_way(s, s.on)
---
require(level_of(s.x + 1) > s.y)
s.w = 1
---
s.ob = first_of(s)
---
s.r1 = grown(s.r1, s.x)
---
s.rs[B(1)] = grown(s.rs[B(0)], s.y)
s.w = s.rs[B(0)].lv
---
s.flag = bigger(s.r1, s.rs[B(2)])
s.r1.lv = 0
---
s.lb = s.lb.add(s.y).remove(s.x)
---
s.w = sum(x for x in s.lb) * 10 + max(s.lb)
---
s.w = max((x for x in s.lb if x > s.y), default=7)
---
s.w = min(s.lvs) + max(s.lvs) * 10
---
s.lvs = {s.x + s.y}
---
s.lvs = s.lvs - {s.x}
---
s.modes = {m for m in Mode if m not in s.modes}
s.flag = Mode.X in s.modes
---
s.modes = s.modes | ({s.om} if s.om is not None else frozenset())
---
s.modes |= {s.mode}
s.modes -= {Mode.X}
s.modes &= {Mode.Y, s.mode}
---
s.flag = s.isr == {B(0), B(1)} or s.isr < {B(0), B(1), B(2)} or s.isr >= {B(2)}
---
s.flag = any(a != b and s.rs[a].lv == s.rs[b].lv for a in s.isr for b in B if b not in s.isr)
---
s.mm = Map({m: s.mm[m] if m != s.mode else s.x for m in Mode})
---
s.mm[s.mode] = s.mm[Mode.X]
s.mm[Mode.X] = s.x
---
s.ml[s.x + s.y] = True
---
s.mm = raised(s.mm, s.x)
---
s.board = Board(Map({m: s.mm[m] if s.on else s.y for m in Mode}), not s.on)
---
s.board = replace(s.board, levels=Map({Mode.X: s.y, Mode.Y: s.x, Mode.Z: s.x + s.y}))
---
levels: Map[Mode, Level] = Map({m: s.y for m in Mode})
s.flag = levels != s.mm
s.mm = levels
---
s.flag = s.ml[s.x * s.y]
---
s.e1 = fresh(s, E)
s.e2 = fresh(s, E) if s.on else s.e1
---
f = fresh(s, E)
s.flag = f > s.e1 and f != s.e2
s.es = s.es + (f,)
---
s.es = (s.e1,) + s.es[:1]
s.e1 = fresh(s, E)
s.e2 = None
---
s.e2 = max(s.es) if len(s.es) > 0 else None
---
s.e2 = min(s.e1, s.e2) if s.e2 is not None else s.e1
---
s.e2 = max(s.e1, fresh(s, E))
s.e1 = fresh(s, E)
---
s.e1 = require_some(s.e2)
---
s.es = tuple(e for e in s.es if e > s.e1)
---
s.e2 = s.es[0] if s.on else fresh(s, E)
---
s.on = not s.on
s.flag = s.on
s.on = s.on == s.flag
---
require(s.on or s.x > 0)
require(s.x != s.y and s.ob is not None)
s.w = 3
---
require(s.ox > 0)
s.w = 3
---
if s.on:
    require(s.x > 0)
    s.w = 1
elif s.x > 1:
    return
else:
    require(s.ob is not None)
s.y = 0
---
if s.on:
    x = 1
else:
    x = s.y
if x > 0:
    require(s.x > x)
else:
    x = 5
s.w = x
---
s.w = 1 if s.ob in {None, B(1)} else 2
---
s.w = 1 if s.ob not in (B(2), None) else 2
---
s.w = (1 if s.ob in (first_of(s), B(1)) else 2) + (10 if None in (s.ob, B(0)) else 20) + (30 if None in {B(0)} else 40)
---
if s.ob is None:
    s.w = 1
else:
    s.w = s.rs[s.ob].lv
    s.rs[s.ob].lv = 0
    s.rs[s.ob].who = s.ob
---
s.rs[s.ob].lv = 1
---
s.r2.lv = 1
---
r = s.r2
if r is None:
    s.r2 = s.r1
else:
    r.lv = 0
---
r = require_some(s.r2)
r.lv = s.x
s.w = s.r2.lv
s.r1 = r
---
s.r1 = s.r2
---
s.w = s.r2.lv
---
s.flag = s.r2 == s.r1
---
s.flag = s.r1 == R(lv=s.y, who=None) and s.rs[B(0)] == s.rs[B(1)]
---
s.r1 = s.r1
s.r2 = s.r2
s.x = s.x
---
s.ob = B(0) if s.ob == B(2) else B(2) if s.ob is None else s.ob
---
s.flag = 0 <= s.x <= s.y != 1
---
a, b = (s.x, s.y)
s.w = a * 10 + b
---
assert s.x > s.y
s.w = 1
---
s.om = s.mode
s.mode = s.om
---
s.w = sum({s.x, s.y}) * 10 + len({s.x, s.y, 0})
---
s.w = sum(x * x for x in s.lvs) + sum(1 for b in s.isr)
---
s.w = max(s.x, s.y) - min(s.x, s.y, 0)
---
s.flag = all(s.ml[i] for i in s.lvs) and any(r.lv > 0 for r in s.rs.values())
"""
