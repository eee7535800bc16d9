"""A rebalance of a group: who is stopped, what is committed and written, who is started (9)."""

from __future__ import annotations

from checker.lang import Map, Set, action, fresh, replace, require, require_some
from spec.group.actions.offsets import committed_offset, is_refused
from spec.group.decisions.assignment import assigned, share_of, unowned
from spec.group.decisions.channels import has_room, removed_from, with_request
from spec.group.decisions.registry import asked_to_rebalance, idle
from spec.group.design import Design
from spec.group.messages import Offset, StartFetcher, StopFetcher
from spec.group.state import Channel, Cluster, ConsumerProcess, Owners, Rebalance, is_connected, is_coordinator
from spec.group.types import Attempt, Broker, Consumer, Group, Handler, Partition, Phase


def has_nothing_to_do(s: Cluster, broker: Broker, group: Group, owners: Owners) -> bool:
    """Owners in ZooKeeper are as computed (3.1-3.5), and everybody fetches its share as far as that is asked."""
    registry = s.brokers[broker].registries[group]
    as_computed = all(s.zookeeper.groups[group].owners[p] == owners[p] for p in Partition)
    return as_computed and (registry.members <= registry.started or not Design.starts_registered)


def can_send(s: Cluster, broker: Broker, members: Set[Consumer]) -> bool:
    """A request to every member finds room: a handler waits until it does."""
    return all(has_room(s, broker, c) for c in members)


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 9 (1.1-1.3, 3.1-3.5, 4.1; 5, from 1 on)",
    deviates="a group without members is left as it is: nobody can be started",
)
def begin(s: Cluster, broker: Broker, handler: Handler, group: Group) -> None:
    """A handler takes a group, or tries it again: it computes the assignment, and has every member stop its fetchers.

    If nothing is to be done, it ends there.
    """
    process = s.brokers[broker]
    current = process.handlers[handler]
    again = current.phase == Phase.BACKOFF and current.group == group
    require(again or (current.phase == Phase.IDLE and group in current.queue))
    require(not process.starts_up and not process.waits_out)
    members = process.registries[group].members
    computed = assigned(s, broker, members)
    done = len(members) == 0 or has_nothing_to_do(s, broker, group, computed)
    require(done or can_send(s, broker, members))
    attempt = fresh(s, Attempt)
    left = current.queue - {group}
    if done or Design.bit_cleared_first:
        s.brokers[broker].registries[group].bit = False
    if done:
        s.brokers[broker].handlers[handler] = idle(left)
    else:
        s.brokers[broker].registries[group].started = frozenset()
        s.brokers[broker].handlers[handler] = Rebalance(
            queue=left,
            group=group,
            phase=Phase.STOPPING,
            attempt=attempt,
            retries=current.retries,
            assignment=computed,
            waits_for=members,
        )
        s.channels = Map(
            {
                c: with_request(s, broker, c, StopFetcher(attempt)) if c in members else replace(s.channels[c])
                for c in Consumer
            }
        )


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 9 (4.2, 4.5, 5; ConsumerRebalanceFailedException)",
    kafka="GroupCoordinator.onCompleteJoin (join_barrier)",
)
def time_out(s: Cluster, broker: Broker, handler: Handler) -> None:
    """Responses do not come in time: the rebalance has failed, to be tried again; or the handler gives it up.

    At a barrier, who is late is removed once its session is over.
    """
    current = s.brokers[broker].handlers[handler]
    stopping = current.phase == Phase.STOPPING
    require((stopping or current.phase == Phase.STARTING) and len(current.waits_for) > 0)
    require(s.faults.time_outs < Design.max_time_outs)
    group = require_some(current.group)
    late = current.waits_for
    s.faults.time_outs += 1
    if stopping and Design.join_barrier:
        left = s.brokers[broker].registries[group].members - late
        s.brokers[broker].registries[group].members = left
        if Design.lease_from_answers:
            s.consumers = Map({c: lapsed_if(s, c, c in late and is_connected(s, broker, c)) for c in Consumer})
        s.channels = removed_from(s, broker, late)
        if len(left) == 0:
            s.brokers[broker].handlers[handler] = idle(current.queue)
        else:
            s.brokers[broker].handlers[handler] = replace(
                current, phase=Phase.COMMITTING, assignment=assigned(s, broker, left), waits_for=frozenset()
            )
    elif current.retries < Design.max_retries:
        s.brokers[broker].handlers[handler] = replace(
            current,
            phase=Phase.BACKOFF,
            attempt=None,
            retries=current.retries + 1,
            assignment=unowned(),
            waits_for=frozenset(),
        )
    else:
        s.brokers[broker].registries[group].gave_up = True
        s.brokers[broker].handlers[handler] = idle(current.queue)


def lapsed_if(s: Cluster, consumer: Consumer, removed: bool) -> ConsumerProcess:
    """A consumer once it was removed, or not: its session is over by then."""
    process = s.consumers[consumer]
    return replace(process, lapsed=process.lapsed or removed)


@action(who="coordinator {broker}", source="design switch retries_resume (the document logs the failure, and stops)")
def resume(s: Cluster, broker: Broker, group: Group) -> None:
    """After the last retry a timer has the group rebalanced again, if it still has members."""
    registry = s.brokers[broker].registries[group]
    require(Design.retries_resume and registry.gave_up and len(registry.members) > 0)
    s.brokers[broker] = asked_to_rebalance(s.brokers[broker], group)


def with_starts(s: Cluster, broker: Broker, handler: Handler, group: Group, attempt: Attempt) -> Map[Consumer, Channel]:
    """The connections once every member was sent a StartFetcherRequest."""
    current = s.brokers[broker].handlers[handler]
    members = s.brokers[broker].registries[group].members
    return Map(
        {
            c: with_request(s, broker, c, StartFetcher(attempt, share_of(s, broker, group, current.assignment, c)))
            if c in members
            else replace(s.channels[c])
            for c in Consumer
        }
    )


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 9 (4.3, 4.4)",
    deviates="with owners_first the StartFetcherRequests follow 4.6",
)
def commit_and_go_on(s: Cluster, broker: Broker, handler: Handler) -> None:
    """A handler commits the offsets as last reported; unless owners come first, it then starts every member."""
    current = s.brokers[broker].handlers[handler]
    require(current.phase == Phase.COMMITTING and not is_refused(s, broker))
    group, attempt = require_some(current.group), require_some(current.attempt)
    members = s.brokers[broker].registries[group].members
    require(Design.owners_first or can_send(s, broker, members))
    after: Map[Partition, Offset] = Map({p: committed_offset(s, broker, group, p) for p in Partition})
    if not is_coordinator(s, broker) and any(after[p] != s.zookeeper.groups[group].offsets[p] for p in Partition):
        s.former_wrote = True
    if Design.owners_first:
        s.brokers[broker].handlers[handler].phase = Phase.WRITING
    else:
        s.channels = with_starts(s, broker, handler, group, attempt)
        s.brokers[broker].handlers[handler].phase = Phase.STARTING
        s.brokers[broker].handlers[handler].waits_for = members
    s.zookeeper.groups[group].offsets = after


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 9 (4.6)",
    kafka="GroupMetadataManager.storeGroup (owners_first)",
)
def write_owners(s: Cluster, broker: Broker, handler: Handler) -> None:
    """A handler writes the assignment to ZooKeeper; if owners come first, it then starts every member (4.4)."""
    current = s.brokers[broker].handlers[handler]
    require(current.phase == Phase.WRITING and not is_refused(s, broker))
    group, attempt = require_some(current.group), require_some(current.attempt)
    members = s.brokers[broker].registries[group].members
    require(not Design.owners_first or can_send(s, broker, members))
    changes = any(current.assignment[p] != s.zookeeper.groups[group].owners[p] for p in Partition)
    if not is_coordinator(s, broker) and changes:
        s.former_wrote = True
    s.zookeeper.groups[group].owners = current.assignment
    if Design.owners_first:
        s.channels = with_starts(s, broker, handler, group, attempt)
        s.brokers[broker].handlers[handler].phase = Phase.STARTING
        s.brokers[broker].handlers[handler].waits_for = members
    else:
        s.brokers[broker].registries[group].bit = False
        s.brokers[broker].handlers[handler] = idle(current.queue)
