"""A broker's life in single steps, for models whose subject is something else.

A crash and the fencing that follows it are one step, and so are the start, the registration and the unfencing
of the next incarnation: what happens between is the subject of other models. `alter_isr_at_once` is for liveness:
a message has no place of its own in the network, so that no action which takes one can be fair.
"""

from __future__ import annotations

from checker.lang import Set, action, fresh, require, require_some
from spec.kraft.actions.controller import (
    alter_isr_error,
    alter_isr_reply,
    partition_after_alter_isr,
)
from spec.kraft.actions.replica import after_reply, next_alter_isr
from spec.kraft.decisions.membership import broker_fenced, broker_unfenced, partitions_with_broker_unfenced
from spec.kraft.design import Design
from spec.kraft.metadata import Registration
from spec.kraft.processes import disk, is_alive, running, stopped
from spec.kraft.state import Cluster
from spec.kraft.types import Broker, BrokerEpoch, Incarnation, Process, TopicPartition, Voter, node_id


@action(who="broker {process}", source="KIP-631, Broker Leases", deviates="crash and fencing in one step")
def go_down(s: Cluster, voter: Voter, process: Process) -> None:
    """A process dies, and the controller fences its broker. Its log stays."""
    require(is_alive(s.processes[process]) and s.faults.crashes < Design.max_crashes)
    image = s.controllers[voter].image
    broker = node_id(process)
    require(image.registrations[broker] is not None)
    s.controllers[voter].image = broker_fenced(s, image, broker)
    s.controllers[voter].expired_leases = with_lease_over(s.controllers[voter].expired_leases, broker)
    s.processes[process] = stopped(disk(s.processes[process]))
    s.faults.crashes += 1


@action(who="broker {process}", source="KIP-631, Broker Registration", deviates="start to unfencing in one step")
def come_back(s: Cluster, voter: Voter, process: Process) -> None:
    """A process starts as a new incarnation, which the controller registers and unfences. It has no metadata yet."""
    require(not is_alive(s.processes[process]))
    image = s.controllers[voter].image
    broker = node_id(process)
    epoch = fresh(s, BrokerEpoch)
    image.partitions = partitions_with_broker_unfenced(s, image, broker)
    image.registrations[broker] = Registration(
        fresh(s, Incarnation), epoch, fenced=False, in_controlled_shutdown=False, amended=()
    )
    s.controllers[voter].expired_leases -= {broker}
    s.processes[process] = running(epoch, disk(s.processes[process]))


@action(who="controller {voter}", source="KIP-631, Broker Leases", deviates="lease and fencing in one step")
def fence_alive(s: Cluster, voter: Voter, broker: Broker) -> None:
    """The lease of a broker that is alive runs out, and the controller fences it. It continues as its image says."""
    image = s.controllers[voter].image
    registration = require_some(image.registrations[broker])
    require(not registration.fenced and s.faults.early_expiries < Design.max_early_expiries)
    require(any(is_alive(s.processes[q]) for q in Process if node_id(q) == broker))
    s.controllers[voter].image = broker_fenced(s, image, broker)
    s.controllers[voter].expired_leases = with_lease_over(s.controllers[voter].expired_leases, broker)
    s.faults.early_expiries += 1


def with_lease_over(expired_leases: Set[Broker], broker: Broker) -> Set[Broker]:
    """The leases that are over once a broker is fenced. Where it yields its id, nobody asks for its lease any more."""
    return expired_leases if Design.fenced_holder_yields else expired_leases | {broker}


@action(who="controller {voter}", source="KIP-631, Broker Leases", deviates="heartbeat and decision in one step")
def unfence_alive(s: Cluster, voter: Voter, process: Process) -> None:
    """The heartbeats of a fenced broker get through again, and the controller unfences it."""
    image = s.controllers[voter].image
    registration = require_some(image.registrations[node_id(process)])
    require(registration.fenced and s.processes[process].broker_epoch == registration.broker_epoch)
    s.controllers[voter].image = broker_unfenced(s, image, node_id(process))
    s.controllers[voter].expired_leases -= {node_id(process)}


@action(
    who="broker {leader}",
    source="KIP-497",
    deviates="request, decision and reply in one step",
    api="AlterPartition v3",
)
def alter_isr_at_once(s: Cluster, voter: Voter, leader: Process, p: TopicPartition) -> None:
    """A leader asks for its change of the ISR, and has the answer."""
    image = s.controllers[voter].image
    partition = require_some(image.partitions[p])
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    request = require_some(next_alter_isr(s, leader, p))
    error = alter_isr_error(image, request)
    after = partition_after_alter_isr(s, image, partition, request, error)
    replica.leadership = after_reply(leadership, alter_isr_reply(partition, after, request, error))
    image.partitions[p] = after
