"""The alternating bit protocol over channels that lose messages (github.com/tlaplus/Examples, MCAlternatingBit).

What is sent is sent again until it is acknowledged; both channels are queues that lose any of their elements. Data
arrive because receiving is strongly fair on both sides: weakly fair, a message may be lost each time before it is
received. Both queues are bounded by a state constraint.

TLC, with two data and queues of up to 2: 1,392 states generated, 240 distinct, depth 10.
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
    constraint,
    init,
    leads_to,
    message,
    replace,
    require,
    state,
)

SOURCE = "Specifying Systems, 14"
LONGEST = 2
Bit = Annotated[int, Range(0, 1)]
Place = Annotated[int, Range(0, LONGEST - 1)]


class Datum(Identity, size=2):
    pass


@message
class Packet:
    bit: Bit
    datum: Datum


@state
class Link:
    packets: Annotated[Seq[Packet], AtMost(LONGEST + 1)]
    acks: Annotated[Seq[Bit], AtMost(LONGEST + 1)]
    send_bit: Bit
    send_ack: Bit
    receive_bit: Bit
    sent: Datum
    received: Datum


@init
def quiet(bit: Bit, sent: Datum, received: Datum) -> Link:
    return Link(packets=(), acks=(), send_bit=bit, send_ack=bit, receive_bit=bit, sent=sent, received=received)


@action(who="sender", source=SOURCE)
def send_new(s: Link, datum: Datum) -> None:
    """Sends the next datum with the other bit, once the last one is acknowledged."""
    require(s.send_ack == s.send_bit)
    s.sent = datum
    s.send_bit = 1 - s.send_bit
    s.packets = s.packets + (Packet(bit=s.send_bit, datum=datum),)


@action(who="sender", source=SOURCE, fair="weak")
def send_again(s: Link) -> None:
    """Sends once more what is not acknowledged."""
    require(s.send_ack != s.send_bit)
    s.packets = s.packets + (Packet(bit=s.send_bit, datum=s.sent),)


@action(who="receiver", source=SOURCE, fair="strong")
def receive_packet(s: Link) -> None:
    """Takes the first packet."""
    require(len(s.packets) > 0)
    s.receive_bit = s.packets[0].bit
    s.received = s.packets[0].datum
    s.packets = s.packets[1:]


@action(who="receiver", source=SOURCE, fair="weak")
def send_ack(s: Link) -> None:
    """Sends the bit of the last packet."""
    s.acks = s.acks + (s.receive_bit,)


@action(who="sender", source=SOURCE, fair="strong")
def receive_ack(s: Link) -> None:
    """Takes the first acknowledgement."""
    require(len(s.acks) > 0)
    s.send_ack = s.acks[0]
    s.acks = s.acks[1:]


@action(who="network", source=SOURCE)
def lose_packet(s: Link, place: Place) -> None:
    """Loses a packet anywhere in the queue."""
    require(place < len(s.packets))
    s.packets = s.packets[:place] + s.packets[place + 1 :]


@action(who="network", source=SOURCE)
def lose_ack(s: Link, place: Place) -> None:
    """Loses an acknowledgement anywhere in the queue."""
    require(place < len(s.acks))
    s.acks = s.acks[:place] + s.acks[place + 1 :]


@leads_to(source=SOURCE)
def what_is_sent_arrives(s: Link, datum: Datum) -> tuple[bool, bool]:
    """A datum that is sent and not acknowledged is received."""
    return s.sent == datum and s.send_bit != s.send_ack, s.received == datum


@constraint
def queues_are_short(s: Link) -> bool:
    return len(s.packets) <= LONGEST and len(s.acks) <= LONGEST


LOSING = [lose_packet, lose_ack]
MODELS = [
    Model("strong", "Receiving is strongly fair.", quiet,
          [send_new, send_again, receive_packet, send_ack, receive_ack, *LOSING], [what_is_sent_arrives],
          constraints=[queues_are_short]),
    Model("weak", "Receiving is weakly fair.", quiet,
          [send_new, send_again, replace(receive_packet, fair="weak"), send_ack, replace(receive_ack, fair="weak"),
           *LOSING], [what_is_sent_arrives], constraints=[queues_are_short]),
]  # fmt: skip
