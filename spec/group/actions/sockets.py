"""The protocol of section 2: a rebalance closes every socket, and the answer to a registration brings the partitions.

Members are stored in ZooKeeper. Nobody is asked to stop, and no offsets are reported.
"""

from __future__ import annotations

from checker.lang import Map, Set, action, fresh, replace, require, require_some
from spec.group.actions.failure import is_member
from spec.group.actions.offsets import is_refused
from spec.group.actions.startup import has_registration
from spec.group.decisions.assignment import assigned, is_owner, share_of
from spec.group.decisions.channels import is_open, removed_from, with_request
from spec.group.decisions.registry import after_removal, asked_to_rebalance, idle
from spec.group.design import Design
from spec.group.messages import Registered
from spec.group.state import Channel, Cluster, Owners, Rebalance, is_connected, is_coordinator
from spec.group.types import (
    Attempt,
    Broker,
    Consumer,
    ConsumerState,
    CoordinatorEpoch,
    Group,
    Handler,
    Partition,
    Phase,
    group_of,
)


def awaits_answer(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """A member has registered on the connection that is open, and has no answer yet."""
    return is_open(s, broker, consumer) and consumer not in s.brokers[broker].registries[group_of(consumer)].started


@action(who="broker {broker}", source="Consumer Coordinator, 2 (Consumer 2; Co-ordinator 1, 5)")
def register(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The coordinator takes a registration, which it answers once the group is complete. A member in use is refused."""
    process = s.brokers[broker]
    epoch = require_some(process.epoch)
    require(has_registration(s, broker, consumer) and not is_refused(s, broker))
    group = group_of(consumer)
    waiting = frozenset(h for h in Handler if consumer in process.handlers[h].waits_for)
    known = is_member(s, broker, consumer)
    if known and len(waiting) == 0:
        s.channels[consumer].requests = (Registered(False, epoch, frozenset()),)
    else:
        s.channels[consumer].server = broker
        s.brokers[broker].handlers = Map({h: without_watcher(process.handlers[h], consumer) for h in Handler})
        if not known:
            s.brokers[broker].registries[group].members |= {consumer}
            s.zookeeper.groups[group].members |= {consumer}
            s.brokers[broker] = asked_to_rebalance(s.brokers[broker], group)


def without_watcher(handler: Rebalance, consumer: Consumer) -> Rebalance:
    return replace(handler, waits_for=handler.waits_for - {consumer})


@action(who="coordinator {broker}", source="Consumer Coordinator, 2 (Co-ordinator 2, 5, 6)")
def close_sockets(s: Cluster, broker: Broker, handler: Handler, group: Group) -> None:
    """A rebalance: the coordinator closes the sockets of the group, and waits for every known member to register."""
    process = s.brokers[broker]
    current = process.handlers[handler]
    require(current.phase == Phase.IDLE and group in current.queue and not process.waits_out)
    members = process.registries[group].members
    awaited = frozenset(c for c in members if not awaits_answer(s, broker, c))
    if Design.bit_cleared_first or len(members) == 0:
        s.brokers[broker].registries[group].bit = False
    if len(members) == 0:
        s.brokers[broker].handlers[handler] = idle(current.queue - {group})
    else:
        s.brokers[broker].registries[group].started = frozenset()
        s.brokers[broker].handlers[handler] = replace(
            idle(current.queue - {group}), group=group, phase=Phase.STOPPING, waits_for=awaited
        )
        s.channels = removed_from(s, broker, awaited)


def with_answers(
    s: Cluster, broker: Broker, group: Group, epoch: CoordinatorEpoch, owners: Owners
) -> Map[Consumer, Channel]:
    """The connections once everybody was answered who is assigned something, with what it is to fetch."""
    return Map(
        {
            c: with_request(s, broker, c, Registered(True, epoch, share_of(s, broker, group, owners, c)))
            if c in assigned_in(owners) and awaits_answer(s, broker, c)
            else replace(s.channels[c])
            for c in Consumer
        }
    )


def assigned_in(owners: Owners) -> Set[Consumer]:
    """Who is assigned a partition: every member, where there are as many partitions as threads."""
    return frozenset(c for c in Consumer if any(is_owner(owners, c, p) for p in Partition))


@action(who="coordinator {broker}", source="Consumer Coordinator, 2 (Co-ordinator 2, 5)")
def complete(s: Cluster, broker: Broker, handler: Handler) -> None:
    """Every known member that lives has registered: the partitions are assigned; unless owners come first, all hear."""
    current = s.brokers[broker].handlers[handler]
    require(current.phase == Phase.STOPPING and len(current.waits_for) == 0)
    group, epoch = require_some(current.group), require_some(s.brokers[broker].epoch)
    owners: Owners = assigned(s, broker, s.brokers[broker].registries[group].members)
    s.brokers[broker].handlers[handler].attempt = fresh(s, Attempt)
    s.brokers[broker].handlers[handler].phase = Phase.WRITING
    s.brokers[broker].handlers[handler].assignment = owners
    if not Design.owners_first:
        s.channels = with_answers(s, broker, group, epoch, owners)
        s.brokers[broker].registries[group].started = assigned_in(owners)


@action(who="coordinator {broker}", source="Consumer Coordinator, 2 (Co-ordinator 5); design switch owners_first")
def write(s: Cluster, broker: Broker, handler: Handler) -> None:
    """The owners are written to ZooKeeper; if they come first, every member is answered."""
    current = s.brokers[broker].handlers[handler]
    require(current.phase == Phase.WRITING and not is_refused(s, broker))
    group, epoch = require_some(current.group), require_some(s.brokers[broker].epoch)
    changes = any(current.assignment[p] != s.zookeeper.groups[group].owners[p] for p in Partition)
    if not is_coordinator(s, broker) and changes:
        s.former_wrote = True
    if Design.owners_first:
        s.channels = with_answers(s, broker, group, epoch, current.assignment)
        s.brokers[broker].registries[group].started = assigned_in(current.assignment)
    if not Design.bit_cleared_first:
        s.brokers[broker].registries[group].bit = False
    s.zookeeper.groups[group].owners = current.assignment
    s.brokers[broker].handlers[handler] = idle(current.queue)


@action(
    who="broker {broker}",
    source="Consumer Coordinator, 2 (Co-ordinator 3, 5), 8 (handleConsumerFailure 1-5)",
    deviates="who lives, and has yet to notice that its socket was closed, has a session in which to come back",
)
def find_dead(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The coordinator finds that a member is dead, and removes it."""
    process = s.consumers[consumer]
    require(is_member(s, broker, consumer) and not is_connected(s, broker, consumer))
    answered = any(isinstance(r, Registered) and r.accepted for r in s.channels[consumer].requests)
    awaited = any(consumer in s.brokers[broker].handlers[h].waits_for for h in Handler)
    require(process.state == ConsumerState.DOWN or not awaited)
    require((process.state != ConsumerState.JOINED and not answered) or process.lapsed)
    group = group_of(consumer)
    s.brokers[broker] = after_removal(s.brokers[broker], group, consumer)
    s.channels = removed_from(s, broker, frozenset({consumer}))
    if is_coordinator(s, broker):
        s.zookeeper.groups[group].members -= {consumer}
