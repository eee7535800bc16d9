"""Forms of expressions and statements about messages, records of several kinds and what holds them (see `forms`)."""

from __future__ import annotations

BODIES = """
s.uu = choose(s.net)
---
s.u = choose(u for u in s.us.values() if not isinstance(u, Q))
---
s.ob = choose((P(who=b, lv=s.rs[b].lv) for b in s.isr if s.x != s.y)).who
---
s.flag = choose(G(a=s.ob if m == Mode.Y else None, b=s.on) for m in Mode if m != s.mode).a == s.ob
---
s.u = fold(last_variant, s.net, None)
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
s.net = sent(s.net, s.uu).remove(s.uu)
---
s.net = sent(sent(s.net, Z()), s.uu).remove(Z())
---
s.w = held_p(s.u) if isinstance(s.u, P) else 3
---
s.tape = (P(s.bs[0], s.x),)[: len(s.isr)] + s.tape[:1]
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
s.u = P(s.bs[0], s.x)
---
s.u = P(lv=s.x + s.y, who=B(0))
"""
