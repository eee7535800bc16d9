"""The state that the forms of `forms.py` work on: a bit of everything, with operands from the initial states."""

from __future__ import annotations

STATE = '''
"""Made by tests/lang/test_forms.py."""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import *


class B(Identity, size=3): ...


class E(Ordinal): ...


class Mode(enum.Enum):
    X = 5
    Y = 7
    Z = 9


class Phase(OrderedEnum):
    LATE = 3
    EARLY = 1
    NEVER = 2


Level = Annotated[int, Range(-2, 2)]
Wide = Annotated[int, Range(-500, 500)]
Few = Annotated[int, Nat(2)]
Low = Annotated[int, Range(-1, 1)]


@message
class P:
    who: B
    lv: Level


@message
class Q:
    mode: Mode
    flag: bool


@message
class Z: ...


U = P | Q | Z


@message
class G:
    a: Option[B]
    b: bool


@message
class Triple:
    who: B
    lv: Level
    other: Level


@message
class Seat:
    who: B
    on: bool


@message
class Path:
    steps: Annotated[Seq[bool], AtMost(2)]
    by: Option[Set[B]]


@message
class Told:
    who: B
    epoch: E


@message
class Retired:
    epoch: E


Tolds = Annotated[Set[Told | Retired], AtMost(2)]
Levels = Annotated[Seq[Level], AtMost(3)]
Far = Annotated[Seq[Wide], AtMost(5)]
Line = Annotated[Seq[B], AtMost(3)]
Epochs = Annotated[Seq[E], AtMost(2)]
Net = Annotated[Bag[U], AtMost(3)]
Tape = Annotated[Seq[U], AtMost(2)]
LevelBag = Annotated[Bag[Level], AtMost(3)]


@record
class R:
    lv: Level
    who: Option[B]


@record
class Board:
    levels: Map[Mode, Level]
    on: bool


Boards = Annotated[Seq[Board], AtMost(2)]


@state
class S:
    x: Level
    y: Level
    on: bool
    ob: Option[B]
    isr: Set[B]
    rs: Map[B, R]
    r1: R
    r2: Option[R]
    ps: Levels
    far: Far
    fm: Map[Mode, Wide]
    bs: Line
    e1: E
    e2: Option[E]
    es: Epochs
    mode: Mode
    phase: Phase
    om: Option[Mode]
    ox: Option[Level]
    net: Net
    lb: LevelBag
    lvs: Set[Level]
    modes: Set[Mode]
    mm: Map[Mode, Level]
    ml: Map[Level, bool]
    ms: Map[B, Map[Mode, Level]]
    u: Option[U]
    uu: U
    us: Map[B, U]
    board: Board
    tape: Tape
    boards: Boards
    triples: Set[Triple]
    posted: Set[U]
    quorums: Set[Set[B]]
    seats: Map[Seat, Level]
    per_set: Map[Set[B], bool]
    paths: Set[Path]
    tolds: Tolds
    rare: Annotated[Set[Annotated[int, Range(-2, 5000)]], AtMost(3)]
    n: Few
    w: Wide
    flag: bool


SUBSETS = [frozenset(B(i) for i in range(3) if mask >> i & 1) for mask in range(8)]


@init
def start(x: Level, y: Level, on: bool, ob: Option[B], isr: Set[B], om: Option[Mode]) -> S:
    u: Option[U] = None
    if ob is not None:
        u = P(who=ob, lv=y) if on else Q(mode=Mode.Y, flag=x > 0)
    return S(
        x=x,
        y=y,
        on=on,
        ob=ob,
        isr=isr,
        rs=Map({b: R(lv=x if b in isr else y, who=ob) for b in B}),
        r1=R(lv=y, who=None),
        r2=R(lv=x, who=ob) if on else None,
        ps=(x, y)[: len(isr)],
        far=(),
        fm=Map({m: 0 for m in Mode}),
        bs=tuple(b for b in B if b in isr),
        e1=E(0),
        e2=E(1) if on else E(0) if x > 0 else None,
        es=() if y > 0 else (E(1), E(0)) if x < 0 else (E(0),),
        mode=om if om is not None else Mode.X,
        phase=Phase.EARLY if on else Phase.NEVER if x > 0 else Phase.LATE,
        om=om,
        ox=None if x == 0 else y,
        net=Bag([Z(), Z()] if x > y else [P(who=b, lv=x) for b in isr]),
        lb=Bag([x, y, x] if on else []),
        lvs=frozenset({x, y}),
        modes=frozenset() if om is None else frozenset({om}),
        mm=Map({m: y for m in Mode}),
        ml=Map({i: i > x for i in range(-2, 3)}),
        ms=Map({b: Map({m: x if b == B(0) else y for m in Mode}) for b in B}),
        u=u,
        uu=Z() if x == y else P(who=B(0), lv=x),
        board=Board(Map({m: x for m in Mode}), on),
        us=Map({b: u if b in isr and u is not None else Z() for b in B}),
        tape=() if on else (P(who=B(0), lv=x), P(who=B(0), lv=y)) if x < 1 else (Q(mode=Mode.Z, flag=False),),
        boards=() if on else (Board(Map({m: y for m in Mode}), on),),
        triples=frozenset(Triple(who=b, lv=x, other=y) for b in isr),
        posted=frozenset({Z(), P(who=B(0), lv=y)} if on else {Q(mode=Mode.Y, flag=True)} if x > 0 else set()),
        quorums=frozenset({isr, frozenset({B(1)})} if on else {frozenset(), isr}),
        seats=Map({Seat(who=b, on=o): x if o else y for b in B for o in (False, True)}),
        tolds=frozenset({Told(who=b, epoch=E(1)) for b in isr if b != B(1)} if x > 0 else {Retired(epoch=E(0))}),
        rare=frozenset({x, y}),
        per_set=Map({t: len(t) > 1 for t in SUBSETS}),
        paths=frozenset({Path(steps=(on, not on), by=isr), Path(steps=(), by=None)}),
        n=0,
        w=0,
        flag=False,
    )


def give(s: S, b: B) -> R:
    return s.rs[b]


def bigger(r: R, q: R) -> bool:
    return r.lv > q.lv


def first_of(s: S) -> Option[B]:
    for b in s.bs:
        if s.rs[b].lv > 0:
            return b
    return None


def grown(r: R, by: int) -> R:
    if by > 0:
        return replace(r, lv=r.lv + by)
    return r


def total(xs: Levels) -> int:
    t = 0
    for x in xs:
        if x == 0:
            return t
        t = t * 2 + x
    return t + 100


def level_of(x: Level) -> Level:
    return x


def doubled(x: int) -> Level:
    if x == 1:
        return x
    return x * 2


def few_of(x: Few) -> Few:
    """Holds its annotations below a docstring."""
    y = x + 1
    return y


def joined(xs: Levels, ys: Levels) -> Levels:
    return xs + ys


def sent(net: Net, m: U) -> Net:
    return net.add(m)


def low(xs: Set[Level]) -> Set[Low]:
    return frozenset(x for x in xs if x != 1)


def named(b: B) -> B:
    return b


def place_of(s: S, r: Option[R]) -> Option[R]:
    return r


def held_p(p: P) -> Level:
    return p.lv


def table(modes: Map[Mode, Level], x: int) -> Map[Mode, Low]:
    if x > 0:
        return Map({m: x if m == Mode.Y else modes[m] for m in Mode})
    return modes


def either_way(s: S, to_far: bool) -> Low:
    return s.x if to_far else s.y if s.y > 0 else -s.x


def raised(modes: Map[Mode, Level], x: int) -> Map[Mode, Level]:
    if x > 0:
        return modes
    return Map({m: x if m == Mode.Y else modes[m] for m in Mode})


def digits(so_far: Wide, x: Level) -> Wide:
    return so_far * 3 + x


def longer(word: Levels, x: Level) -> Levels:
    return (x,) + word if len(word) < 2 else word


def kept(so_far: Set[B], b: B) -> Set[B]:
    return so_far - {b} if len(so_far) > 1 else so_far | {b}


def last_variant(so_far: Option[U], u: U) -> Option[U]:
    return so_far if isinstance(u, Z) and so_far is not None else u


def weighed(so_far: Wide, b: B) -> Wide:
    return so_far * 2 + (1 if b == B(1) else 0)


def lowest_mode(so_far: Option[Mode], mode: Mode) -> Option[Mode]:
    return mode if so_far is None else so_far
'''
