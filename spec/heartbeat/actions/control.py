"""The controller's writes to the partition state, its control requests, and who is in office."""

from __future__ import annotations

from checker.lang import Map, action, fresh, replace, require, require_some
from spec.heartbeat.decisions.partition import (
    can_write,
    first_active,
    is_settled,
    next_leader,
    remaining_isr,
    with_leader,
)
from spec.heartbeat.decisions.processes import goes_to, informed
from spec.heartbeat.decisions.registry import highest, record_by_term, taking_office
from spec.heartbeat.design import Design
from spec.heartbeat.state import BrokerProcess, Cluster, Leadership, believes_in_office, is_counted
from spec.heartbeat.types import (
    Broker,
    BrokerState,
    Controller,
    ControllerEpoch,
    LeaderEpoch,
    Process,
    Version,
    broker_id,
)


@action(
    who="controller {controller}",
    source="KIP-343, Broker State; Controller Logic",
    kafka="PartitionStateMachine.doElectLeaderForPartitions, KafkaController.onBrokerFailure",
)
def update_partition(s: Cluster, controller: Controller) -> None:
    """Who is inactive leaves the ISR and leads no more; a partition without a leader gets one."""
    own = s.controllers[controller]
    epoch = require_some(own.epoch)
    require(not is_settled(own) and can_write(s, controller))
    own.partition = with_leader(own, next_leader(own), remaining_isr(own))
    own.partition.leader_epoch = fresh(s, LeaderEpoch)
    own.partition.version = fresh(s, Version)
    own.partition.controller_epoch = epoch
    own.owed = frozenset(Broker)
    s.partition = s.controllers[controller].partition


@action(
    who="controller {controller}",
    source="KIP-343, Broker State (we gradually migrate leaders away from the broker)",
    kafka="KafkaController.doControlledShutdown",
)
def move_leadership(s: Cluster, controller: Controller) -> None:
    """The leadership is taken from a broker that is stopping: another active member of the ISR will lead."""
    own = s.controllers[controller]
    epoch = require_some(own.epoch)
    leader = require_some(own.partition.leader)
    require(is_settled(own) and own.states[leader] == BrokerState.STOPPING)
    successor = require_some(first_active(own, frozenset({leader})))
    require(can_write(s, controller))
    own.partition = with_leader(own, None if Design.handover_acknowledged else successor, own.partition.isr)
    own.partition.leader_epoch = fresh(s, LeaderEpoch)
    own.partition.version = fresh(s, Version)
    own.partition.controller_epoch = epoch
    own.owed = frozenset(Broker)
    s.partition = s.controllers[controller].partition


@action(
    who="controller {controller}",
    source="KIP-343, Compatibility, Deprecation, and Migration Plan (legacy brokers write to ZooKeeper)",
    kafka="KafkaZkClient.updateLeaderAndIsr (BADVERSION)",
)
def reread_partition(s: Cluster, controller: Controller) -> None:
    """A controller's write fails with BADVERSION: it reads the partition state again."""
    own = s.controllers[controller]
    require(believes_in_office(own) and Design.rereads_on_bad_version)
    require(own.partition.version != s.partition.version)
    require(own.epoch == s.controller_epoch or not Design.zk_writes_fenced)
    own.partition = s.partition


@action(
    who="process {process}",
    source="KIP-343, Broker State; Motivation (it receives no metadata updates)",
    kafka="ReplicaManager.becomeLeaderOrFollower; LeaderAndIsr, UpdateMetadata",
    deviates="of several requests the newest is taken; an inactive broker is sent none, unless fresh_unfence",
)
def take_control_request(s: Cluster, controller: Controller, process: Process) -> None:
    """A process takes LeaderAndIsr and UpdateMetadata of the controller that it knows to be the newest."""
    own = s.controllers[controller]
    broker = broker_id(process)
    epoch = require_some(own.epoch)
    incarnation = require_some(s.processes[process].owned)
    require(is_sent(s, controller, process))
    own.owed -= {broker}
    partition = own.partition
    s.processes[process] = controlled(s, controller, process, epoch)
    newest = s.taken_up
    if partition.leader == broker and (newest is None or newest.leader_epoch < partition.leader_epoch):
        s.taken_up = Leadership(partition.leader_epoch, incarnation)


def is_sent(s: Cluster, controller: Controller, process: Process) -> bool:
    """A control request of a controller is under way to a process, which does not know a newer controller."""
    own = s.controllers[controller]
    broker = broker_id(process)
    seen = s.processes[process].controller_epoch
    return (
        s.processes[process].up
        and process not in s.cut
        and broker in own.owed
        and own.known[broker] == s.processes[process].owned
        and is_settled(own)
        and (Design.fresh_unfence or is_counted(own.states[broker]))
        and (seen is None or own.epoch is None or seen <= own.epoch)
    )


def controlled(s: Cluster, controller: Controller, process: Process, epoch: ControllerEpoch) -> BrokerProcess:
    """A process that has taken the control request of a controller in its term of this epoch."""
    told = informed(s.processes[process], broker_id(process), s.controllers[controller].partition)
    return replace(goes_to(told, controller), controller_epoch=epoch)


@action(
    who="ZooKeeper",
    source="KIP-343, Controller Heartbeat (the current controller)",
    kafka="KafkaController.elect, onControllerFailover",
    deviates="the former controller is gone, and its successor in office, in one step; what was under way to the "
    "former one is lost",
)
def fail_over(s: Cluster, controller: Controller) -> None:
    """The controller dies, and another takes its place: it reads the ids and the partition, and begins its term."""
    require(Design.controllers == 1 and s.faults.failovers < Design.max_failovers)
    issued = fresh(s, ControllerEpoch)
    s.faults.failovers += 1
    s.controller_epoch = issued
    s.controllers[controller] = taking_office(s, controller, issued, s.controllers[controller].software)
    s.gone_by = Map({b: highest(s, b, s.controllers[controller].known[b]) for b in Broker})
    s.record = record_by_term(s, controller)
    for process in Process:
        s.processes[process].heartbeat = None
        s.processes[process].change = None
