"""Leases: whose heartbeat counts, who is silent, and when a controller may take a lease for over.

Without clocks, a controller's timer has run out no earlier than those of the processes that it covers. That is what
`broker_fences_first` and `lease_from_sending` are for; a lease of a former controller is covered where the successor
begins each lease anew.
"""

from __future__ import annotations

from checker.lang import Option
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, ControllerProcess, is_counted, is_legacy
from spec.heartbeat.types import Broker, Controller, Incarnation, Process, Software, broker_id


def handles_heartbeats(controller: ControllerProcess) -> bool:
    """Its software handles heartbeats."""
    if controller.software == Software.NEW_CODE:
        return Design.handles_any_ibp
    return controller.software == Software.HEARTBEATS


def lives_by_its_znode(controller: ControllerProcess, broker: Broker) -> bool:
    """A legacy broker, or any where there are no heartbeats: active while its znode is there."""
    return not Design.heartbeats or broker in controller.legacy


def can_read(s: Cluster, controller: Controller) -> bool:
    """A fresh read of ZooKeeper succeeds, where the design asks for one: the controller's session lives."""
    return not Design.checks_registration or s.office == controller


def is_valid(s: Cluster, controller: Controller, broker: Broker, incarnation: Incarnation) -> bool:
    """A heartbeat of this incarnation counts: it is not lower than the one that the controller goes by."""
    known = s.controllers[controller].known[broker]
    registration = s.ids[broker]
    if Design.checks_registration and (registration is None or registration.czxid != incarnation):
        return False
    return known is None or known <= incarnation


def is_contact(s: Cluster, controller: Controller, process: Process) -> bool:
    """Heartbeats of a process reach a controller, and renew the lease of the incarnation that it goes by."""
    incarnation = s.processes[process].incarnation
    known = s.controllers[controller].known[broker_id(process)]
    return (
        s.processes[process].up
        and process not in s.cut
        and incarnation is not None
        and (known == incarnation or not Design.supersedes_after_lease)
        and s.processes[process].controller == controller
        and s.controllers[controller].epoch is not None
        and handles_heartbeats(s.controllers[controller])
        and can_read(s, controller)
        and is_valid(s, controller, broker_id(process), incarnation)
    )


def is_silent(s: Cluster, controller: Controller, broker: Broker) -> bool:
    """No heartbeat renews a broker's lease with a controller."""
    return not any(broker_id(p) == broker and is_contact(s, controller, p) for p in Process)


def is_over(s: Cluster, controller: Controller, broker: Broker) -> bool:
    """A lease that nothing renews may be over: the processes that it covers have fenced themselves before."""
    return not Design.broker_fences_first or not any(
        broker_id(p) == broker
        and s.processes[p].up
        and not s.processes[p].fenced
        and not is_legacy(s.processes[p])
        and s.processes[p].leased_by == controller
        for p in Process
    )


def has_to_wait(s: Cluster, controller: Controller, broker: Broker, incarnation: Option[Incarnation]) -> bool:
    """A higher incarnation has to wait: the lower one is not out of everything yet."""
    own = s.controllers[controller]
    known = own.known[broker]
    lower = known is not None and known != incarnation and is_counted(own.states[broker])
    return Design.supersedes_after_lease and lower and not lives_by_its_znode(own, broker)
