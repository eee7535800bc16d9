"""Two queues in a row are one queue with room for both; and a queue is one that has more room.

`whole` is an instance of `queue.py` with the room of both queues: what is in them, one after the other, refines it.
With `losing`, a value that is carried over may get lost, and that is not a step of a queue. With two values, and places
for 1 and 2 of them, there are 3 * 7 = 21 states. `small` and `large` are two other instances, with 3 and 15 states, of
values of their own; the small one refines the large one, and not the other way round: what does not fit has no image.
"""

from __future__ import annotations

from typing import Annotated, Any

from checker.lang import (
    AtMost,
    Identity,
    MemberOf,
    Model,
    Seq,
    Set,
    action,
    constants,
    init,
    instance,
    refines,
    require,
    state,
)


@constants
class Design:
    near_size: int = 1
    "Room in the queue that is filled."
    far_size: int = 2
    "Room in the queue that is emptied."
    losing: bool = False
    "What is carried over may get lost."


class Value(Identity, size=2): ...


whole = instance("queue.py", capacity=lambda: Design.near_size + Design.far_size, Value=Value)
small = instance("queue.py", capacity=1)
large = instance("queue.py", capacity=3, Value=small.Value)

Near = Annotated[Seq[Value], AtMost(lambda: Design.near_size)]
Far = Annotated[Seq[Value], AtMost(lambda: Design.far_size)]


@state
class Row:
    near: Near
    far: Far


def first(s: Row) -> Set[Value]:
    """Values that may be taken."""
    return set(s.far[:1])


@init
def empty() -> Row:
    return Row(near=(), far=())


@action(who="producer", source="this file")
def put(s: Row, value: Value) -> None:
    """A value is put at the end of the near queue."""
    require(len(s.near) < Design.near_size)
    s.near = s.near + (value,)


@action(who="carrier", source="this file")
def carry(s: Row, lost: bool) -> None:
    """The first value of the near queue is carried to the far one."""
    require(Design.losing or not lost)
    require(len(s.near) > 0 and len(s.far) < Design.far_size)
    if not lost:
        s.far = s.far + s.near[:1]
    s.near = s.near[1:]


@action(who="consumer", source="this file")
def take(s: Row, value: Annotated[Value, MemberOf(first)]) -> None:
    """The first value of the far queue is taken."""
    s.far = s.far[1:]


@refines(whole, source="queue.py")
def as_one_queue(s: Row) -> Any:
    """The values in the order in which they leave."""
    return whole.Queue(values=s.far + s.near)


@refines(large, source="queue.py")
def has_less_room(q: Any) -> Any:
    """The same queue with more room."""
    return large.Queue(values=q.values)


@refines(small, source="queue.py")
def has_more_room(q: Any) -> Any:
    """The same queue with less room, as long as there is not too much in it."""
    return small.Queue(values=q.values)


MODELS = [
    Model("row", "Two queues in a row.", empty, [put, carry, take], [as_one_queue]),
    Model("small", "A queue for one value.", small.empty, [small.put, small.take], [has_less_room]),
    Model("large", "A queue for three values.", large.empty, [large.put, large.take], [has_more_room]),
]
