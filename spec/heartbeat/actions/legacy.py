"""Legacy leaders, which write the ISR to ZooKeeper themselves, and the two rolling restarts of an upgrade."""

from __future__ import annotations

from checker.lang import Map, action, fresh, require
from spec.heartbeat.decisions.processes import stopped
from spec.heartbeat.decisions.registry import highest, record_by_term, taking_office
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, is_legacy, is_registered
from spec.heartbeat.types import Broker, Controller, ControllerEpoch, Process, Software, Version, broker_id


@action(
    who="process {process}",
    source="KIP-343, Compatibility, Deprecation, and Migration Plan (directly modify ZooKeeper)",
    kafka="ReplicationUtils.updateLeaderAndIsr",
)
def write_isr(s: Cluster, process: Process, answered: bool) -> None:
    """A legacy leader writes the ISR, at the version that it knows, and no incarnation. The reply may be lost."""
    own = s.processes[process]
    require(own.up and is_legacy(own) and len(own.proposed) > 0 and own.version == s.partition.version)
    require(answered or s.faults.lost_replies < Design.max_lost_replies)
    issued = fresh(s, Version)
    s.partition.isr = own.proposed
    s.partition.incarnations = Map({b: None for b in Broker})
    s.partition.version = issued
    if answered:
        own.isr = own.proposed
        own.version = issued
        own.proposed = frozenset()
    else:
        s.faults.lost_replies += 1


@action(
    who="process {process}",
    source="KIP-343, Compatibility, Deprecation, and Migration Plan; KAFKA-2729, KAFKA-1382",
    kafka="ReplicationUtils.checkLeaderAndIsrZkData",
)
def reread_isr(s: Cluster, process: Process) -> None:
    """A legacy leader's write fails with BADVERSION: it reads what is there, while it leads still."""
    own = s.processes[process]
    require(own.up and is_legacy(own) and len(own.proposed) > 0 and own.version != s.partition.version)
    require(Design.rereads_on_bad_version and own.leader_epoch == s.partition.leader_epoch)
    own.isr = s.partition.isr
    own.version = s.partition.version
    own.proposed = frozenset()


def upgraded(software: Software) -> Software:
    """The software after the next of the two rolls."""
    return Software.NEW_CODE if software == Software.LEGACY else Software.HEARTBEATS


def may_roll(s: Cluster, software: Software) -> bool:
    """The second roll begins when the first has reached every process."""
    first_is_over = all(s.processes[p].software != Software.LEGACY for p in Process) and all(
        s.controllers[c].software != Software.LEGACY for c in Controller
    )
    return software == Software.LEGACY or (software == Software.NEW_CODE and first_is_over)


@action(
    who="process {process}",
    source='KIP-343, Compatibility, Deprecation, and Migration Plan (the "double roll")',
    deviates="it stops at once, without a controlled shutdown",
)
def roll(s: Cluster, process: Process) -> None:
    """A process is taken down, to be started with the next software. Its session is closed."""
    own = s.processes[process]
    require(own.up and Design.rolls > 0 and may_roll(s, own.software))
    software = upgraded(own.software)
    if is_registered(s, process):
        s.ids[broker_id(process)] = None
    s.processes[process] = stopped(s.processes[process])
    s.processes[process].software = software


@action(
    who="controller {controller}",
    source='KIP-343, Compatibility, Deprecation, and Migration Plan (the "double roll")',
    deviates="the controller is a process of its own, which is rolled with the others",
)
def roll_controller(s: Cluster, controller: Controller) -> None:
    """The controller is taken down, and one with the next software takes office."""
    require(Design.rolls > 0 and may_roll(s, s.controllers[controller].software))
    software = upgraded(s.controllers[controller].software)
    issued = fresh(s, ControllerEpoch)
    s.controller_epoch = issued
    s.controllers[controller] = taking_office(s, controller, issued, software)
    s.gone_by = Map({b: highest(s, b, s.controllers[controller].known[b]) for b in Broker})
    s.record = record_by_term(s, controller)
    for process in Process:
        s.processes[process].heartbeat = None
        s.processes[process].change = None
