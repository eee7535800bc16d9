"""Every form of expression and statement of the language, on every operand: for differential tests.

The initial states are all combinations of operands. Each action writes the results of a few expressions
into `number` and `flag`, so that plain Python and the kernel can be compared on all of them.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    Map,
    Model,
    Option,
    OrderedEnum,
    Range,
    Seq,
    Set,
    action,
    choose,
    constants,
    fold,
    init,
    record,
    replace,
    require,
    state,
)


@constants
class Switches:
    minuend: int = 2
    "A number from outside."
    swapped: bool = False
    "A design switch."


class Item(Identity, size=3): ...


class Mood(OrderedEnum):
    GLAD = enum.auto()
    SAD = enum.auto()


Small = Annotated[int, Range(-1, 2)]
Wide = Annotated[int, Range(-200, 200)]
Word = Annotated[Seq[Small], AtMost(3)]


@record
class Result:
    number: Wide
    flag: bool


@state
class Operands:
    a: Small
    b: Small
    option: Option[Small]
    items: Set[Item]
    item: Item
    mood: Mood
    weights: Map[Item, Small]
    word: Word
    result: Result


@init
def any_operands(a: Small, b: Small, option: Option[Small], items: Set[Item], item: Item) -> Operands:
    """The rest follows from these, so that there are not too many states."""
    return Operands(
        a=a,
        b=b,
        option=option,
        items=items,
        item=item,
        mood=Mood.GLAD if a < b else Mood.SAD,
        weights=Map({i: a if i == item else b for i in Item}),
        word=(a, b) if a != b else (),
        result=Result(number=0, flag=False),
    )


def larger(x: int, y: int) -> int:
    """Returns early."""
    if x > y:
        return x
    return y


def sign(x: int) -> int:
    if x < 0:
        return -1
    elif x == 0:
        return 0
    else:
        return 1


def weight_of(s: Operands, items: Set[Item]) -> int:
    return sum(s.weights[i] for i in items)


def mood_after(mood: Mood, bad: bool) -> Mood:
    match mood:
        case Mood.GLAD if bad:
            return Mood.SAD
        case Mood.GLAD | Mood.SAD:
            return mood


@action(who="-", source="-")
def arithmetic(s: Operands) -> None:
    """Sums, differences and products, with a constant from outside."""
    s.result.number = s.a * s.b + 3 * s.a - s.b + (Switches.minuend - s.a) * 2 - (-s.b)
    s.result.flag = -1 <= s.a < s.b or s.a == s.b != 0


@action(who="-", source="-")
def division(s: Operands) -> None:
    """Quotients round down and remainders are of the divisor's sign, whatever the signs."""
    s.result.number = (5 * s.a - s.b) // 3 * 10 + (5 * s.a - s.b) % 3 + 7 // (s.a - 3) + 7 % (s.a - 3)
    s.result.flag = s.a % s.b == 0


def shifted(so_far: Wide, weight: Small) -> Wide:
    return so_far * 4 + weight


def lightest_first(so_far: Word, weight: Small) -> Word:
    return so_far if weight in so_far else so_far + (weight,)


@action(who="-", source="-")
def the_order_of_values(s: Operands) -> None:
    """The least member, that of a computed set, folds over a set, over a type in its order, and over a sequence."""
    s.item = choose(i for i in s.items if s.weights[i] == s.weights[choose(s.items)])
    s.result.number = fold(shifted, {s.a, s.b, 1}, 0) + fold(shifted, s.word, 0)
    s.word = fold(lightest_first, (s.weights[i] for i in Item), ())
    s.mood = max(s.mood, Mood.SAD if s.a > 0 else Mood.GLAD)
    s.result.flag = s.mood <= Mood.GLAD


@action(who="-", source="-")
def minima_and_maxima(s: Operands) -> None:
    """`min` and `max` of operands and of generators, and a helper that does the same."""
    s.result.number = min(s.a, s.b, 1) * 10 + max(s.weights[i] for i in Item) + larger(s.a, s.b)
    s.result.flag = max(s.a, s.b) == larger(s.b, s.a) and sign(s.a) <= sign(larger(s.a, 0))


@action(who="-", source="-")
def booleans(s: Operands) -> None:
    """`and`, `or`, `not`, comparison of truth values, conditional expressions."""
    p = s.a > 0
    q = s.b > 0
    s.result.flag = (p and not q) != (q or not p) and (p == q or not (p and q))
    s.result.number = (1 if p else 2) + (10 if p and q else 20 if p or q else 30)


@action(who="-", source="-")
def options(s: Operands) -> None:
    """Presence, value, and comparison with a value."""
    s.result.flag = s.option == s.a or (s.option is not None and s.option > s.b)
    if s.option is None:
        s.result.number = 7
    else:
        s.result.number = s.option + 1
    s.option = None if s.option == 0 else s.option


@action(who="-", source="-")
def set_algebra(s: Operands) -> None:
    """Union, intersection, difference, inclusion, membership, displays, size."""
    others = {i for i in Item if i not in s.items}
    both = s.items & {s.item}
    s.result.flag = both <= s.items and (s.items < (s.items | others)) and others != s.items
    s.result.number = len(s.items) * 10 + len(others - {s.item}) + (100 if s.item in others else -len(both))
    s.items = (s.items | {s.item}) if s.a > 0 else (s.items - {s.item}) | frozenset()


@action(who="-", source="-")
def quantifiers(s: Operands) -> None:
    """`any`, `all`, `sum`, with conditions, over a type and over a set of the state, nested."""
    s.result.flag = any(s.weights[i] > 0 for i in s.items) == (not all(s.weights[i] <= 0 for i in Item if i in s.items))
    s.result.number = (
        weight_of(s, s.items) * 4
        + sum(1 for i in Item if s.weights[i] == s.a)
        + sum(s.weights[i] * s.weights[j] for i in s.items for j in Item if i != j)
    )


@action(who="-", source="-")
def maps(s: Operands) -> None:
    """A computed key, a map comprehension, a change of one place of the new map."""
    lightest = s.weights[s.item]
    s.weights = Map({i: s.weights[i] if i in s.items else lightest for i in Item})
    s.weights[s.item] = s.b
    s.result.number = s.weights[Item(0)] * 9 + s.weights[Item(1)] * 3 + s.weights[Item(2)]


@action(who="-", source="-")
def sequences(s: Operands) -> None:
    """Growth, slices, places, membership, and a loop in order."""
    s.word = s.word[1:] + (s.b,)
    total = 0
    for number in s.word:
        total = total * 3 + number
    s.result.number = total + len(s.word[:1])
    s.result.flag = s.a in s.word and s.word[len(s.word) - 1] == s.b


@action(who="-", source="-")
def loops(s: Operands) -> None:
    """Loops whose order does not matter: over a type, over a set, with places of their own."""
    count = 0
    seen: Set[Item] = frozenset()
    for i in s.items:
        count += s.weights[i] + 2
        seen |= {i}
        s.weights[i] = s.a
    s.result.number = count
    s.result.flag = seen == s.items


@action(who="-", source="-")
def enums(s: Operands) -> None:
    """`match` with alternatives and a condition, in a helper and in the action."""
    s.mood = mood_after(s.mood, s.a < 0)
    match s.mood:
        case Mood.GLAD:
            s.result = replace(s.result, number=1)
        case _:
            s.result = Result(number=2, flag=not s.result.flag)


@action(who="-", source="-")
def guards(s: Operands) -> None:
    """Guards on some paths only, each before the first assignment of its path."""
    if s.a > 0:
        require(s.b > 0)
        if s.item in s.items:
            s.result.number = 5
            return
        require(len(s.items) > 1)
    else:
        require(s.option is not None)
    s.result.number = 6
    s.result.flag = True


@action(who="-", source="-")
def switches(s: Operands) -> None:
    """A branch on a switch that is off gives no code, and old values keep their names."""
    a = s.a
    s.a = s.b
    s.b = a
    if Switches.swapped:
        s.result.number = a - s.a
    else:
        s.result.number = s.a - a


@action(who="-", source="-")
def out_of_range(s: Operands, step: Small) -> None:
    """Some operands leave the range: violations for these, and for these only."""
    s.a = s.a + step


model = Model(
    name="expressions",
    doc="Every form of expression and statement.",
    init=any_operands,
    actions=[
        arithmetic,
        division,
        the_order_of_values,
        minima_and_maxima,
        booleans,
        options,
        set_algebra,
        quantifiers,
        maps,
        sequences,
        loops,
        enums,
        guards,
        switches,
        out_of_range,
    ],
    properties=[],
)
