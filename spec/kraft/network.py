"""What the network does to messages: it loses them, and delivers a copy late.

Every message may overtake every other, since any one under way may be the next to be handled. Loss is not
bounded: what is lost is asked again. Copies are bounded by the budget.
Leaves out: copies of replies (a reply without its request's connection goes nowhere).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, action, require
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, AlterMessage, Heartbeat, LifecycleMessage, Register
from spec.kraft.state import Cluster

AnyLifecycle = Annotated[LifecycleMessage, MemberOf("lifecycle")]
AnyAlter = Annotated[AlterMessage, MemberOf("alterations")]


@action(who="network", source="KIP-631, Broker Registration (the response is lost)")
def lose_lifecycle(s: Cluster, lost: AnyLifecycle) -> None:
    """A registration, a heartbeat or a reply to one is lost."""
    s.lifecycle = s.lifecycle.remove(lost)


@action(who="network", source="KIP-497")
def lose_alter(s: Cluster, lost: AnyAlter) -> None:
    """An AlterIsr request or its reply is lost."""
    s.alterations = s.alterations.remove(lost)


@action(who="network", source="KIP-631, Broker Registration (re-send the registration RPC)")
def duplicate_lifecycle(s: Cluster, request: AnyLifecycle) -> None:
    """A broker gives a request up for lost and sends it again, but the first copy is still under way."""
    require(isinstance(request, (Register, Heartbeat)))
    require(s.faults.duplicates < Design.max_duplicates)
    s.lifecycle = s.lifecycle.add(request)
    s.faults.duplicates += 1


@action(who="network", source="KIP-497")
def duplicate_alter(s: Cluster, request: AnyAlter) -> None:
    """A leader gives a request up for lost and sends it again, but the first copy is still under way."""
    require(isinstance(request, AlterIsr))
    require(s.faults.duplicates < Design.max_duplicates)
    s.alterations = s.alterations.add(request)
    s.faults.duplicates += 1
