"""Operations that have no result for some operands: each is a violation where it is reached, with a trace.

A gate stands before each: it opens in one step, and then the operation is tried on something it has no
result for. So every violation comes in the second state: the trace has two states and a step that breaks.
`guarded` does the same behind conditions that keep out of it. Its gate never closes, and the level becomes 1
only behind it: (closed, 0), (open, 0), (open, 1). The gate may open, and a look be taken, in all three
states, and the last step in the two behind the gate: 1 + 3 + 3 + 2 = 9 generated, depth 3.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    AtMost,
    Bag,
    Identity,
    Map,
    Model,
    Nat,
    Option,
    Range,
    Seq,
    Set,
    action,
    choose,
    init,
    invariant,
    require,
    state,
)


class Node(Identity, size=2): ...


class Letter(enum.Enum):
    A = enum.auto()
    B = enum.auto()


Level = Annotated[int, Range(0, 1)]
Position = Annotated[int, Range(0, 2)]
Word = Annotated[Seq[Level], AtMost(2)]
Letters = Annotated[Bag[Letter], AtMost(2)]
Few = Annotated[int, Nat(2)]


@state
class Gate:
    open: bool
    level: Level
    absent: Option[Level]
    leader: Option[Node]
    empty: Set[Node]
    word: Word
    position: Position
    letters: Letters
    levels: Map[Node, Level]
    by_level: Map[Level, bool]
    few: Few


@init
def closed() -> Gate:
    return Gate(
        open=False,
        level=0,
        absent=None,
        leader=None,
        empty=frozenset(),
        word=(0,),
        position=1,
        letters=Bag([Letter.A]),
        levels=Map({n: 0 for n in Node}),
        by_level=Map({0: True, 1: False}),
        few=0,
    )


@action(who="-", source="-")
def open_gate(s: Gate) -> None:
    """Open the gate: the actions below become possible."""
    s.open = True


# mypy sees the absent options, hence `type: ignore`: this file is about what happens without mypy.


@action(who="-", source="-")
def use_absent_option(s: Gate) -> None:
    """There is no level to store."""
    require(s.open)
    s.level = s.absent  # type: ignore[assignment]  # absent on purpose


@action(who="-", source="-")
def compare_absent_option(s: Gate) -> None:
    """There is no level to compare."""
    require(s.open and s.absent > 0)  # type: ignore[operator]  # absent on purpose
    s.level = 1


@action(who="-", source="-")
def index_by_absent_option(s: Gate) -> None:
    """There is no leader to look up."""
    require(s.open)
    s.level = s.levels[s.leader]  # type: ignore[index]  # absent on purpose


@action(who="-", source="-")
def highest_of_nothing(s: Gate) -> None:
    """There is no highest level of nobody."""
    require(s.open)
    s.level = max(s.levels[n] for n in s.empty)


@action(who="-", source="-")
def lowest_of_nothing(s: Gate) -> None:
    """There is no lowest level of nobody, in a guard either."""
    require(s.open)
    require(min(s.levels[n] for n in s.empty) == 0)
    s.level = 1


@action(who="-", source="-")
def least_of_nothing(s: Gate) -> None:
    """There is nobody to choose."""
    require(s.open)
    s.leader = choose(n for n in s.empty if s.levels[n] == 0)


@action(who="-", source="-")
def index_outside(s: Gate) -> None:
    """The word has no second letter."""
    require(s.open)
    s.level = s.word[s.position]


@action(who="-", source="-")
def divide_by_zero(s: Gate) -> None:
    """The level is 0."""
    require(s.open)
    s.level = s.position // s.level


@action(who="-", source="-")
def remainder_of_zero(s: Gate) -> None:
    """The level is 0, in a guard too."""
    require(s.open and s.position % s.level == 0)
    s.level = 1


@action(who="-", source="-")
def remove_what_is_not_there(s: Gate) -> None:
    """The bag holds no B."""
    require(s.open)
    s.letters = s.letters.remove(Letter.B)


@action(who="-", source="-")
def key_outside(s: Gate) -> None:
    """2 is not a level."""
    require(s.open)
    s.by_level[s.position + 1] = True


@action(who="-", source="-")
def store_below_zero(s: Gate) -> None:
    """A Nat has no value below 0: not a cut."""
    require(s.open)
    s.few -= 1


@action(who="-", source="-")
def second_store_outside(s: Gate) -> None:
    """The first store is inside, the second is not: the step does not happen."""
    require(s.open)
    s.level = 1
    s.position = s.position + 2


@action(who="-", source="-")
def store_in_range(s: Gate) -> None:
    """A local name may hold any number on its way."""
    require(s.open)
    far = s.position + 5
    s.level = far - 5


@action(who="-", source="-")
def guarded_look(s: Gate) -> None:
    """Conditions that are asked first keep out of what has no result."""
    require(s.absent is None or s.absent > 0)
    require(s.leader is None or s.levels[s.leader] == 0)
    require(s.level == 0 or s.position // s.level % s.level == 0)
    chosen = max(s.levels[n] for n in s.empty) if len(s.empty) > 0 else 0
    if len(s.word) > 1 and s.word[1] == 1:
        chosen = 1
    s.level = 1 if s.open else chosen


@invariant(source="-")
def highest_is_zero(s: Gate) -> bool:
    """Cannot be evaluated in any open state: a violation too."""
    return not s.open or max(s.levels[n] for n in s.empty) == 0


MODELS = [
    *[
        Model(tried.name, tried.doc, closed, [open_gate, tried], [])
        for tried in (
            use_absent_option,
            compare_absent_option,
            index_by_absent_option,
            highest_of_nothing,
            lowest_of_nothing,
            least_of_nothing,
            index_outside,
            divide_by_zero,
            remainder_of_zero,
            remove_what_is_not_there,
            key_outside,
            store_below_zero,
            second_store_outside,
        )
    ],
    Model("property_without_result", "A property that breaks down.", closed, [open_gate], [highest_is_zero]),
    Model("guarded", "Nothing breaks down.", closed, [open_gate, guarded_look, store_in_range], []),
]
