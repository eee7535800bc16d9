"""Invariants that only proofs ask for: what may be assumed of the state before a step."""

from __future__ import annotations

from checker.lang import invariant
from spec.pinning.state import Cluster, believes_in_office
from spec.pinning.types import Broker, ProcessState


@invariant(source="ZooKeeper, Sessions")
def sessions_are_of_one_process(s: Cluster) -> bool:
    """No two processes have one session, and one that is down has none."""
    return all(
        s.brokers[b].session is None
        or (
            s.brokers[b].state != ProcessState.DOWN
            and all(other == b or s.brokers[other].session != s.brokers[b].session for other in Broker)
        )
        for b in Broker
    )


@invariant(source="KIP-39, Handling the admin request (f)")
def only_office_has_an_epoch(s: Cluster) -> bool:
    """Who has an epoch believes to be in office; where /controller is its own, that epoch is the newest."""
    return all(s.brokers[b].epoch is None or believes_in_office(s.brokers[b]) for b in Broker)
