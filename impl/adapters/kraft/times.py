"""Times as what they decide: whether a lease has run out, and which timers are set that would do something.

Hosts that differ in their times only do the same from here on. Each has a clock of its own, so that this holds of every
host by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from checker.conform.graph import Fields, Graph, LeftOut, Rule, Rules, plain
from checker.conform.system import Structure
from impl.kraft.broker import Due, FollowerState, PartitionLeader
from impl.kraft.controller import Controller, Session
from impl.kraft.controller.sessions import Sessions
from impl.kraft.copy_on_write import CopyOnWriteDict
from impl.kraft.image import Image

if TYPE_CHECKING:
    from impl.adapters.kraft.cluster import ControllerHost, ProcessHost, Timer, Timers

TIMES = LeftOut("a time; whatever is compared with it is in the key as the outcome")
KNOWN_TIMERS = frozenset(Due)


def sessions(value: dict[int, Session], host: ControllerHost, graph: Graph) -> Structure:
    """Of each broker; of one that is unfenced, whether its lease has run out, too."""
    registrations = host.image.registrations
    found = []
    for id_, session in sorted(value.items()):
        holder = registrations.get(id_)
        is_leased = holder is not None and not holder.fenced
        lapsed = not host.core.has_valid_session(id_, host.now_ms) if is_leased else None
        found.append((id_, lapsed, graph.of(session)))
    return tuple(found)


def lease_timers(value: Timers, host: ControllerHost, graph: Graph) -> Structure:
    """Which are set, and of a lease that has run out whether its is due. Any other one only sets itself again.

    That of a fenced broker does nothing when it fires.
    """
    unfenced = {id_ for id_, one in host.image.registrations.items() if not one.fenced}
    return frozenset(
        (timer, at_ms <= host.now_ms and has_lapsed(host, timer))
        for timer, at_ms in value.items()
        if timer[0] != "lease" or timer[1] in unfenced
    )


def has_lapsed(host: ControllerHost, timer: Timer) -> bool:
    return timer[0] == "lease" and not host.core.has_valid_session(int(timer[1]), host.now_ms)


def broker_timers(value: Timers, owner: ProcessHost, graph: Graph) -> Structure:
    """Which are set, of those that a process has that would do something when they fire."""
    core = owner.core
    return () if core is None else frozenset(timer for timer in value if acts(core, timer))


def acts(core: Any, timer: Timer) -> bool:
    """A timer would do something, or is one that nobody knows."""
    match timer:
        case (Due.COMMUNICATION,):
            return core.lifecycle.in_flight is None
        case (Due.PUBLICATION,):
            own = core.image.registrations.get(core.broker_id)
            return core.applied_offset < 0 and own is not None and own.broker_epoch == core.broker_epoch
        case (Due.ALTER_PARTITION, topic, partition):
            led = next((one for key, one in core.leaders.items() if (key[0].int, key[1]) == (topic, partition)), None)
            return led is not None and led.pending_change is not None and led.in_flight is None
    return timer[0] not in KNOWN_TIMERS


def image_beside(value: Image, host: ControllerHost, graph: Graph) -> Structure:
    """An image of the core; None where it is the replay of what the core has emitted, which is in the key."""
    return None if is_same(value, host.image) else graph.of(value)


def is_same(one: Image, other: Image) -> bool:
    mine, theirs = vars(one), vars(other)
    return len(mine) == len(theirs) and all(
        part is theirs.get(name) or part == theirs.get(name) for name, part in mine.items()
    )


def entries(chunks: list[dict[Any, Any]], _: Any, graph: Graph) -> Structure:
    return graph.of(chunks[0] if len(chunks) == 1 else {key: chunk[key] for chunk in chunks for key in chunk})


COPY_ON_WRITE_DICT: Fields = {
    "_chunks": entries,
    "_mask": LeftOut("how its entries are divided among the chunks, which are read as one dict"),
    "_size": plain,
    "_owned": LeftOut("which chunks are copied before they change"),
}


def by_host(controller: type[ControllerHost], rule: Callable[[Any, ControllerHost, Graph], Structure]) -> Rule:
    """A rule of a part of a controller that reads its host, too."""
    return lambda value, _, graph: rule(value, graph.owner(controller), graph)


def likeness(controller: type[ControllerHost], process: type[ProcessHost], remembering: type) -> Rules:
    """Rules of all that distinguishes hosts, whose classes these are, but for times: every other field as it is."""
    return {
        remembering: {"memory": LeftOut("what was made of it before")},
        controller: {"now_ms": TIMES, "timers": lease_timers},
        process: {"now_ms": TIMES, "timers": broker_timers},
        Controller: {"committed": by_host(controller, image_beside), "speculative": by_host(controller, image_beside)},
        Sessions: {"of_broker": by_host(controller, sessions)},
        Session: {"contact_ms": TIMES},
        PartitionLeader: {"since_ms": TIMES},
        FollowerState: {"caught_up_ms": TIMES, "fetched_ms": TIMES},
        CopyOnWriteDict: COPY_ON_WRITE_DICT,
    }
