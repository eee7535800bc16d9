"""The group as its coordinator changes it: who is removed, and what that does to the others."""

from __future__ import annotations

from checker.lang import Map, Option, replace
from spec.streams.state import Assignments, Group, Hosts, StreamThread, Subscription
from spec.streams.types import GroupState, Process, Thread, ThreadState


def nothing_assigned() -> Assignments:
    """No assignment is stored."""
    return Map({t: None for t in Thread})


def nobody_listed() -> Hosts:
    """No process is listed with anything."""
    return Map({p: frozenset() for p in Process})


def without(group: Group, thread: Thread) -> Group:
    """The group once a member is removed: it rebalances, unless that was the last."""
    alone = all(t == thread or group.subscriptions[t] is None for t in Thread)
    return Group(
        state=GroupState.EMPTY if alone else GroupState.PREPARING,
        leader=None if group.leader == thread else group.leader,
        subscriptions=Map({t: None if t == thread else group.subscriptions[t] for t in Thread}),
        joined=group.joined - {thread},
        syncing=frozenset(),
        assignments=nothing_assigned(),
        hosts=nobody_listed(),
    )


def rebalancing(group: Group, thread: Thread, subscription: Subscription) -> Group:
    """The group once a JoinGroup is parked that starts a rebalance, or takes part in one."""
    return Group(
        state=GroupState.PREPARING,
        leader=group.leader,
        subscriptions=Map({t: subscription if t == thread else group.subscriptions[t] for t in Thread}),
        joined=group.joined | {thread},
        syncing=frozenset(),
        assignments=nothing_assigned(),
        hosts=nobody_listed(),
    )


def interrupted(group: Group, thread: StreamThread, name: Thread) -> StreamThread:
    """A thread when a rebalance begins: a parked SyncGroup fails with REBALANCE_IN_PROGRESS."""
    parked = name in group.syncing and thread.state == ThreadState.SYNCING and thread.reply is None
    return replace(thread, state=ThreadState.RETRY if parked else thread.state)


def last_used(subscription: Option[Subscription], otherwise: int) -> int:
    """The version of a subscription, if there is one."""
    return otherwise if subscription is None else subscription.used
