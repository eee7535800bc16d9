"""Unions, maps with keys that are computed, records and their aliases; states counted by hand.

- `locks`: two clients ask one by one for a lock or give it back, through one channel. Holder: nobody or a
  client (3); channel: empty or one of 4 requests (5): 15 states, all reached. An empty channel takes 4 sends,
  a full one has 1 answer: 1 + 3*4 + 12*1 = 25 generated. Send, acquire, send: depth 4.
- `mail`: one message of three shapes, which share the bits of their fields: Put(client, 0..2), Get(client)
  and Share(set of clients), 6 + 2 + 4 = 12 messages, or none. What the last of each kind said is kept:
  levels 3, askers none or 2, sets 4: 36 memories, each with 13 channels: 468 states. 36*12 sends and 36*12
  receipts: 865 generated. Three messages sent and read reach every memory, and one more is sent: depth 8.
- `copied_levels`: three places hold 0, 1, 2, and any place may take over the value of another. These are
  maps of 3 to 3, and a step composes one with an idempotent of defect 1; by Howie's theorem these generate
  all 21 that are not permutations: 22 states. Each is left by 3 places * its different values:
  9 + 18*3*2 + 3*3 = 126: 127 generated. Depth 4: (2, 0, 0) and its like are 3 steps away, the rest fewer.
- `turns`: 3 seats in turn switch their light: after 3 steps all are on, after 6 all are off again: 6 states,
  7 generated, depth 6.
- `followed`: a point goes round 0..3, and another is set to where it was. (0,0) comes never again, while
  (1,0), (2,1), (3,2), (0,3) go round: 5 states, 6 generated, depth 5. Were the copy an alias, there were 4.
- `fleet`: machines are bought (off), switched on and off, and sold (when off). 2 of them with 3 shapes each:
  9 states. Each shape of one has, with 3 shapes of the other, none: 1 step, off: 2, on: 1: 2*3*4 = 24:
  25 generated. Both on: depth 5.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Identity,
    Map,
    MemberOf,
    Model,
    Option,
    Range,
    Set,
    action,
    init,
    invariant,
    message,
    record,
    replace,
    require,
    require_some,
    state,
    transition_invariant,
    witness,
)

# A union, taken apart by `match`.


class Client(Identity, size=2): ...


@message
class Acquire:
    client: Client


@message
class Release:
    client: Client


Request = Acquire | Release


@state
class Lock:
    holder: Option[Client]
    request: Option[Request]


@init
def free() -> Lock:
    return Lock(holder=None, request=None)


@action(who="client {client}", source="-")
def ask(s: Lock, client: Client) -> None:
    """A client wants the lock."""
    require(s.request is None)
    s.request = Acquire(client=client)


@action(who="client {client}", source="-")
def give_back(s: Lock, client: Client) -> None:
    """A client gives the lock back, whether or not it has it."""
    require(s.request is None)
    s.request = Release(client=client)


@action(who="server", source="-")
def answer(s: Lock) -> None:
    """The server grants a free lock, and frees one that its holder gives back."""
    request = require_some(s.request)
    match request:
        case Acquire(client=asking):
            if s.holder is None:
                s.holder = asking
        case Release():
            if s.holder == request.client:
                s.holder = None
    s.request = None


@transition_invariant(source="-")
def never_taken_away(before: Lock, after: Lock) -> bool:
    """The lock does not go from one holder to another in one step."""
    return before.holder is None or after.holder is None or before.holder == after.holder


@witness
def held_by_another(s: Lock) -> bool:
    """A client asks for what another has."""
    return s.holder is not None and isinstance(s.request, Acquire) and s.request.client != s.holder


# A union whose variants differ in the kinds of their fields.

Level = Annotated[int, Range(0, 2)]


@message
class Put:
    client: Client
    level: Level


@message
class Get:
    client: Client


@message
class Share:
    clients: Set[Client]


Mail = Put | Get | Share


@state
class Mailbox:
    mail: Option[Mail]
    level: Level
    asked_last: Option[Client]
    shared_with: Set[Client]


@init
def no_mail() -> Mailbox:
    return Mailbox(mail=None, level=0, asked_last=None, shared_with=frozenset())


@action(who="client {client}", source="-")
def send_put(s: Mailbox, client: Client, level: Level) -> None:
    """A client names a level."""
    require(s.mail is None)
    s.mail = Put(client=client, level=level)


@action(who="client {client}", source="-")
def send_get(s: Mailbox, client: Client) -> None:
    """A client asks."""
    require(s.mail is None)
    s.mail = Get(client=client)


@action(who="-", source="-")
def send_share(s: Mailbox, clients: Set[Client]) -> None:
    """Somebody shares with any clients."""
    require(s.mail is None)
    s.mail = Share(clients=clients)


@action(who="server", source="-")
def read_mail(s: Mailbox) -> None:
    """The server keeps what the message says, by its shape."""
    mail = require_some(s.mail)
    if isinstance(mail, Put):
        s.level = mail.level
    else:
        match mail:
            case Get(client=client):
                s.asked_last = client
            case Share():
                s.shared_with = mail.clients
    s.mail = None


# A parameter that ranges over the values of a map.

Place = Annotated[int, Range(0, 2)]
Present = Annotated[Level, MemberOf("levels")]


@state
class Shelf:
    levels: Map[Place, Level]


@init
def all_different() -> Shelf:
    return Shelf(levels=Map({0: 0, 1: 1, 2: 2}))


@action(who="place {place}", source="-")
def take_over(s: Shelf, place: Place, level: Present) -> None:
    """A place takes over the level of another."""
    s.levels[place] = level


@invariant(source="-")
def no_other_permutation(s: Shelf) -> bool:
    """A lost level does not come back: three different levels are the first three."""
    different = s.levels[0] != s.levels[1] and s.levels[1] != s.levels[2] and s.levels[0] != s.levels[2]
    return not different or (s.levels[0] == 0 and s.levels[1] == 1)


# A key that is computed.


@record
class Light:
    on: bool


@state
class Round:
    turn: Place
    lights: Map[Place, Light]


@init
def dark() -> Round:
    return Round(turn=0, lights=Map({0: Light(on=False), 1: Light(on=False), 2: Light(on=False)}))


@action(who="whose turn it is", source="-")
def switch_light(s: Round) -> None:
    """The one whose turn it is switches its light and passes the turn on."""
    light = s.lights[s.turn]
    light.on = not light.on
    s.turn = s.turn + 1 if s.turn < 2 else 0


@invariant(source="-")
def lights_in_turn(s: Round) -> bool:
    """Those who had their turn in this round agree, and so do the others."""
    return all(s.lights[p].on == s.lights[q].on for p in s.lights for q in s.lights if (p < s.turn) == (q < s.turn))


# Records are copied when they are assigned as a whole.


@record
class Point:
    x: Annotated[int, Range(0, 3)]


@record
class Walk:
    now: Point
    before: Point


@state
class Steps:
    walk: Walk


@init
def standing() -> Steps:
    return Steps(walk=Walk(now=Point(x=0), before=Point(x=0)))


@action(who="-", source="-")
def walk_on(s: Steps) -> None:
    """One step, and a copy of where it began."""
    walk = s.walk
    walk.before = walk.now
    walk.now.x = walk.now.x + 1 if walk.now.x < 3 else 0


# Optional records in a map.


class Power(enum.Enum):
    OFF = enum.auto()
    ON = enum.auto()


class Machine(Identity, size=2): ...


@record
class Bought:
    power: Power


@state
class Fleet:
    machines: Map[Machine, Option[Bought]]


@init
def no_machines() -> Fleet:
    return Fleet(machines=Map({m: None for m in Machine}))


@action(who="owner", source="-")
def buy(s: Fleet, machine: Machine) -> None:
    """A machine is bought; it is off."""
    require(s.machines[machine] is None)
    s.machines[machine] = Bought(power=Power.OFF)


@action(who="owner", source="-")
def switch_on(s: Fleet, machine: Machine) -> None:
    """A machine that is there is switched on."""
    bought = require_some(s.machines[machine])
    require(bought.power == Power.OFF)
    bought.power = Power.ON


@action(who="owner", source="-")
def switch_off(s: Fleet, machine: Machine) -> None:
    """A machine that is on is switched off."""
    bought = require_some(s.machines[machine])
    match bought.power:
        case Power.ON:
            s.machines[machine] = replace(bought, power=Power.OFF)
        case Power.OFF:
            require(False)


@action(who="owner", source="-")
def sell(s: Fleet, machine: Machine) -> None:
    """A machine that is off is sold."""
    bought = s.machines[machine]
    require(bought is not None and bought.power == Power.OFF)
    s.machines[machine] = None


@transition_invariant(source="-")
def running_machines_stay(before: Fleet, after: Fleet) -> bool:
    """No machine is sold while it runs."""
    return all(after.machines[m] is not None or not runs(before, m) for m in Machine)


def runs(s: Fleet, machine: Machine) -> bool:
    bought = s.machines[machine]
    if bought is None:
        return False
    return bought.power == Power.ON


MODELS = [
    Model("locks", "A union and match.", free, [ask, give_back, answer], [never_taken_away, held_by_another]),
    Model("mail", "Variants of different kinds.", no_mail, [send_put, send_get, send_share, read_mail], []),
    Model("copied_levels", "Values of a map.", all_different, [take_over], [no_other_permutation]),
    Model("turns", "A computed key.", dark, [switch_light], [lights_in_turn]),
    Model("followed", "Copies, not aliases.", standing, [walk_on], []),
    Model("fleet", "Optional records.", no_machines, [buy, switch_on, switch_off, sell],
          [running_machines_stay]),
]  # fmt: skip
