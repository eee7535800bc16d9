"""Forms of expressions and statements about sequences (see `forms`)."""

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
s.flag = s.ox in s.ps
---
s.flag = s.ob in s.bs
---
s.w = choose(x for x in s.ps if x != s.y)
---
s.isr = choose(t for t in (s.isr, {s.bs[0]}, {B(0), B(2)}) if s.rs[choose(t)].lv > 0)
---
s.w = fold(digits, s.ps, 1)
---
s.ps = fold(longer, s.ps, ())
---
s.w = fold(weighed, s.bs, 0) * 10 + fold(weighed, s.rs, 0)
---
s.w = fold(digits, (s.rs[b].lv for b in B if b in s.isr), 0) + fold(digits, range(len(s.bs)), 0)
---
s.w = 10 // fold(digits, s.ps, 0)
---
s.triples |= {Triple(who=s.bs[0], lv=s.y, other=s.x)}
---
s.seats[Seat(who=s.bs[0], on=s.on)] = s.x + s.y
---
s.rare = {f + 1 for f in s.rare} | {0}
s.w = fold(digits, (x for x in s.ps if x in s.rare), 0)
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
s.far = joined(s.ps, (s.x, s.y))
---
s.far = joined(s.ps + s.ps, ())
s.w = len(s.far)
---
s.w = sum(level_of(x + s.y) for x in s.ps)
---
s.bs = tuple(b for b in s.bs if s.rs[b].lv > 0) + s.bs[:1]
---
s.flag = B(1) in s.bs and s.bs[0] == B(0)
---
s.w = total(s.ps)
---
s.flag = s.isr != frozenset() and not s.isr <= {s.bs[0]}
---
s.flag = s.isr == set(s.bs)
---
s.w = len(set(s.bs)) + len(frozenset(s.isr)) * 5
---
require(s.ox is not None and s.ox > 0 and s.ps[0] == s.x)
s.w = 3
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
s.ob = s.bs[0] if len(s.bs) > 0 else None if s.on else B(2)
---
s.w = len(s.bs) if s.on else len(s.isr) * -1
---
s.ps = tuple(x for x in s.ps)
s.w = sum(s.ps)
---
s.w = sum(1 for b in {B(0), B(1), s.bs[0]})
"""
