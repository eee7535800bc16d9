"""The model that traces of real runs are validated on: every step that processes take, and room for many faults."""

from __future__ import annotations

from checker.lang import Model, action, require, require_some
from spec.heartbeat.actions import control, faults, heartbeat, isr, registration, replica
from spec.heartbeat.actions.control import controlled, is_sent
from spec.heartbeat.initial import all_active
from spec.heartbeat.state import Cluster, serves
from spec.heartbeat.types import Controller, Process

_ROOM = 60
"""For faults: more than a schedule has."""


@action(who="process {process}", source="Kafka, replication: leader, in-sync replicas, acks=all")
def append_further(s: Cluster, process: Process) -> None:
    """The leader appends records beyond the one that is modelled: no follower is seen to have them yet."""
    require(serves(s.processes[process]))
    s.processes[process].caught_up = frozenset()


@action(who="process {process}", source="KIP-343, Broker State")
def take_unanswered(s: Cluster, controller: Controller, process: Process) -> None:
    """A process takes a control request, and the answer to that is late, or lost where a link is cut one way."""
    epoch = require_some(s.controllers[controller].epoch)
    require(is_sent(s, controller, process))
    s.processes[process] = controlled(s, controller, process, epoch)


MODELS = [
    Model(
        name="recorded",
        doc="Two brokers that have the partition, any faults: for traces that were recorded.",
        init=all_active,
        actions=(
            heartbeat.send_heartbeat,
            heartbeat.handle_heartbeat,
            heartbeat.take_reply,
            heartbeat.self_fence,
            heartbeat.expire,
            control.update_partition,
            control.move_leadership,
            control.take_control_request,
            control.fail_over,
            isr.ask_to_shrink,
            isr.ask_to_expand,
            isr.ask_again,
            isr.handle_isr_change,
            isr.take_isr_reply,
            replica.fetch,
            replica.send_late_fetch,
            replica.take_late_fetch,
            append_further,
            take_unanswered,
            registration.register,
            registration.take_incarnation,
            registration.expire_session,
            registration.end_dead_session,
            registration.read_ids,
            faults.cut_off,
            faults.heal,
            faults.crash,
            faults.start,
            faults.request_shutdown,
        ),
        properties=(),
        constants={
            "records": 0,
            "late_fetches": 1,
            "max_silences": _ROOM,
            "max_crashes": _ROOM,
            "max_expiries": _ROOM,
            "max_failovers": _ROOM,
            "max_shutdowns": _ROOM,
        },
    )
]
