"""The model that a whole upgrade, and the way back, is validated on: brokers stop, and come back of another protocol.

The spec rolls a process in one step, and forward only. In a run a broker of the former protocol asks for a controlled
shutdown, hands its leaderships over, and closes its session; what starts in its place is of either protocol.

No broker is killed, so that no fetch outlives its sender: late fetches, which may be sent at any moment, would multiply
what a run of this length may have been by more than can be followed.
"""

from __future__ import annotations

import dataclasses

from checker.lang import Map, action, init, replace, require
from spec.heartbeat.actions import control, legacy
from spec.heartbeat.decisions.processes import stopped
from spec.heartbeat.decisions.registry import with_state
from spec.heartbeat.initial import all_active, first_controller, first_partition, first_process
from spec.heartbeat.state import Cluster, PartitionState, Registration, is_legacy, is_registered
from spec.heartbeat.types import Broker, BrokerState, Controller, Incarnation, Process, Software, Version, broker_id
from tests.impl.heartbeat.recorded import MODELS as RECORDED


@init
def all_legacy() -> Cluster:
    """All brokers are legacy ones. The leader has added the other replica, which the controller has not read."""
    active: Cluster = all_active()
    version = Version(1)
    return replace(
        active,
        ids=Map({b: Registration(Process(b.index), Incarnation(b.index), True) for b in Broker}),
        partition=replace(first_partition(), version=version, incarnations=Map({b: None for b in Broker})),
        controllers=Map(
            {
                c: replace(first_controller(c), legacy=frozenset(Broker), partition=before_the_leader_wrote())
                for c in Controller
            }
        ),
        processes=Map(
            {
                p: replace(
                    first_process(p), software=Software.LEGACY, version=version if p == Process(0) else None
                )
                for p in Process
            }
        ),
    )  # fmt: skip


def before_the_leader_wrote() -> PartitionState:
    """The partition as the controller wrote it: the leader alone is in the ISR."""
    first = first_partition()
    named = Map({b: first.incarnations[b] if b == Broker(0) else None for b in Broker})
    return replace(first, isr=frozenset({Broker(0)}), incarnations=named)


@action(who="controller {controller}", source="Kafka 2.0, ControlledShutdown")
def shut_down(s: Cluster, controller: Controller, process: Process) -> None:
    """A controller is asked for a controlled shutdown by a legacy broker: its leaderships are to move."""
    own = s.controllers[controller]
    broker = broker_id(process)
    require(own.epoch == s.controller_epoch and s.processes[process].up and is_legacy(s.processes[process]))
    require(own.known[broker] == s.processes[process].owned and own.states[broker] == BrokerState.ACTIVE)
    s.controllers[controller] = with_state(own, broker, BrokerState.STOPPING)


@action(who="process {process}", source="Kafka 2.0, ControlledShutdown")
def leave(s: Cluster, process: Process) -> None:
    """A legacy broker that leads nothing any more closes its session, and exits."""
    own = s.processes[process]
    broker = broker_id(process)
    require(own.up and is_legacy(own) and is_registered(s, process))
    require(s.partition.leader != broker and not own.leads)
    s.ids[broker] = None
    s.processes[process] = stopped(own)


@action(who="operator", source='KIP-343, Compatibility, Deprecation, and Migration Plan (the "double roll")')
def configure(s: Cluster, process: Process, sends_heartbeats: bool) -> None:
    """A broker that is down is given the other protocol version."""
    own = s.processes[process]
    require(not own.up and is_legacy(own) == sends_heartbeats)
    own.software = Software.HEARTBEATS if sends_heartbeats else Software.LEGACY


MODELS = [
    dataclasses.replace(
        RECORDED[0],
        name="upgraded",
        doc="As recorded, but all brokers are legacy ones at first, and each comes back as a legacy one or not.",
        init=all_legacy,
        constants={**RECORDED[0].constants, "late_fetches": 0},
        actions=(
            *RECORDED[0].actions,
            legacy.write_isr,
            legacy.reread_isr,
            control.reread_partition,
            shut_down,
            leave,
            configure,
        ),
    )
]
