"""Whole actions, each with a form of parameter (see `forms`)."""

from __future__ import annotations

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
