"""Fairness of groups of actions, properties of what comes to stay or comes back, and properties of actions.

Two workers take turns at a shared pile of jobs, and the turn passes from one to the other forever. Neither binding
of `work` is enabled forever, but some binding always is while jobs are left. So with weak fairness of each binding all
jobs may lie (`per_worker`: pass the turn, pass it back, 3 states), and with weak fairness of `work` by any worker,
WF(\\E w: work(w)), all get done (`any_worker`). So they do with strong fairness of each worker (`each_worker_strong`).

A job is done by hand in the day, or by machine at night: in `by_hand_or_machine` fairness of either group alone would
not be enough, WF(by_hand \\/ by_machine) is; `by_hand_only` may pass day and night forever.

`only_at_night` is WF(night /\\ by_either): fairness that asks for work only at night. Where night stays, the work gets
done (`long_night`); where day and night change, it is disabled infinitely often and need not be. Strong
fairness of the same makes it happen.

`lamp` is switched forever: that it is on holds infinitely often, that it is off does too, and neither holds forever;
`switch` is taken infinitely often. A lamp that burns out comes to stay dark (`burns_out`), and from then on `switch`
changes nothing: it is not a step of <<switch>>_vars, so that it may not be asked for, although its guard is true.
`numbered` issues a new number to a lamp that stays on: the states are the same but for the number, yet each step
changes it, so that `renew` is taken infinitely often.

Requests that come in rounds: `served` asks that after each request of a client a `serve` of that client is taken.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Identity,
    Model,
    Ordinal,
    Range,
    Set,
    action,
    always_eventually,
    eventually,
    eventually_always,
    fresh,
    init,
    leads_to,
    replace,
    require,
    state,
    strong_fairness,
    weak_fairness,
)

SOURCE = "tests"


Worker = Annotated[int, Range(0, 1)]


@state
class Shop:
    turn: Worker
    night: bool
    done: Annotated[int, Range(0, 2)]


@init
def opening() -> Shop:
    return Shop(turn=0, night=False, done=0)


@action(who="shop", source=SOURCE, fair="weak")
def pass_turn(s: Shop) -> None:
    """The turn passes to the other worker."""
    s.turn = 1 - s.turn


@action(who="worker {worker}", source=SOURCE)
def work(s: Shop, worker: Worker) -> None:
    """The worker whose turn it is does a job."""
    require(s.turn == worker and s.done < 2)
    s.done += 1


@action(who="sun", source=SOURCE, fair="weak")
def set_or_rise(s: Shop) -> None:
    """Day and night change."""
    s.night = not s.night


@action(who="sun", source=SOURCE, fair="weak")
def set_for_good(s: Shop) -> None:
    """Night falls, for good."""
    require(not s.night)
    s.night = True


@action(who="shop", source=SOURCE)
def by_hand(s: Shop) -> None:
    """A job is done by hand, in the day."""
    require(not s.night and s.done < 2)
    s.done += 1


@action(who="shop", source=SOURCE)
def by_machine(s: Shop) -> None:
    """A job is done by machine, at night."""
    require(s.night and s.done < 2)
    s.done += 1


@weak_fairness(work)
def some_worker_works(s: Shop) -> bool:
    """WF(\\E worker: work(worker))."""
    return True


@strong_fairness(work)
def each_worker_works(s: Shop, worker: Worker) -> bool:
    """\\A worker: SF(work(worker))."""
    return True


@weak_fairness(by_hand, by_machine)
def some_way_works(s: Shop) -> bool:
    """WF(by_hand \\/ by_machine)."""
    return True


@weak_fairness(by_hand)
def hands_work(s: Shop) -> bool:
    """WF(by_hand)."""
    return True


@weak_fairness(by_hand, by_machine)
def works_at_night(s: Shop) -> bool:
    """WF(night /\\ (by_hand \\/ by_machine))."""
    return s.night


@strong_fairness(by_hand, by_machine)
def works_some_night(s: Shop) -> bool:
    """SF(night /\\ (by_hand \\/ by_machine))."""
    return s.night


@eventually(source=SOURCE)
def all_done(s: Shop) -> bool:
    """All jobs get done."""
    return s.done == 2


@eventually_always(source=SOURCE)
def stays_done(s: Shop) -> bool:
    """From some time on all jobs are done."""
    return s.done == 2


@always_eventually(source=SOURCE, taken=work)
def work_goes_on(s: Shop) -> bool:
    """Work is done infinitely often. There are two jobs only."""
    return True


@eventually(source=SOURCE, taken=[by_hand, by_machine])
def a_job_is_done_at_night(s: Shop) -> bool:
    """Some job is done at night."""
    return s.night


class Light(enum.Enum):
    OFF = enum.auto()
    ON = enum.auto()
    BURNT_OUT = enum.auto()


class Number(Ordinal):
    pass


@state
class Lamp:
    light: Light
    number: Number


@init
def dark() -> Lamp:
    return Lamp(light=Light.OFF, number=Number(0))


@init
def bright() -> Lamp:
    return Lamp(light=Light.ON, number=Number(0))


@action(who="hand", source=SOURCE, fair="weak")
def switch(s: Lamp) -> None:
    """The lamp is switched; one that is burnt out stays dark."""
    if s.light == Light.OFF:
        s.light = Light.ON
    elif s.light == Light.ON:
        s.light = Light.OFF


@action(who="lamp", source=SOURCE, fair="strong")
def burn_out(s: Lamp) -> None:
    """A lamp that is on burns out."""
    require(s.light == Light.ON)
    s.light = Light.BURNT_OUT


@action(who="owner", source=SOURCE, fair="weak")
def renew(s: Lamp) -> None:
    """A lamp that is on gets a new number."""
    require(s.light == Light.ON)
    s.number = fresh(s, Number)


@always_eventually(source=SOURCE)
def shines(s: Lamp, light: Light) -> bool:
    """The lamp is seen on and off infinitely often; it does not burn out."""
    return s.light == light or light == Light.BURNT_OUT


@eventually_always(source=SOURCE)
def goes_dark(s: Lamp) -> bool:
    """From some time on the lamp is dark."""
    return s.light != Light.ON


@always_eventually(source=SOURCE, taken=switch)
def is_switched(s: Lamp) -> bool:
    """The lamp is switched infinitely often."""
    return True


@always_eventually(source=SOURCE, taken=renew)
def is_renewed(s: Lamp) -> bool:
    """The lamp gets new numbers infinitely often."""
    return True


class Client(Identity, size=2):
    pass


@state
class Desk:
    waiting: Set[Client]


@init
def empty_desk() -> Desk:
    return Desk(waiting=frozenset())


@action(who="client {client}", source=SOURCE)
def ask(s: Desk, client: Client) -> None:
    """A client asks."""
    require(client not in s.waiting)
    s.waiting = s.waiting | {client}


@action(who="desk", source=SOURCE)
def serve(s: Desk, client: Client) -> None:
    """A client who waits is served."""
    require(client in s.waiting)
    s.waiting = s.waiting - {client}


@leads_to(source=SOURCE, taken=serve)
def served(s: Desk, client: Client) -> tuple[bool, bool]:
    """A client who waits is served."""
    return client in s.waiting, True


@weak_fairness(serve)
def somebody_is_served(s: Desk) -> bool:
    """WF(\\E client: serve(client))."""
    return True


@weak_fairness(serve)
def everybody_is_served(s: Desk, client: Client) -> bool:
    """\\A client: WF(serve(client))."""
    return True


SHOP, SUN = [pass_turn, work], [set_or_rise, by_hand, by_machine]
MODELS = [
    Model("per_worker", "Weak fairness of each worker.", opening, [pass_turn, replace(work, fair="weak")], [all_done]),
    Model("any_worker", "Weak fairness of work by any worker.", opening, SHOP, [all_done, stays_done],
          fairness=[some_worker_works]),
    Model("each_worker_strong", "Strong fairness of each worker.", opening, SHOP, [all_done, work_goes_on],
          fairness=[each_worker_works]),
    Model("by_hand_or_machine", "Weak fairness of two actions.", opening, SUN, [all_done], fairness=[some_way_works]),
    Model("by_hand_only", "Weak fairness of one of the two.", opening, SUN, [all_done], fairness=[hands_work]),
    Model("nights", "Weak fairness of work at night.", opening, SUN, [all_done, a_job_is_done_at_night],
          fairness=[works_at_night]),
    Model("some_night", "Strong fairness of work at night.", opening, SUN, [all_done], fairness=[works_some_night]),
    Model("long_night", "Night stays.", opening, [set_for_good, by_hand, by_machine], [all_done],
          fairness=[works_at_night]),
    Model("lamp", "A lamp that is switched forever.", dark, [switch], [shines, is_switched, goes_dark]),
    Model("burns_out", "A lamp that burns out.", dark, [switch, burn_out], [goes_dark, is_switched]),
    Model("numbered", "A lamp that gets new numbers.", bright, [renew], [is_renewed]),
    Model("desk", "Somebody is served infinitely often.", empty_desk, [ask, serve], [served],
          fairness=[somebody_is_served]),
    Model("fair_desk", "Everybody is served.", empty_desk, [ask, serve], [served], fairness=[everybody_is_served]),
]  # fmt: skip
