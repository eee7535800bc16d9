"""Faults, each within its budget, and what heals them."""

from __future__ import annotations

from checker.lang import action, require, require_some
from spec.heartbeat.decisions.processes import stopped
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, is_legacy
from spec.heartbeat.types import BrokerState, Process, broker_id


@action(who="network", source="KIP-343, Motivation (a node can reach ZooKeeper, but not the current controller)")
def cut_off(s: Cluster, process: Process) -> None:
    """A process reaches the controller no more, nor the controller it; ZooKeeper and its peers it reaches."""
    require(s.processes[process].up and process not in s.cut and s.faults.silences < Design.max_silences)
    s.cut |= {process}
    s.faults.silences += 1


@action(who="network", source="KIP-343, Broker-Side Heartbeat Timeout (back and forth)")
def heal(s: Cluster, process: Process) -> None:
    """A process reaches the controller again. What was under way may still arrive."""
    require(process in s.cut)
    s.cut -= {process}


@action(who="process {process}", source="KIP-343, Broker Incarnation ID")
def crash(s: Cluster, process: Process) -> None:
    """A process dies. Its session lives on for a while; its disk is as it was."""
    require(s.processes[process].up and s.faults.crashes < Design.max_crashes)
    s.processes[process] = stopped(s.processes[process])
    s.cut -= {process}
    s.faults.crashes += 1


@action(who="process {process}", source="KIP-903, Motivation")
def crash_losing_disk(s: Cluster, process: Process) -> None:
    """A process dies, and its disk with it: it will start again from an empty log."""
    require(s.processes[process].up and s.faults.disk_losses < Design.max_disk_losses)
    s.processes[process] = stopped(s.processes[process])
    s.processes[process].has_record = False
    s.cut -= {process}
    s.faults.disk_losses += 1


@action(who="process {process}", source="KIP-343, Broker Incarnation ID")
def start(s: Cluster, process: Process) -> None:
    """A process starts: it has yet to register, and is fenced unless it is a legacy one."""
    require(not s.processes[process].up)
    registration = s.ids[broker_id(process)]
    s.processes[process].up = True
    if not Design.registration_retried and registration is not None:
        s.processes[process].incarnation = registration.czxid
    s.processes[process].fenced = Design.heartbeats and not is_legacy(s.processes[process])


@action(who="process {process}", source="KIP-343, Broker State (stopping)")
def request_shutdown(s: Cluster, process: Process) -> None:
    """SIGTERM: the target of a process is STOPPING from now on."""
    require(s.processes[process].up and s.processes[process].target == BrokerState.ACTIVE)
    require(s.faults.shutdowns < Design.max_shutdowns)
    s.processes[process].target = BrokerState.STOPPING
    s.processes[process].heartbeat = None
    s.faults.shutdowns += 1


@action(who="network", source="KIP-343, IsrChangeRequest (a request is sent again when no answer comes)")
def copy_late(s: Cluster, process: Process) -> None:
    """An IsrChange is sent twice, and one of the two will be late."""
    require(s.faults.late_copies < Design.max_late_copies)
    request = require_some(s.processes[process].change)
    s.late = s.late.add(request)
    s.faults.late_copies += 1
