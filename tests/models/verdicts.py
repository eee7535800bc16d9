"""One model for each way a search can end. All are walks of a counter from 0 to 3, or of a lamp.

- `broken_at_start`: the invariant is broken by an initial state: a trace of 1 state.
- `broken_later`: by the state with 2: a trace of 3 states.
- `broken_step`: a transition invariant is broken by the step from 3 to 0: a trace of 5 states.
- `stands_still`: by the first step that leaves the count as it was: a trace of 2 states.
- `broken_twice`: two invariants, of which one is broken at 1 and the other at 3: traces of 2 and 4 states.
- `never_reached`: a witness that no state shows. Nothing is broken: vacuous.
- `never_fires`: an action that is never enabled: vacuous, too.
- `broken_and_vacuous`: violated comes first.
- `vacuous_and_cut`: vacuous comes before the cut.
- `many_starts`: on or off, and 3 counts to start from: 6 initial states, all there are. From each the lamp is
  switched, and the count goes on unless it is 2: 6 + 6 + 4 = 16 generated, depth 1.
- `remembered`: a lamp remembers whether it was ever on: (off, never), (on, ever), (off, ever): 3 states,
  1 + 3 = 4 generated, depth 3.
- `forgotten`: the same with the history hidden: 2 states, 3 generated, depth 2.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    History,
    Model,
    Nat,
    Range,
    action,
    init,
    invariant,
    require,
    state,
    transition_invariant,
    witness,
)

Count = Annotated[int, Range(0, 3)]
Cut = Annotated[int, Nat(2)]
Start = Annotated[int, Range(0, 2)]
EverOn = Annotated[bool, History]


@state
class Counter:
    count: Count
    cut: Cut


@init
def at_zero() -> Counter:
    return Counter(count=0, cut=0)


@action(who="-", source="-")
def go_on(s: Counter) -> None:
    """Round and round."""
    s.count = s.count + 1 if s.count < 3 else 0


@action(who="-", source="-")
def go_on_until_cut(s: Counter) -> None:
    """Up to the bound."""
    s.cut += 1


@action(who="-", source="-")
def go_back(s: Counter) -> None:
    """There is no such state."""
    require(s.count > s.cut + 3)
    s.count -= 1


@invariant(source="-")
def not_at_zero(s: Counter) -> bool:
    """Broken from the start."""
    return s.count != 0


@invariant(source="-")
def not_at_one(s: Counter) -> bool:
    """Broken by one step."""
    return s.count != 1


@invariant(source="-")
def below_two(s: Counter) -> bool:
    """Broken by two steps."""
    return s.count < 2


@invariant(source="-")
def below_three(s: Counter) -> bool:
    """Broken by three steps."""
    return s.count < 3


@transition_invariant(source="-")
def upwards(before: Counter, after: Counter) -> bool:
    """Broken when the counter starts again."""
    return before.count <= after.count


@transition_invariant(source="-")
def never_the_same(before: Counter, after: Counter) -> bool:
    """Broken by a step that changes nothing of what is asked about."""
    return before.count != after.count


@witness
def cut_runs_ahead(s: Counter) -> bool:
    """There is no such state: `cut` never moves here."""
    return s.cut > s.count


@witness
def cut_goes_past(s: Counter) -> bool:
    """There is no such state: `cut` ends at 2."""
    return s.cut > 2


@state
class Lamp:
    on: bool
    ever_on: EverOn


@init
def off() -> Lamp:
    return Lamp(on=False, ever_on=False)


@action(who="-", source="-")
def switch(s: Lamp) -> None:
    """On when it was off, off when it was on."""
    s.on = not s.on
    s.ever_on = s.ever_on or s.on


@invariant(source="-")
def light_is_remembered(s: Lamp) -> bool:
    """A lamp that is on was on."""
    return not s.on or s.ever_on


@state
class Both:
    on: bool
    count: Start


@init
def any_start(on: bool, count: Start) -> Both:
    return Both(on=on, count=count)


@action(who="-", source="-")
def switch_lamp(s: Both) -> None:
    """On when it was off, off when it was on."""
    s.on = not s.on


@action(who="-", source="-")
def count_on(s: Both) -> None:
    """Up to two."""
    require(s.count < 2)
    s.count += 1


MODELS = [
    Model("broken_at_start", "Not even once.", at_zero, [go_on], [not_at_zero]),
    Model("broken_later", "After two steps.", at_zero, [go_on], [below_two]),
    Model("broken_step", "By a step, not by a state.", at_zero, [go_on], [upwards]),
    Model("stands_still", "By a step elsewhere.", at_zero, [go_on, go_on_until_cut], [never_the_same]),
    Model("broken_twice", "Two properties.", at_zero, [go_on], [below_three, not_at_one]),
    Model("never_reached", "A witness without a state.", at_zero, [go_on], [cut_runs_ahead]),
    Model("never_fires", "An action without a state.", at_zero, [go_on, go_back], []),
    Model("broken_and_vacuous", "Both.", at_zero, [go_on], [below_two, cut_runs_ahead]),
    Model("vacuous_and_cut", "Both.", at_zero, [go_on_until_cut], [cut_goes_past]),
    Model("many_starts", "Six initial states.", any_start, [switch_lamp, count_on], []),
    Model("remembered", "A history variable.", off, [switch], [light_is_remembered]),
    Model("forgotten", "A view that hides it.", off, [switch], [light_is_remembered], hide=["ever_on"]),
]
