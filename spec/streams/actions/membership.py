"""JoinGroup, SyncGroup and LeaveGroup; the coordinator that parks and answers them; sessions that end."""

from __future__ import annotations

from checker.lang import Map, action, replace, require
from spec.streams.decisions.behaviour import has_unique_field, keeps_membership
from spec.streams.decisions.membership import interrupted, rebalancing, without
from spec.streams.design import Design
from spec.streams.state import Cluster, Group, StreamThread, Subscription, is_alive, is_member, supports
from spec.streams.types import Cause, GroupState, Thread, ThreadState


def may_join(s: Cluster, thread: Thread) -> bool:
    """A thread has to join, or hears from a heartbeat that it has to join again."""
    own = s.threads[thread]
    if own.state == ThreadState.OUT:
        return not is_member(s, thread)
    if not is_member(s, thread):
        return False
    if own.state == ThreadState.RUNNING and own.wants_to_rejoin:
        return keeps_membership(s, thread)
    return own.state == ThreadState.RETRY or (
        own.state == ThreadState.RUNNING and s.group.state == GroupState.PREPARING
    )


def subscription_of(s: Cluster, thread: Thread) -> Subscription:
    """What a thread sends. It gives up its tasks first, and remembers them."""
    own = s.threads[thread]
    previous = own.tasks if own.state == ThreadState.RUNNING else own.previous
    return Subscription(own.used, own.used if own.used < 3 else supports(s, thread), previous)


def gets_current_generation(s: Cluster, thread: Thread, subscription: Subscription) -> bool:
    """Unchanged bytes, and no rebalance is under way that the member could take part in."""
    own = s.threads[thread]
    renewed = own.state == ThreadState.RUNNING and own.wants_to_rejoin and has_unique_field(s, thread)
    unchanged = s.group.subscriptions[thread] == subscription and not renewed
    follower = s.group.state == GroupState.STABLE and s.group.leader != thread
    return unchanged and (follower or s.group.state == GroupState.COMPLETING)


@action(
    who="thread {thread}",
    source="KIP-268, Upgrading to 1.2; Detailed upgrade protocol",
    kafka="ConsumerCoordinator.onJoinPrepare, StreamsPartitionAssignor.subscriptionUserData, GroupCoordinator.doJoin",
    deviates="who starts again joins once its former membership is over: no generation completes with both",
    fair="weak",
)
def join(s: Cluster, thread: Thread) -> None:
    """A thread gives up its tasks, and sends a JoinGroup: it is parked, or answered with the current generation."""
    require(may_join(s, thread))
    subscription = subscription_of(s, thread)
    if s.threads[thread].used > supports(s, thread):
        s.deaths[thread] = Cause.CANNOT_ENCODE
        s.threads[thread] = gone(s.threads[thread], ThreadState.DEAD)
    elif gets_current_generation(s, thread, subscription):
        s.threads[thread] = waiting(s.threads[thread], ThreadState.JOINED, subscription)
    else:
        s.threads = Map(
            {
                t: waiting(s.threads[t], ThreadState.JOINING, subscription)
                if t == thread
                else interrupted(s.group, s.threads[t], t)
                for t in Thread
            }
        )
        s.group = rebalancing(s.group, thread, subscription)


def waiting(own: StreamThread, state: ThreadState, subscription: Subscription) -> StreamThread:
    """A thread that has sent its JoinGroup: without tasks, which it remembers."""
    return StreamThread(
        state=state,
        used=own.used,
        tasks=frozenset(),
        previous=subscription.previous,
        reply=None,
        wants_to_rejoin=False,
    )


def gone(own: StreamThread, state: ThreadState) -> StreamThread:
    """A thread that runs no more."""
    return StreamThread(
        state=state, used=own.used, tasks=frozenset(), previous=frozenset(), reply=None, wants_to_rejoin=False
    )


@action(
    who="thread {thread}",
    source="KIP-268, Detailed upgrade protocol (unsubscribe, subscribe, poll)",
    kafka="KafkaConsumer.unsubscribe, GroupCoordinator.handleLeaveGroup; until KAFKA-9525",
    fair="weak",
)
def leave(s: Cluster, thread: Thread) -> None:
    """A thread that wants to rejoin unsubscribes: it leaves the group, and will join as a new member."""
    own = s.threads[thread]
    require(own.state == ThreadState.RUNNING and own.wants_to_rejoin and is_member(s, thread))
    require(not keeps_membership(s, thread))
    subscription = subscription_of(s, thread)
    s.threads = Map(
        {
            t: waiting(s.threads[t], ThreadState.OUT, subscription)
            if t == thread
            else interrupted(s.group, s.threads[t], t)
            for t in Thread
        }
    )
    s.group = without(s.group, thread)
    s.stored.known -= {thread}
    s.owners = Map({task: None if s.owners[task] == thread else s.owners[task] for task in s.owners})
    s.settled -= {thread}


@action(
    who="coordinator",
    source="KIP-268, Detailed upgrade protocol",
    kafka="GroupCoordinator.onCompleteJoin; GroupMetadata.maybeElectNewJoinedLeader",
    deviates="where the leader was removed, any member may be the next one, and is so when the rebalance completes",
    fair="weak",
)
def complete_join(s: Cluster, leader: Thread) -> None:
    """Every member has joined: the next generation begins, and its leader is sent the subscriptions."""
    members = frozenset(t for t in Thread if is_member(s, t))
    require(s.group.state == GroupState.PREPARING and members <= s.group.joined)
    require(leader in members and (s.group.leader is None or s.group.leader == leader))
    s.group.state = GroupState.COMPLETING
    s.group.leader = leader
    s.group.joined = frozenset()
    s.threads = Map({t: answered(s.threads[t]) for t in Thread})
    if Design.rebalances > 0:
        s.completed = min(s.completed + 1, Design.rebalances + 1)


def answered(own: StreamThread) -> StreamThread:
    """A thread whose parked JoinGroup is answered."""
    return replace(own, state=ThreadState.JOINED if own.state == ThreadState.JOINING else own.state)


@action(
    who="thread {thread}",
    source="KIP-268, Detailed upgrade protocol",
    kafka="AbstractCoordinator.onJoinFollower, GroupCoordinator.doSyncGroup",
    fair="strong",
)
def sync(s: Cluster, thread: Thread) -> None:
    """A follower sends its SyncGroup: it is parked until the leader's, or answered at once where that has come."""
    own = s.threads[thread]
    require(own.state == ThreadState.JOINED and is_member(s, thread))
    require(s.group.state == GroupState.STABLE or (s.group.state == GroupState.COMPLETING and s.group.leader != thread))
    own.state = ThreadState.SYNCING
    if s.group.state == GroupState.STABLE:
        own.reply = s.group.assignments[thread]
    else:
        s.group.syncing |= {thread}


@action(
    who="thread {thread}",
    source="KIP-268, Detailed upgrade protocol",
    kafka="GroupCoordinator.doSyncGroup (REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID)",
    deviates="a leader whose generation is over does not compute its assignment",
    fair="strong",
)
def sync_too_late(s: Cluster, thread: Thread) -> None:
    """A thread syncs when the group has moved on: it has to join again, with the version that it used."""
    require(s.threads[thread].state == ThreadState.JOINED)
    require(not is_member(s, thread) or s.group.state == GroupState.PREPARING)
    if is_member(s, thread):
        s.threads[thread].state = ThreadState.RETRY
    else:
        s.threads[thread].state = ThreadState.OUT
        s.stored.known -= {thread}


@action(
    who="thread {thread}",
    source="KIP-268, Detailed upgrade protocol",
    kafka="AbstractCoordinator.HeartbeatResponseHandler (UNKNOWN_MEMBER_ID)",
    fair="weak",
)
def hear_of_removal(s: Cluster, thread: Thread) -> None:
    """A thread hears that it is no member: it gives up its tasks, and will join as a new one."""
    require(s.threads[thread].state in {ThreadState.RUNNING, ThreadState.RETRY} and not is_member(s, thread))
    s.threads[thread] = waiting(s.threads[thread], ThreadState.OUT, subscription_of(s, thread))
    s.stored.known -= {thread}


@action(
    who="coordinator",
    source="KIP-268, Upgrading to 1.2 (rolling bounce)",
    kafka="GroupCoordinator.onExpireHeartbeat; a Streams consumer does not leave when it is closed",
    fair="weak",
)
def expire(s: Cluster, thread: Thread) -> None:
    """The session of a member that is gone, or has started again without its member id, runs out."""
    require(is_member(s, thread))
    require(not is_alive(s.threads[thread]) or s.threads[thread].state == ThreadState.OUT)
    s.threads = Map({t: interrupted(s.group, s.threads[t], t) for t in Thread})
    s.group = without(s.group, thread)
    s.owners = Map({task: None if s.owners[task] == thread else s.owners[task] for task in s.owners})
    s.settled -= {thread}


@action(
    who="coordinator",
    source="KIP-268, Test Plan (failure scenario during the upgrade)",
    kafka="GroupCoordinator.onExpireHeartbeat; a parked request keeps its member alive",
)
def expire_early(s: Cluster, thread: Thread) -> None:
    """The session of a member runs out that is alive, and does not know."""
    own = s.threads[thread]
    require(s.faults.expiries < Design.max_expiries and is_member(s, thread))
    require(
        own.state in {ThreadState.RUNNING, ThreadState.RETRY, ThreadState.JOINED}
        or (own.state == ThreadState.SYNCING and own.reply is not None)
    )
    s.faults.expiries += 1
    s.completed = 0
    s.threads = Map({t: interrupted(s.group, s.threads[t], t) for t in Thread})
    s.group = without(s.group, thread)
    s.owners = Map({task: None if s.owners[task] == thread else s.owners[task] for task in s.owners})
    s.settled -= {thread}


@action(
    who="coordinator",
    source="KIP-268, Test Plan (failure scenario during the upgrade)",
    kafka="GroupMetadataManager.loadGroupsAndOffsets; NOT_COORDINATOR",
    deviates="who waits, or has the answer to a JoinGroup, hears at once, and so does who has another member id",
)
def fail_over(s: Cluster) -> None:
    """Another coordinator loads the group as it was when it was last stable. Parked requests fail."""
    require(s.faults.failovers < Design.max_failovers and s.group.state != GroupState.STABLE)
    s.faults.failovers += 1
    s.completed = 0
    alone = all(s.stored.subscriptions[t] is None for t in Thread)
    s.threads = Map({t: without_coordinator(s.threads[t], t in s.stored.known) for t in Thread})
    s.group = Group(
        state=GroupState.EMPTY if alone else GroupState.STABLE,
        leader=s.stored.leader,
        subscriptions=s.stored.subscriptions,
        joined=frozenset(),
        syncing=frozenset(),
        assignments=s.stored.assignments,
        hosts=s.stored.hosts,
    )


def without_coordinator(own: StreamThread, is_known: bool) -> StreamThread:
    """A thread whose request fails with NOT_COORDINATOR, its generation with ILLEGAL_GENERATION, or its member id."""
    waits = own.state in {ThreadState.RETRY, ThreadState.JOINING, ThreadState.JOINED} or (
        own.state == ThreadState.SYNCING and own.reply is None
    )
    again = ThreadState.RETRY if is_known else ThreadState.OUT
    return replace(own, state=again if waits else own.state)


@action(
    who="network",
    source="KIP-268, Test Plan (failure scenario during the upgrade)",
    kafka="AbstractCoordinator.CoordinatorResponseHandler.onFailure (DisconnectException)",
)
def lose_reply(s: Cluster, thread: Thread) -> None:
    """The connection of a member breaks, and with it what it waits for: it joins again, with its member id."""
    own = s.threads[thread]
    require(s.faults.lost_replies < Design.max_lost_replies)
    require(own.state in {ThreadState.JOINED, ThreadState.SYNCING})
    s.faults.lost_replies += 1
    s.completed = 0
    s.threads[thread] = waiting(own, ThreadState.RETRY, subscription_of(s, thread))
