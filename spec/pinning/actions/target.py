"""The target of a request: it hears of `next`, keeps `ready`, or takes the office over at once.

A write whose reply is lost leaves its event first in the queue: the broker handles it again, from what is there then.
"""

from __future__ import annotations

from checker.lang import Option, action, fresh, replace, require, require_some
from spec.pinning.decisions.office import asked_after_election
from spec.pinning.decisions.watching import event_if, notified, path_if, with_ready
from spec.pinning.design import Design
from spec.pinning.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Ready,
    Seen,
    believes_in_office,
    is_target,
    owns_office,
    owns_ready,
    runs,
)
from spec.pinning.types import Broker, ControllerEpoch, EpochVersion, Path, Phase
from spec.zookeeper.watches import is_next


def hears(s: Cluster, broker: Broker, path: Path) -> bool:
    """It runs, and an event of this path is the next that it handles.

    None is handled while a broker takes office, nor before it has read back what a write without a reply has done.
    """
    process = s.brokers[broker]
    takes_up = runs(process) and process.phase != Phase.ELECTED and not is_unsure(s, broker)
    return takes_up and is_next(process.events, path)


def is_unsure(s: Cluster, broker: Broker) -> bool:
    """It had no reply to the write by which it owns /controller, and has yet to read that back."""
    return Design.outcome_read_back and owns_office(s, broker) and not believes_in_office(s.brokers[broker])


@action(
    who="broker {broker}",
    source="KIP-39, Handling the admin request (e); Changes in the broker startup code",
    deviates="`ready` may be there already, and the document is silent: of a former session or another target, it is "
    "left alone, or its data is set and its owner stays (ready_owned_by_target)",
)
def set_ready(s: Cluster, broker: Broker, answered: bool, removed: bool) -> None:
    """The target hears of the request, and says that it is ready to serve.

    removed: the former target, which has just read its own `ready` there, deletes this one: both have version 0.
    """
    process = s.brokers[broker]
    require(hears(s, broker, Path.NEXT) and is_target(s, broker) and not Design.takeover)
    require(process.phase != Phase.IN_OFFICE or not Design.request_consumed)
    writes = writes_ready(s, broker)
    require(answered or (writes and s.faults.lost_replies < Design.max_lost_replies))
    require(not removed or (answered and may_be_removed(s, broker)))
    s.ready = None if removed else ready_as_set(s, broker)
    if writes:
        s.brokers = notified(s, frozenset({Path.READY}))
    if answered:
        s.brokers[broker].events = s.brokers[broker].events[1:]
        s.brokers[broker].armed |= {Path.NEXT}
        if removed:
            s.faults.late_removals += 1
        elif not owns_ready(s, broker) and Design.ready_renewed:
            s.brokers[broker].armed |= {Path.READY}
    else:
        s.faults.lost_replies += 1


def writes_ready(s: Cluster, broker: Broker) -> bool:
    """The target writes `ready`: watches fire, whether the data are new or not.

    It leaves its own as it is where that names the request; where it names none, nobody could see that it is new.
    """
    may_set = owns_ready(s, broker) or not Design.ready_owned_by_target
    return ready_as_set(s, broker) != s.ready or (may_set and not Design.request_checked)


def may_be_removed(s: Cluster, broker: Broker) -> bool:
    """The target replaces the `ready` of a broker that is about to take it back, by one that it cannot tell apart."""
    former = ready_as_set(s, broker) != s.ready and any(
        owns_ready(s, b) and hears(s, b, Path.NEXT) for b in Broker if b != broker
    )
    may = Design.one_ready_each and not Design.ready_told_apart
    return former and may and s.faults.late_removals < Design.max_late_removals


def ready_as_set(s: Cluster, broker: Broker) -> Option[Ready]:
    """`ready` once its target tries to set it."""
    session, standing, there = s.brokers[broker].session, s.next_controller, s.ready
    if session is None or standing is None:
        return there
    if there is None:
        return Ready(broker, session, standing.request)
    if there.owner == session:
        return replace(there, request=standing.request)
    if Design.former_ready_removed and there.request != standing.request:
        return Ready(broker, session, standing.request)
    return there if Design.ready_owned_by_target else replace(there, broker=broker, request=standing.request)


@action(
    who="broker {broker}",
    source="KIP-39, Proposed Change (the document is silent)",
    deviates="the multi writes the epoch again, with a new version: else a third request could have the version of the "
    "first, and who has read that would take it over",
)
def settle_request(s: Cluster, broker: Broker) -> None:
    """A controller hears of a request for itself: it is served, and goes.

    Where it is not in office any more, as it has yet to hear, it looks at the request again after that.
    """
    process = s.brokers[broker]
    require(hears(s, broker, Path.NEXT) and is_target(s, broker) and process.phase == Phase.IN_OFFICE)
    require(Design.request_consumed)
    settles = owns_office(s, broker) and s.epoch == process.epoch
    if settles:
        takes_back = owns_ready(s, broker)
        if Design.settling_renews_epoch:
            s.epoch_version = fresh(s, EpochVersion)
        s.next_controller = None
        if takes_back:
            s.ready = None
        if s.wanted == broker:
            s.wanted = None
        s.brokers = notified(s, frozenset({Path.NEXT}) | path_if(takes_back, Path.READY))
    s.brokers[broker].events = s.brokers[broker].events[1:] + event_if(not settles, Path.NEXT)
    s.brokers[broker].armed |= {Path.NEXT}


@action(
    who="broker {broker}",
    source="KIP-39, Handling the admin request (c), (d)",
    deviates='"getChildren" on a znode without children is meant as `exists` with a watch',
)
def hear_of_other(s: Cluster, broker: Broker) -> None:
    """A broker hears that a request is another's, or gone: it takes its `ready` back; a controller watches `ready`."""
    require(hears(s, broker, Path.NEXT) and not is_target(s, broker))
    gone = owns_ready(s, broker) and Design.one_ready_each
    if gone:
        s.ready = None
        s.brokers = notified(s, frozenset({Path.READY}))
    s.brokers[broker].events = s.brokers[broker].events[1:]
    s.brokers[broker].armed |= {Path.NEXT}
    if believes_in_office(s.brokers[broker]) and not Design.takeover:
        s.brokers[broker].armed = with_ready(s, s.brokers[broker].armed)


@action(who="broker {broker}", source="design switch takeover: an alternative to KIP-39, Handling the admin request")
def prepare_takeover(s: Cluster, broker: Broker) -> None:
    """The target hears of the request, and reads the versions that its multi will check."""
    process = s.brokers[broker]
    require(hears(s, broker, Path.NEXT) and is_target(s, broker) and process.phase != Phase.IN_OFFICE)
    require(Design.takeover)
    standing = require_some(s.next_controller)
    process.seen = (Seen(standing.version, s.epoch_version),)
    process.events = process.events[1:]
    process.armed |= {Path.NEXT}


@action(
    who="broker {broker}",
    source="design switch takeover: an alternative to KIP-39, Handling the admin request",
    deviates="a check of a version cannot tell a request from a later one under the same path; the check of the epoch "
    "does, whose version rises with every election and settling that deletes a request",
)
def take_over(s: Cluster, broker: Broker, answered: bool) -> None:
    """The target takes the office by one multi: /controller is its own, the epoch is raised, the request is gone."""
    process = s.brokers[broker]
    require(runs(process) and not believes_in_office(process) and len(process.seen) > 0)
    session = require_some(process.session)
    standing = require_some(s.next_controller)
    require(process.seen[0].next_version == standing.version and process.seen[0].epoch_version == s.epoch_version)
    require(answered or s.faults.lost_replies < Design.max_lost_replies)
    issued = fresh(s, ControllerEpoch)
    if s.wanted == broker:
        s.wanted = None
    s.asked = tuple(asked_after_election(asked, broker) for asked in s.asked)
    s.moves = min(s.moves + 1, Design.counted_moves)
    s.controller = Controller(broker, session)
    s.epoch = issued
    s.epoch_version = fresh(s, EpochVersion)
    s.next_controller = None
    if answered:
        s.brokers[broker] = elected(s.brokers[broker], issued)
    else:
        s.brokers[broker].seen = ()
        s.faults.lost_replies += 1
    s.brokers = notified(s, frozenset({Path.CONTROLLER, Path.NEXT}))


def elected(process: BrokerProcess, epoch: Option[ControllerEpoch]) -> BrokerProcess:
    """A broker that has created `/controller`."""
    return replace(process, phase=Phase.ELECTED, epoch=epoch, waits_for=None, seen=())


@action(who="broker {broker}", source="design switch takeover: an alternative to KIP-39, Handling the admin request")
def fail_to_take_over(s: Cluster, broker: Broker) -> None:
    """A check fails, since somebody was elected or the request was replaced: the target reads it again."""
    process = s.brokers[broker]
    require(runs(process) and not is_unsure(s, broker) and len(process.seen) > 0)
    standing = s.next_controller
    require(
        believes_in_office(process)
        or standing is None
        or process.seen[0].next_version != standing.version
        or process.seen[0].epoch_version != s.epoch_version
    )
    asks = standing is not None and standing.target == broker and not believes_in_office(process)
    process.seen = (Seen(standing.version, s.epoch_version),) if standing is not None and asks else ()
