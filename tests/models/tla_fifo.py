"""A queue between two channels (Lamport, Specifying Systems, chapter 4; github.com/tlaplus/Examples, MCInnerFIFO).

Each channel is a value with a ready and an acknowledge bit. The queue is bounded by a state constraint: states with
more than `longest` elements are looked at, and neither counted nor expanded.

TLC, with three messages and queues of up to 3: 9,660 states generated, 3,864 distinct, depth 11.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    Model,
    Range,
    Seq,
    action,
    constants,
    constraint,
    init,
    record,
    replace,
    require,
    state,
    transition_invariant,
)

SOURCE = "Specifying Systems, 4"
Bit = Annotated[int, Range(0, 1)]


@constants
class Queues:
    longest: int = 3
    "Elements in the queue, up to which states are expanded."


class Message(Identity, size=3):
    pass


Waiting = Annotated[Seq[Message], AtMost(lambda: Queues.longest + 1)]


@record
class Channel:
    value: Message
    ready: Bit
    acknowledged: Bit


@state
class Buffer:
    inlet: Channel
    outlet: Channel
    queue: Waiting


@init
def empty(last_in: Message, in_bit: Bit, last_out: Message, out_bit: Bit) -> Buffer:
    return Buffer(
        inlet=Channel(value=last_in, ready=in_bit, acknowledged=in_bit),
        outlet=Channel(value=last_out, ready=out_bit, acknowledged=out_bit),
        queue=(),
    )


@action(who="sender", source=SOURCE)
def send(s: Buffer, message: Message) -> None:
    """Puts a message on the inlet."""
    require(s.inlet.ready == s.inlet.acknowledged)
    s.inlet = replace(s.inlet, value=message, ready=1 - s.inlet.ready)


@action(who="buffer", source=SOURCE)
def take_in(s: Buffer) -> None:
    """Takes the message on the inlet to the end of the queue."""
    require(s.inlet.ready != s.inlet.acknowledged)
    s.queue = s.queue + (s.inlet.value,)
    s.inlet = replace(s.inlet, acknowledged=1 - s.inlet.acknowledged)


@action(who="buffer", source=SOURCE)
def put_out(s: Buffer) -> None:
    """Puts the first message of the queue on the outlet."""
    require(len(s.queue) > 0)
    require(s.outlet.ready == s.outlet.acknowledged)
    s.outlet = replace(s.outlet, value=s.queue[0], ready=1 - s.outlet.ready)
    s.queue = s.queue[1:]


@action(who="receiver", source=SOURCE)
def receive(s: Buffer) -> None:
    """Takes the message on the outlet."""
    require(s.outlet.ready != s.outlet.acknowledged)
    s.outlet = replace(s.outlet, acknowledged=1 - s.outlet.acknowledged)


@transition_invariant(source=SOURCE)
def first_in_first_out(before: Buffer, after: Buffer) -> bool:
    """A value put on the outlet is the first of the queue."""
    same = after.outlet.ready == before.outlet.ready
    return same or (len(before.queue) > 0 and after.outlet.value == before.queue[0])


@constraint
def queue_is_short(s: Buffer) -> bool:
    return len(s.queue) <= Queues.longest


model = Model("fifo", "A bounded queue between two channels.", empty, [send, take_in, put_out, receive],
              [first_in_first_out], constraints=[queue_is_short])  # fmt: skip
