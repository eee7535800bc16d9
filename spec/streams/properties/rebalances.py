"""Rebalances: how many a perturbation takes (B1, B2), and that a wish for one brings one (L1)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.streams.design import Design
from spec.streams.state import Cluster
from spec.streams.types import Thread, ThreadState


@invariant(source="KIP-268, Detailed upgrade protocol (one more rebalance) (B1, B2)")
def rebalances_are_few(s: Cluster) -> bool:
    """No more rebalances complete after the last perturbation than the model allows."""
    return Design.rebalances == 0 or s.completed <= Design.rebalances


@transition_invariant(
    source="KIP-268, Detailed upgrade protocol (force an immediate second rebalance); KAFKA-10455 (L1)"
)
def a_wish_causes_a_rebalance(before: Cluster, after: Cluster) -> bool:
    """Who wants to rejoin is not answered with the generation that it is in."""
    return all(not before.threads[t].wants_to_rejoin or after.threads[t].state != ThreadState.JOINED for t in Thread)
