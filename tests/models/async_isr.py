"""Asynchronous ISR changes: the leader goes on while the controller decides.

`AsyncIsr.tla` of hachikuji/kafka-specification, with three replicas: the leader asks the controller for
ISR changes and may ask for more before it hears; the controller also shrinks the ISR on its own when a
replica fails. Until it hears, the leader counts with every ISR that the controller may have granted, and
so commits a record only when all of these members have it.

Sent requests and updates stay forever, so delay, loss, duplication and reordering are all in here.
Known counts of this model (generated, distinct, depth), as TLC gives them:
(3, 2): 134,129, 22,456, 21; (4, 3): 1,666,321, 287,160, 28; (5, 4): 17,698,201, 2,835,580, 35.

Not modelled: a change of the leader.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Identity,
    Map,
    MemberOf,
    Model,
    Range,
    Set,
    action,
    constants,
    constraint,
    init,
    invariant,
    message,
    record,
    require,
    state,
    witness,
)

SOURCE = "AsyncIsr.tla, hachikuji/kafka-specification"


@constants
class Bounds:
    max_version: int = 3
    "The highest version of the ISR at which the search goes on."
    max_offset: int = 2
    "The highest log end offset at which the search goes on."


class Replica(Identity, size=3): ...


LEADER = Replica(0)

# One more than the bounds: a state that breaks the constraint is generated, and must be told apart.
Version = Annotated[int, Range(0, lambda: Bounds.max_version + 1)]
Offset = Annotated[int, Range(0, lambda: Bounds.max_offset + 1)]


@message
class IsrAt:
    """An ISR with a version: in a request the version it is to replace, in an update its own."""

    version: Version
    isr: Set[Replica]


@record
class Controller:
    version: Version
    isr: Set[Replica]


@record
class Leader:
    version: Version
    isr: Set[Replica]
    pending_isr: Set[Replica]  # all members that were asked for since the last update


@state
class Partition:
    controller: Controller
    leader: Leader
    end_offset: Map[Replica, Offset]
    requests: Set[IsrAt]
    updates: Set[IsrAt]


Request = Annotated[IsrAt, MemberOf("requests")]
Update = Annotated[IsrAt, MemberOf("updates")]


def maximal_isr(s: Partition) -> Set[Replica]:
    """Every replica that may be in the ISR, as far as the leader can know."""
    return s.leader.isr | s.leader.pending_isr


def high_watermark(s: Partition) -> Offset:
    return min(s.end_offset[r] for r in maximal_isr(s))


def decide(s: Partition, isr: Set[Replica]) -> IsrAt:
    """The announcement of the controller when it makes `isr` the next one."""
    return IsrAt(version=s.controller.version + 1, isr=isr)


@init
def all_in_sync() -> Partition:
    everyone = set(Replica)
    return Partition(
        controller=Controller(version=0, isr=everyone),
        leader=Leader(version=0, isr=everyone, pending_isr=frozenset()),
        end_offset=Map({r: 0 for r in Replica}),
        requests=frozenset(),
        updates=frozenset(),
    )


@action(who="controller", source=SOURCE)
def controller_shrinks_isr(s: Partition, failed: Replica) -> None:
    """A replica failed, and the controller takes it out of the ISR without asking the leader."""
    require(failed != LEADER and failed in s.controller.isr)
    update = decide(s, s.controller.isr - {failed})
    s.controller = Controller(version=update.version, isr=update.isr)
    s.updates |= {update}


@action(who="controller", source=SOURCE)
def controller_grants_request(s: Partition, request: Request) -> None:
    """The controller accepts an ISR that the leader asked for at the current version."""
    require(request.version == s.controller.version)
    update = decide(s, request.isr)
    s.controller = Controller(version=update.version, isr=update.isr)
    s.updates |= {update}


@action(who="leader", source=SOURCE)
def leader_asks_to_shrink(s: Partition, slow: Replica) -> None:
    """A follower fell behind, and the leader asks for an ISR without it."""
    require(slow != LEADER and slow in s.leader.isr)
    wanted = s.leader.isr - {slow}
    s.requests |= {IsrAt(version=s.leader.version, isr=wanted)}
    s.leader.pending_isr |= wanted


@action(who="leader", source=SOURCE)
def leader_asks_to_expand(s: Partition, caught_up: Replica) -> None:
    """A follower has every committed record, and the leader asks for an ISR with it."""
    require(caught_up not in s.leader.isr)
    require(s.end_offset[caught_up] >= high_watermark(s))
    wanted = s.leader.isr | {caught_up}
    s.requests |= {IsrAt(version=s.leader.version, isr=wanted)}
    s.leader.pending_isr |= wanted


@action(who="leader", source=SOURCE)
def leader_learns_of_update(s: Partition, update: Update) -> None:
    """The leader hears of an ISR newer than its own; what it asked for before is void."""
    require(update.version > s.leader.version)
    s.leader = Leader(version=update.version, isr=update.isr, pending_isr=frozenset())


@action(who="leader", source=SOURCE)
def leader_writes(s: Partition) -> None:
    """A producer's record is appended to the leader's log."""
    s.end_offset[LEADER] += 1


@action(who="replica {follower}", source=SOURCE)
def follower_replicates(s: Partition, follower: Replica) -> None:
    """A follower fetches the next record."""
    require(follower != LEADER)
    require(s.end_offset[follower] < s.end_offset[LEADER])
    s.end_offset[follower] += 1


@constraint
def within_bounds(s: Partition) -> bool:
    """The search goes on up to `max_version` and `max_offset`."""
    return s.controller.version <= Bounds.max_version and all(s.end_offset[r] <= Bounds.max_offset for r in Replica)


@invariant(source=SOURCE + ", ValidHighWatermark")
def isr_has_committed_records(s: Partition) -> bool:
    """Whoever the controller could elect has every record that the leader calls committed."""
    return all(s.end_offset[r] >= high_watermark(s) for r in s.controller.isr)


@witness
def leader_is_behind(s: Partition) -> bool:
    """The leader waits for an answer that can no longer come."""
    return len(s.leader.pending_isr) > 0 and s.leader.version < s.controller.version


model = Model(
    name="async_isr",
    doc="ISR changes that the leader asks for while it goes on.",
    init=all_in_sync,
    actions=[
        controller_shrinks_isr,
        controller_grants_request,
        leader_asks_to_shrink,
        leader_asks_to_expand,
        leader_learns_of_update,
        leader_writes,
        follower_replicates,
    ],
    properties=[isr_has_committed_records, leader_is_behind],
    constraints=[within_bounds],
    not_modelled="A change of the leader.",
)
