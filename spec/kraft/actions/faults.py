"""Faults, each within its budget: crashes, lost disks, early lease expiries, second processes, failovers.

Leaves out: a crash that loses the end of a log but not all of it; failed log directories; a broker that hangs
for good.
"""

from __future__ import annotations

from checker.lang import Map, action, fresh, require
from spec.kraft.actions.controller import lease_may_end, log_once_lease_ends
from spec.kraft.design import Design
from spec.kraft.metadata import without_lease
from spec.kraft.processes import disk, empty_disk, is_alive, stopped
from spec.kraft.state import Cluster, another_is_alive, is_silent
from spec.kraft.types import Broker, BrokerState, Incarnation, Process, Role, Voter


@action(who="broker {process}", source="KIP-631, Handling Broker ID Conflicts (a broker crashes)")
def crash(s: Cluster, process: Process) -> None:
    """A process dies. What it had in memory is gone, its log stays."""
    require(is_alive(s.processes[process]))
    require(s.faults.crashes < Design.max_crashes)
    s.processes[process] = stopped(disk(s.processes[process]))
    s.faults.crashes += 1


@action(who="broker {process}", source="KIP-903, Motivation")
def crash_losing_disk(s: Cluster, process: Process) -> None:
    """A process dies and its disk with it: it will start again from an empty log."""
    require(is_alive(s.processes[process]))
    require(s.faults.crashes < Design.max_crashes and s.faults.disk_losses < Design.max_disk_losses)
    s.processes[process] = stopped(empty_disk(s.processes[process]))
    s.faults.crashes += 1
    s.faults.disk_losses += 1


@action(who="controller {voter}", source="KIP-631, Broker Leases")
def expire_lease_early(s: Cluster, voter: Voter, broker: Broker) -> None:
    """The lease of a broker runs out although it is alive: its heartbeats did not get through in time."""
    controller = s.controllers[voter]
    require(controller.role == Role.ACTIVE)
    require(lease_may_end(controller, broker))
    require(not is_silent(s, voter, broker))
    require(s.faults.early_expiries < Design.max_early_expiries)
    controller.log = log_once_lease_ends(controller, broker)
    controller.expired_leases |= {broker}
    s.faults.early_expiries += 1


@action(who="broker {process}", source="KIP-631, Handling Broker ID Conflicts")
def start_second(s: Cluster, process: Process) -> None:
    """A process starts with the id of another that is alive: a copied configuration, a pod moved too early."""
    broker = s.processes[process]
    require(not is_alive(broker) and another_is_alive(s, process))
    require(s.faults.second_starts < Design.max_second_starts)
    broker.state = BrokerState.STARTING
    broker.incarnation = fresh(s, Incarnation)
    broker.wants_fence = True
    s.faults.second_starts += 1


@action(who="controller {voter}", source="KIP-631, Broker Leases; Controlled Shutdown", kafka="QuorumController.claim")
def fail_over(s: Cluster, voter: Voter) -> None:
    """Another controller becomes active. It has what is committed; each broker gets a new lease."""
    controller = s.controllers[voter]
    require(s.faults.failovers < Design.max_failovers)
    controller.expired_leases = without_lease(controller.image)
    controller.checks_leases = Design.lease_check_by_timer
    controller.shutdowns = Map({broker: None for broker in Broker})
    s.faults.failovers += 1
