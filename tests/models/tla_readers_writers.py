"""Readers and writers who are served in the order of a queue (github.com/tlaplus/Examples, ReadersWriters).

Who wants to read or to write stands in the queue, once for each. The first of the queue begins when nobody writes and,
to write, nobody reads. That somebody stops is weakly fair, whoever it is: WF(\\E actor: stop(actor)). So everybody
reads and writes infinitely often.

TLC, with 3 actors: 59,674 states generated, 21,527 distinct, depth 13.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    Model,
    Seq,
    Set,
    action,
    always_eventually,
    constants,
    init,
    invariant,
    message,
    require,
    state,
    weak_fairness,
)

SOURCE = "ReadersWriters"


@constants
class Actors:
    actors: int = 3


class Actor(Identity, size=lambda: Actors.actors):
    pass


class Kind(enum.Enum):
    READ = enum.auto()
    WRITE = enum.auto()


@message
class Request:
    kind: Kind
    actor: Actor


Waiting = Annotated[Seq[Request], AtMost(lambda: 2 * Actors.actors)]


@state
class Access:
    readers: Set[Actor]
    writers: Set[Actor]
    waiting: Waiting


@init
def nobody() -> Access:
    return Access(readers=frozenset(), writers=frozenset(), waiting=())


@action(who="actor {actor}", source=SOURCE, fair="weak")
def ask(s: Access, actor: Actor, kind: Kind) -> None:
    """An actor joins the queue."""
    request = Request(kind=kind, actor=actor)
    require(request not in s.waiting)
    s.waiting = s.waiting + (request,)


@action(who="queue", source=SOURCE, fair="weak")
def begin(s: Access) -> None:
    """The first in the queue reads or writes."""
    require(len(s.waiting) > 0)
    require(not s.writers)
    first = s.waiting[0]
    if first.kind == Kind.READ:
        s.readers = s.readers | {first.actor}
    else:
        require(not s.readers)
        s.writers = s.writers | {first.actor}
    s.waiting = s.waiting[1:]


@action(who="actor {actor}", source=SOURCE)
def stop(s: Access, actor: Actor) -> None:
    """An actor stops to read or to write."""
    require(actor in s.readers or actor in s.writers)
    if actor in s.readers:
        s.readers = s.readers - {actor}
    else:
        s.writers = s.writers - {actor}


@weak_fairness(stop)
def somebody_stops(s: Access) -> bool:
    """WF(\\E actor: stop(actor))."""
    return True


@invariant(source=SOURCE)
def writers_are_alone(s: Access) -> bool:
    """A writer is alone."""
    return len(s.writers) <= 1 and not (s.readers and s.writers)


@always_eventually(source=SOURCE)
def everybody_reads(s: Access, actor: Actor) -> bool:
    """An actor reads infinitely often."""
    return actor in s.readers


@always_eventually(source=SOURCE)
def everybody_writes(s: Access, actor: Actor) -> bool:
    """An actor writes infinitely often."""
    return actor in s.writers


@always_eventually(source=SOURCE)
def nobody_stays(s: Access, actor: Actor) -> bool:
    """Infinitely often, an actor neither reads nor writes."""
    return actor not in s.readers and actor not in s.writers


ACTIONS = [ask, begin, stop]
CLAIMS = [everybody_reads, everybody_writes, nobody_stays]
MODELS = [
    Model("fair", "Somebody stops.", nobody, ACTIONS, [writers_are_alone, *CLAIMS], fairness=[somebody_stops]),
    Model("endless", "Nobody has to stop.", nobody, ACTIONS, CLAIMS),
]  # fmt: skip
