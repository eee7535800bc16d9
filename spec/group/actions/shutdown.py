"""A consumer is shut down: it leaves at a ping (11)."""

from __future__ import annotations

from checker.lang import action, require
from spec.group.design import Design
from spec.group.state import Cluster
from spec.group.types import Consumer, ConsumerState


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (handlePingRequest 1)")
def terminate(s: Cluster, consumer: Consumer) -> None:
    """SIGTERM: a consumer that has joined stops consuming, and leaves at a ping."""
    require(s.consumers[consumer].state == ConsumerState.JOINED and s.faults.shutdowns < Design.max_shutdowns)
    s.faults.shutdowns += 1
    s.consumers[consumer].state = ConsumerState.SHUTTING_DOWN
