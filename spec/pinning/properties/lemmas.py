"""Invariants that only proofs ask for: what may be assumed of the state before a step.

They say whom sessions, epochs and watches belong to, so that a proof starts from no state in which two processes have
one session, or a former controller the newest epoch.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.pinning.design import Design
from spec.pinning.state import Cluster, Seen, believes_in_office, is_target, owns_office, owns_ready, runs
from spec.pinning.types import Broker, Path, ProcessState, is_legacy


@invariant(source="ZooKeeper, Sessions")
def session_is_of_one_process(s: Cluster) -> bool:
    """No two processes have one session, and one that is down has none."""
    return all(
        s.brokers[b].session is None
        or (
            s.brokers[b].state != ProcessState.DOWN
            and all(other == b or s.brokers[other].session != s.brokers[b].session for other in Broker)
        )
        for b in Broker
    )


@invariant(source="KIP-39, Changes in the election code (c)")
def office_names_its_owner(s: Cluster) -> bool:
    """/controller belongs to no other broker's session than that of the broker it names."""
    office = s.controller
    return office is None or all(b == office.broker or s.brokers[b].session != office.owner for b in Broker)


@invariant(source="KIP-39, Changes in the election code (c)")
def term_has_an_epoch(s: Cluster) -> bool:
    """A broker has an epoch exactly while it believes to be in office, and decides in that one."""
    return all(
        (s.brokers[b].epoch is not None) == believes_in_office(s.brokers[b])
        and (len(s.brokers[b].decided) == 0 or s.brokers[b].decided == (s.brokers[b].epoch,))
        for b in Broker
    )


@invariant(source="KIP-39, Changes in the broker startup code (a)")
def next_is_watched(s: Cluster) -> bool:
    """A broker that runs watches `next`, or has yet to handle that it has changed."""
    return not Design.pinning or all(
        not runs(s.brokers[b]) or is_legacy(b) or Path.NEXT in s.brokers[b].armed or Path.NEXT in s.brokers[b].events
        for b in Broker
    )


@invariant(source="KIP-39, Proposed Change")
def owner_has_yet_to_hear(s: Cluster) -> bool:
    """Who owns /controller, and is asked for or has `ready`, has yet to handle an event of `next`."""
    return all(
        not owns_office(s, b)
        or is_legacy(b)
        or Path.NEXT in s.brokers[b].events
        or (not owns_ready(s, b) and not is_target(s, b))
        for b in Broker
    )


@invariant(source="KIP-39, Proposed Change (P5)")
def standing_request_is_unserved(s: Cluster) -> bool:
    """The request that stands is the newest, and its target has not been in office since."""
    standing = s.next_controller
    return standing is None or s.wanted == standing.target


@invariant(source="KIP-39, Changes in the election code (c)")
def believer_has_its_session(s: Cluster) -> bool:
    """Where a broker in office, as it believes, is named in /controller, that is of the session that it has."""
    office = s.controller
    return office is None or all(
        b != office.broker
        or not believes_in_office(s.brokers[b])
        or s.brokers[b].session is None
        or s.brokers[b].session == office.owner
        for b in Broker
    )


@invariant(source="KIP-39, Possible gotchas")
def nobody_hangs_in_office(s: Cluster) -> bool:
    """A broker that hangs neither owns /controller nor believes to be in office."""
    return all(
        s.brokers[b].state != ProcessState.HUNG or not (owns_office(s, b) or believes_in_office(s.brokers[b]))
        for b in Broker
    )


@invariant(source="KIP-39, Changes in the election code (c)")
def owner_has_the_newest_epoch(s: Cluster) -> bool:
    """Who owns /controller, and knows it, has the newest epoch."""
    return all(
        not owns_office(s, b) or not believes_in_office(s.brokers[b]) or s.brokers[b].epoch == s.epoch for b in Broker
    )


@invariant(source="KIP-39, Motivation (P1)")
def heard_epoch_was_issued(s: Cluster) -> bool:
    """Nobody has heard of an epoch that was not issued."""
    return all(heard <= s.epoch for b in Broker for heard in s.brokers[b].heard)


@invariant(source="ZooKeeper, Sessions")
def expiry_is_handled_first(s: Cluster) -> bool:
    """Nobody goes on with a new session before it has handled the end of the former one."""
    return not Design.expiry_first or not any(s.brokers[b].expired for b in Broker)


@invariant(source="design switch takeover: an alternative to KIP-39, Handling the admin request")
def seen_is_of_the_request(s: Cluster) -> bool:
    """Versions that a target has read are of the epoch before, or of the request that stands or one before it."""
    return all(
        seen.epoch_version <= s.epoch_version
        and (seen.epoch_version != s.epoch_version or may_have_seen(s, broker, seen))
        for broker in Broker
        for seen in s.brokers[broker].seen
    )


def may_have_seen(s: Cluster, broker: Broker, seen: Seen) -> bool:
    standing = s.next_controller
    return (
        standing is not None
        and seen.next_version <= standing.version
        and (seen.next_version != standing.version or standing.target == broker)
    )


@invariant(source="design switch takeover: an alternative to KIP-39, Handling the admin request")
def nobody_is_ready(s: Cluster) -> bool:
    """Targets that take the office over set no `ready`."""
    return not Design.takeover or s.ready is None


@invariant(source="KIP-39, New or Changed Public Interfaces (P6)")
def target_in_office_was_served(s: Cluster) -> bool:
    """A request whose target has /controller was served, or was for the one in office."""
    return s.controller is None or all(asked.served or asked.target != s.controller.broker for asked in s.asked)
