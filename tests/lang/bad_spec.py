"""Parts of a spec that must be refused: a header that is right, and something that is not.

`«...»` marks what the caret must point at: the test takes the marks out, and reads file, line, caret, reason and
hint from the message.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

HEADER = '''\
"""A spec that is right as far as here."""

from __future__ import annotations

import enum
import random
from typing import Annotated

from checker.lang import *


@constants
class Design:
    brokers: int = 2
    "How many brokers."
    fencing: bool = True
    "A design switch."


class Broker(Identity, size=lambda: Design.brokers): ...


class BrokerEpoch(Ordinal): ...


class LeaderEpoch(Ordinal): ...


class Mode(enum.Enum):
    FENCED = 1
    ACTIVE = 2


Count = Annotated[int, Nat(3)]
Level = Annotated[int, Range(0, 3)]
Log = Annotated[Seq[Broker], AtMost(2)]


@message
class Register:
    broker: Broker
    epoch: BrokerEpoch


@message
class Heartbeat:
    broker: Broker


Request = Register | Heartbeat
Network = Annotated[Bag[Request], AtMost(2)]


@record
class Registration:
    epoch: BrokerEpoch
    fenced: bool


@state
class Cluster:
    registrations: Map[Broker, Registration]
    sessions: Map[Broker, Option[Registration]]
    leader: Option[Broker]
    isr: Set[Broker]
    epoch: BrokerEpoch
    leader_epoch: LeaderEpoch
    mode: Mode
    count: Count
    level: Level
    log: Log
    network: Network
    request: Option[Request]


@init
def start() -> Cluster:
    return Cluster(
        registrations=Map({b: Registration(epoch=BrokerEpoch(0), fenced=True) for b in Broker}),
        sessions=Map({b: None for b in Broker}),
        leader=None,
        isr=frozenset(),
        epoch=BrokerEpoch(0),
        leader_epoch=LeaderEpoch(0),
        mode=Mode.FENCED,
        count=0,
        level=0,
        log=(),
        network=Bag(),
        request=None,
    )


def latest(so_far: Level, level: Level) -> Level:
    return level


@action(who="clock", source="-")
def tick(s: Cluster) -> None:
    """Nothing wrong with this one."""
    s.count += 1
'''


@dataclass(frozen=True)
class BadSpec:
    """A spec with marks. reason, hint: what must stand in the message, in lower case."""

    rule: int
    name: str
    source: str
    reason: str
    hint: str = ""


def body(rule: int, name: str, statements: str, reason: str, hint: str = "") -> BadSpec:
    """A bad body of an action with the parameters s: Cluster, broker: Broker."""
    head = '@action(who="controller", source="-")\ndef step(s: Cluster, broker: Broker) -> None:\n    """A step."""\n'
    text = textwrap.indent(textwrap.dedent(statements).strip("\n"), "    ")
    return BadSpec(rule, name, f"{HEADER}\n\n{head}{text}\n", reason, hint)


def more(rule: int, name: str, declarations: str, reason: str, hint: str = "") -> BadSpec:
    """Bad declarations after the header."""
    return BadSpec(rule, name, f"{HEADER}\n\n{textwrap.dedent(declarations).strip()}\n", reason, hint)


def drawn(name: str, helper: str, reason: str, hint: str, parameter: str = "") -> BadSpec:
    """An action with a parameter that is drawn from what a bad helper `chosen` gives."""
    declared = parameter or "broker: Annotated[Broker, MemberOf(chosen)]"
    step = f'@action(who="controller", source="-")\ndef step(s: Cluster, {declared}) -> None:\n    """A step."""\n'
    return BadSpec(5, name, f"{HEADER}\n\n{helper}\n\n\n{step}    s.count = 1\n", reason, hint)


def field(rule: int, name: str, annotation: str, reason: str, hint: str = "", before: str = "") -> BadSpec:
    """A state with one bad field."""
    declarations = f"""\
{textwrap.dedent(before).strip()}


@state
class Odd:
    fine: bool
    {annotation}


@init
def odd() -> Odd:
    return Odd()


@action(who="controller", source="-")
def step(s: Odd) -> None:
    '''A step.'''
    s.fine = True


model = Model("odd", "-", odd, [step], [])
"""
    return BadSpec(rule, name, f"{HEADER}\n\n{declarations}", reason, hint)


def parameter(rule: int, name: str, annotation: str, reason: str, hint: str = "") -> BadSpec:
    """An action with one bad parameter."""
    head = '@action(who="controller", source="-")'
    text = f'{head}\ndef step(s: Cluster, {annotation}) -> None:\n    """A step."""\n    s.count = 1\n'
    return BadSpec(rule, name, f"{HEADER}\n\n{text}", reason, hint)
