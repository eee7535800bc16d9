"""Invariants that only proofs ask for: what may be assumed of the state before a step."""

from __future__ import annotations

from checker.lang import invariant
from spec.group.design import Design
from spec.group.messages import Ping, PingAnswer
from spec.group.state import Cluster
from spec.group.types import Consumer, Partition, number


@invariant(source="Consumer Coordinator, 2 (it is not possible to reduce the number of partitions)")
def partitions_stay(s: Cluster) -> bool:
    """A partition that is there at the start is there."""
    return all(p in s.zookeeper.partitions for p in Partition if number(p) < Design.partitions - Design.new_partitions)


@invariant(source="Consumer Coordinator, 11 (Handling PingRequest)")
def only_pings_are_answered(s: Cluster) -> bool:
    """Without pings, no ping and no answer to one is under way."""
    return Design.pings == 1 or all(
        not any(isinstance(r, Ping) for r in s.channels[c].requests)
        and not any(isinstance(r, PingAnswer) for r in s.channels[c].responses)
        for c in Consumer
    )
