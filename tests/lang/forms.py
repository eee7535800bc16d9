"""Forms of expressions and statements, one action each, on a state with a bit of everything: plain Python = kernel.

What stands here is compared on some hundred combinations of operands, with the results and the violations. `BODIES` are
the bodies of actions `def step(s: S) -> None`; `PARAMETERS` are whole actions.
"""

from __future__ import annotations

BODIES = """
s.boards = s.boards + (s.board,)
s.board.levels[Mode.X] = 2
s.w = s.boards[-1].levels[Mode.X]
---
s.boards = (s.board, s.board)
s.board = s.boards[0]
s.board.on = not s.on
s.flag = s.boards[0].on == s.boards[1].on
---
s.w = sum(b.levels[Mode.Y] for b in s.boards)
s.flag = any(b == s.board for b in s.boards)
---
s.boards = s.boards[1:]
---
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
s.flag = s.ox in s.ps
---
s.flag = s.ob in s.bs
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
s.w = choose(x for x in s.ps if x != s.y)
---
s.w = choose(s.lvs)
---
s.mode = choose(m for m in Mode if m != s.om)
---
s.w = choose(s.rs[b].lv for b in s.isr)
---
s.uu = choose(s.net)
---
s.u = choose(u for u in s.us.values() if not isinstance(u, Q))
---
s.e1 = choose(e for e in s.es if e != s.e1)
---
s.isr = choose(t for t in (s.isr, {s.bs[0]}, {B(0), B(2)}) if s.rs[choose(t)].lv > 0)
---
s.ob = choose((P(who=b, lv=s.rs[b].lv) for b in s.isr if s.x != s.y)).who
---
s.flag = choose(G(a=s.ob if m == Mode.Y else None, b=s.on) for m in Mode if m != s.mode).a == s.ob
---
s.w = fold(digits, s.ps, 1)
---
s.w = fold(digits, s.lvs, 0)
---
s.w = fold(digits, s.lb, 0)
---
s.ps = fold(longer, s.ps, ())
---
s.isr = fold(kept, s.isr, frozenset())
---
s.isr = fold(kept, B, s.isr)
---
s.w = fold(weighed, s.bs, 0) * 10 + fold(weighed, s.rs, 0)
---
s.w = fold(digits, (s.rs[b].lv for b in B if b in s.isr), 0) + fold(digits, range(len(s.bs)), 0)
---
s.w = fold(digits, {s.x, s.y}, 0)
---
s.u = fold(last_variant, s.net, None)
---
s.om = fold(lowest_mode, s.modes, None)
---
s.w = 10 // fold(digits, s.ps, 0)
---
s.triples |= {Triple(who=s.bs[0], lv=s.y, other=s.x)}
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
s.posted |= {s.uu, Z()}
s.flag = s.uu in s.posted
---
s.posted = s.posted - {P(who=b, lv=s.y) for b in B} | {Q(mode=m, flag=s.on) for m in s.modes}
---
s.w = len(s.posted) * 10 + sum(p.lv for p in s.posted if isinstance(p, P))
s.flag = any(isinstance(p, Q) and p.mode == Mode.Y for p in s.posted) and s.posted >= {Z()}
---
s.flag = s.posted == {Z(), P(who=B(0), lv=s.x)} or {Z(), s.uu} <= s.posted
---
s.uu = choose(p for p in s.posted if p != Z())
---
s.u = fold(last_variant, s.posted, None)
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
s.seats[Seat(who=s.bs[0], on=s.on)] = s.x + s.y
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
s.tolds |= {Told(who=s.bs[0], epoch=s.e1)}
---
s.tolds = s.tolds | {Told(who=b, epoch=s.e1) for b in s.isr} - {Told(who=B(0), epoch=s.e1)}
---
s.tolds -= {Retired(epoch=s.e1), Told(who=B(0), epoch=s.e1)}
s.w = len(s.tolds)
---
s.tolds = s.tolds & {Retired(epoch=s.e1), Retired(epoch=s.e1), Told(who=B(2), epoch=s.es[0])}
---
s.tolds = {t for t in s.tolds if isinstance(t, Told)} | {Retired(epoch=s.e1)}
s.flag = Retired(epoch=s.e1) in s.tolds
---
s.flag = s.tolds == {Retired(epoch=s.e1)} or {Told(who=B(0), epoch=s.e1)} <= s.tolds or s.tolds < s.tolds
---
s.flag = s.tolds != frozenset() and any(isinstance(t, Told) and t.who in s.isr for t in s.tolds)
s.tolds = frozenset() if s.on else s.tolds
---
s.e1 = choose(t.epoch for t in s.tolds)
s.w = len({t.epoch for t in s.tolds} | {s.e1})
---
s.tolds = {Told(who=b, epoch=fresh(s, E)) if s.on else Retired(epoch=s.e1) for b in s.bs[:1]}
---
s.rare |= {s.x + s.y, s.x * 7}
---
s.rare = {f + 1 for f in s.rare} | {0}
s.w = fold(digits, (x for x in s.ps if x in s.rare), 0)
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
s.w = s.ps[-1]
---
s.ps = s.ps[:-1]
---
s.ps = s.ps[-2:]
---
s.ps = s.ps[1:2]
---
s.ps = s.ps[5:]
---
s.ps = s.ps[:0] + (s.x,)
---
s.ps = s.ps[len(s.isr):]
---
s.ps = s.ps + s.ps
---
s.ps = (s.x,) + s.ps[1:] if len(s.ps) > 0 else ()
---
s.w = s.ps[len(s.isr)]
---
s.w = s.ps[s.x]
---
s.w = s.ps[s.x + 2]
---
s.flag = s.ps == (s.x,) or s.ps != (s.x, s.y)
---
s.flag = s.bs == tuple(b for b in B)
---
s.bs = tuple(b for b in B if b not in s.isr)
---
new: Levels = (s.x, s.y)[: len(s.isr)]
s.ps = new
---
s.ps = (s.x + 1, s.y)[: len(s.bs)]
---
s.far = s.ps
s.ps = s.far[:2] + (s.x,)
---
s.far = s.ps + (s.x + 3, s.y * 4)
s.ps = s.far[1:]
---
s.far = (s.x * 4,) + s.ps
s.w = sum(s.far)
---
s.far = s.ps if s.on else (s.x + 3,)
s.w = len(s.far)
---
line = s.ps if s.on else (s.x * 2, s.y)[: len(s.bs)]
s.flag = line == s.ps
s.ps = line
---
s.flag = s.ps == (s.x + 2,) or (s.y * 3, s.x) != s.ps
---
s.flag = s.ps + (s.x,) == (s.x,) + s.ps
---
s.ps = (s.x, s.y + 2, s.x, s.y)
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
s.far = joined(s.ps, (s.x, s.y))
---
s.far = joined(s.ps + s.ps, ())
s.w = len(s.far)
---
s.net = sent(s.net, s.uu).remove(s.uu)
---
s.net = sent(sent(s.net, Z()), s.uu).remove(Z())
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
s.w = held_p(s.u) if isinstance(s.u, P) else 3
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
s.w = sum(level_of(x + s.y) for x in s.ps)
---
s.tape = (P(s.bs[0], s.x),)[: len(s.isr)] + s.tape[:1]
---
s.bs = tuple(b for b in s.bs if s.rs[b].lv > 0) + s.bs[:1]
---
s.flag = B(1) in s.bs and s.bs[0] == B(0)
---
s.w = total(s.ps)
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
match s.om:
    case None:
        s.w = 1
    case Mode.X | Mode.Y:
        s.w = 2
    case _:
        s.w = 3
---
match s.x:
    case 0:
        s.w = 1
    case 1 | 2:
        s.w = 2
    case k if k == s.y:
        s.w = k
    case _:
        s.w = 9
---
match s.x:
    case -1:
        s.w = 1
    case _:
        s.w = 9
---
match s.u:
    case None:
        s.w = 1
    case P(who=w, lv=l):
        s.ob = w
        s.w = l
    case Q(flag=f) if f:
        s.w = 5
    case Q(mode=m):
        s.mode = m
    case _:
        s.w = 7
---
match s.uu:
    case Z():
        s.w = 1
    case P():
        s.w = s.uu.lv
---
s.flag = s.u == s.uu
---
s.flag = s.u == P(who=B(0), lv=s.x)
---
s.flag = isinstance(s.u, P) and s.u.lv == s.x
---
s.flag = isinstance(s.u, (P, Z)) or s.u is None
---
s.w = s.u.lv
---
s.w = s.u.lv if isinstance(s.u, P) else 1 if isinstance(s.u, Q) and s.u.flag else 0
---
s.u = s.uu
s.uu = Q(mode=s.mode, flag=s.on)
---
s.w = len(s.net) * 10 + s.net.count(Z()) + sum(1 for m in s.net if isinstance(m, P))
---
s.flag = s.uu in s.net
s.net = s.net.add(s.uu)
---
s.net = s.net.remove(Z())
---
s.net = s.net.remove(Z()).add(Z())
---
s.net = s.net.add(Z()).remove(Z())
---
s.net = s.net.add(Z()).add(P(who=B(0), lv=0)).remove(Z())
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
s.flag = s.isr != frozenset() and not s.isr <= {s.bs[0]}
---
s.flag = s.isr == set(s.bs)
---
s.w = len(set(s.bs)) + len(frozenset(s.isr)) * 5
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
require(s.ox is not None and s.ox > 0 and s.ps[0] == s.x)
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
c = 0
for b in s.bs:
    c = c * 2 + s.rs[b].lv
    if c > 2:
        s.ob = b
s.w = c
---
for b in s.bs:
    if s.ob is None:
        s.ob = b
---
c = s.x
for i in range(len(s.ps)):
    c += s.ps[i] * (i + 1)
s.w = c
---
for i in range(3):
    if i < len(s.ps) and s.ps[i] == s.y:
        s.w += i + 1
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
s.ob = s.bs[0] if len(s.bs) > 0 else None if s.on else B(2)
---
s.w = len(s.bs) if s.on else len(s.isr) * -1
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
s.ps = tuple(x for x in s.ps)
s.w = sum(s.ps)
---
s.w = sum({s.x, s.y}) * 10 + len({s.x, s.y, 0})
---
s.w = sum(1 for b in {B(0), B(1), s.bs[0]})
---
s.w = sum(x * x for x in s.lvs) + sum(1 for b in s.isr)
---
s.w = max(s.x, s.y) - min(s.x, s.y, 0)
---
s.flag = all(s.ml[i] for i in s.lvs) and any(r.lv > 0 for r in s.rs.values())
---
s.u = P(s.bs[0], s.x)
---
s.u = P(lv=s.x + s.y, who=B(0))
"""

PARAMETERS = '''
OneTold = Annotated[Told, MemberOf("tolds")]
Rare = Annotated[Annotated[int, Range(-2, 5000)], MemberOf("rare")]
InTriples = Annotated[Triple, MemberOf("triples")]
Posted = Annotated[U, MemberOf("posted")]
PostedP = Annotated[P, MemberOf("posted")]
Quorum = Annotated[Set[B], MemberOf("quorums")]
def above(s: S, y: Level) -> Set[Level]:
    if s.on:
        return {x for x in s.ps if x > y}
    return s.lvs


def lower(s: S) -> Set[B]:
    return set(s.bs) | ({s.ob} if s.ob is not None else frozenset())


InLevels = Annotated[Level, MemberOf("lvs")]
InModes = Annotated[Mode, MemberOf("modes")]
InSequence = Annotated[Level, MemberOf("ps")]
InBag = Annotated[U, MemberOf("net")]
InMap = Annotated[Level, MemberOf("mm")]
InMapOfMap = Annotated[Level, MemberOf("ms[b]")]
InRecords = Annotated[R, MemberOf("rs")]
Order = Annotated[Seq[Mode], Permutation]
PInBag = Annotated[P, MemberOf("net")]
ZInBag = Annotated[Z, MemberOf("net")]
PInMap = Annotated[P, MemberOf("us")]
AnyInMap = Annotated[U, MemberOf("us")]
FromHelper = Annotated[Level, MemberOf(above)]
FromSequence = Annotated[B, MemberOf(lower)]
FewLevels = Map[Mode, bool]
Pairs = Annotated[Seq[bool], AtMost(2)]
QInSequence = Annotated[Q, MemberOf("tape")]
PInSequence = Annotated[P, MemberOf("tape")]


@action(who="x", source="-")
def member_of_sets(s: S, x: InLevels, m: InModes) -> None:
    """A parameter."""
    s.w = x
    s.modes -= {m}

@action(who="x", source="-")
def member_of_sequence(s: S, p: InSequence) -> None:
    """A parameter."""
    s.w = p * 3

@action(who="x", source="-")
def member_of_bag(s: S, n: InBag) -> None:
    """A parameter."""
    s.uu = n
    s.net = s.net.remove(n)

@action(who="x", source="-")
def member_of_maps(s: S, b: B, x: InMapOfMap, y: InMap) -> None:
    """A parameter."""
    s.w = x * 10 + y
    s.ms[b][Mode.X] = y

@action(who="x", source="-")
def drawn_from_helpers(s: S, b: FromSequence, y: InLevels, x: FromHelper) -> None:
    """Parameters."""
    require(x != s.x)
    s.w = x * 10 + y
    s.ob = b


@action(who="x", source="-")
def maps_and_sequences(s: S, flags: FewLevels, pair: Pairs, u: Option[Q | Z]) -> None:
    """Parameters."""
    require(flags[s.mode] and (len(pair) == 0 or pair[-1]))
    s.flag = pair == (s.on, True)
    s.w = len(pair) * 100 + sum(1 for m in Mode if flags[m])
    match u:
        case Q(mode=mode):
            s.mode = mode
        case None:
            s.on = False


@action(who="x", source="-")
def all_orders(s: S, order: Order) -> None:
    """A parameter."""
    s.mode = order[0] if s.on else order[2]
    for m in order:
        if s.om is None:
            s.om = m


@action(who="x", source="-")
def all_values(s: S, o: Option[B], t: Set[B]) -> None:
    """Parameters."""
    s.ob = o
    s.isr = t


@action(who="x", source="-")
def member_record(s: S, r: InRecords) -> None:
    """A parameter."""
    require(r.lv > 0)
    s.r1 = r

@action(who="x", source="-")
def values_of_a_message(s: S, g: G) -> None:
    """A parameter."""
    s.ob = g.a
    s.flag = g.b


@action(who="x", source="-")
def one_variant_of_a_bag(s: S, p: PInBag, z: ZInBag) -> None:
    """Never both at once: a bag of either."""
    s.net = s.net.remove(z).remove(p)


@action(who="x", source="-")
def one_variant_in_a_bag(s: S, p: PInBag) -> None:
    """A parameter."""
    s.net = s.net.remove(p)
    s.ob = p.who


@action(who="x", source="-")
def one_variant_of_a_map(s: S, p: PInMap) -> None:
    """A parameter."""
    s.ob = p.who
    s.x = p.lv


@action(who="x", source="-")
def all_variants_of_a_map(s: S, u: AnyInMap) -> None:
    """A parameter."""
    s.u = u


@action(who="x", source="-")
def one_variant_of_a_sequence(s: S, q: QInSequence) -> None:
    """A parameter."""
    s.mode = q.mode
    s.tape = s.tape[1:]


@action(who="x", source="-")
def member_of_a_wide_set(s: S, t: InTriples) -> None:
    """A parameter."""
    s.triples -= {t}
    s.w = t.lv * 10 + t.other


@action(who="x", source="-")
def member_of_a_set_of_messages(s: S, u: Posted) -> None:
    """A parameter."""
    s.uu = u


@action(who="x", source="-")
def member_of_a_set_of_sets(s: S, q: Quorum) -> None:
    """A parameter."""
    s.isr = q


@action(who="x", source="-")
def one_variant_of_a_set(s: S, p: PostedP) -> None:
    """A parameter."""
    s.w = p.lv
    s.posted -= {p}


@action(who="x", source="-")
def members_of_bounded_sets(s: S, t: OneTold, f: Rare) -> None:
    """Parameters."""
    s.tolds -= {t}
    s.e1 = t.epoch
    s.rare = s.rare - {f}


@action(who="x", source="-")
def another_variant_of_a_sequence(s: S, p: PInSequence) -> None:
    """Equal members are taken once."""
    s.x = p.lv
    s.flag = p in s.tape
'''
