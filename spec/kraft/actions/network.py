"""Faults of the network: it loses requests and replies, and delivers a second copy of a request late.

Any request under way may be the next to be handled, so each may overtake each other. Loss is not bounded: what is lost
is asked again, and so is what a controller refuses that is not active. Copies are bounded by the budget, and there is
room for every one of them.
Leaves out: copies of replies, which a connection cannot deliver twice.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, action, replace, require, require_some
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, Heartbeat, LifecycleRequest, Register
from spec.kraft.processes import at_once
from spec.kraft.state import Cluster
from spec.kraft.types import Process, Role, TopicPartition, Voter

SentRegister = Annotated[Register, MemberOf("lifecycle")]
SentHeartbeat = Annotated[Heartbeat, MemberOf("lifecycle")]
SentLifecycle = Annotated[LifecycleRequest, MemberOf("lifecycle")]
SentAlterIsr = Annotated[AlterIsr, MemberOf("alterations")]


@action(who="network", source="KIP-631, Broker Registration; Broker Leases")
def lose_lifecycle_request(s: Cluster, request: SentLifecycle) -> None:
    """A registration or heartbeat is lost."""
    s.lifecycle = s.lifecycle.remove(request)


@action(who="network", source="KIP-631, Broker Registration (the response to the registration request is lost)")
def lose_lifecycle_reply(s: Cluster, process: Process) -> None:
    """The reply to a registration or heartbeat is lost."""
    broker = s.processes[process]
    require(broker.reply is not None)
    broker.reply = None
    broker.deferral = at_once()


@action(who="network", source="KIP-497")
def lose_alter_isr(s: Cluster, request: SentAlterIsr) -> None:
    """An AlterIsr request is lost."""
    s.alterations = s.alterations.remove(request)


@action(who="network", source="KIP-497")
def lose_alter_isr_reply(s: Cluster, leader: Process, p: TopicPartition) -> None:
    """The reply to an AlterIsr request is lost."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    require(leadership.reply is not None)
    leadership.reply = None
    replica.deferral = at_once()


@action(
    who="controller {voter}",
    source="KIP-631, Controller Failover",
    kafka="QuorumController.ControllerWriteEvent.run",
    deviates="NOT_CONTROLLER is part of the step; upon it a broker looks for the active controller and sends again",
)
def refuse_lifecycle_request(s: Cluster, voter: Voter, request: SentLifecycle) -> None:
    """A controller that is not active refuses a registration or heartbeat."""
    require(request.to == voter and s.controllers[voter].role != Role.ACTIVE)
    s.lifecycle = s.lifecycle.remove(request)


@action(
    who="controller {voter}",
    source="KIP-631, Controller Failover",
    kafka="QuorumController.ControllerWriteEvent.run",
    deviates="NOT_CONTROLLER is part of the step; upon it a leader keeps what it has asked for, and sends again",
)
def refuse_alter_isr(s: Cluster, voter: Voter, request: SentAlterIsr) -> None:
    """A controller that is not active refuses an AlterIsr request."""
    require(request.to == voter and s.controllers[voter].role != Role.ACTIVE)
    s.alterations = s.alterations.remove(request)


@action(who="network", source="KIP-631, Broker Registration (the broker re-sends the registration RPC)")
def copy_registration(s: Cluster, request: SentRegister) -> None:
    """A broker gives a connection up and sends its registration again, but the first copy is still under way."""
    require(isinstance(request, Register))
    require(not request.late and s.faults.duplicates < Design.max_duplicates)
    s.lifecycle = s.lifecycle.add(replace(request, late=True))
    s.faults.duplicates += 1


@action(who="network", source="KIP-631, Broker Leases")
def copy_heartbeat(s: Cluster, request: SentHeartbeat) -> None:
    """A broker gives a connection up and sends its heartbeat again, but the first copy is still under way."""
    require(isinstance(request, Heartbeat))
    require(not request.late and s.faults.duplicates < Design.max_duplicates)
    s.lifecycle = s.lifecycle.add(replace(request, late=True))
    s.faults.duplicates += 1


@action(who="network", source="KIP-497")
def copy_alter_isr(s: Cluster, request: SentAlterIsr) -> None:
    """A leader gives a connection up and sends its request again, but the first copy is still under way."""
    require(not request.late and s.faults.duplicates < Design.max_duplicates)
    s.alterations = s.alterations.add(replace(request, late=True))
    s.faults.duplicates += 1
