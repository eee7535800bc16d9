"""The lease whose holder stops first, with the lemma that its proof needs."""

from __future__ import annotations

from lease import Cluster, expire, grant, one_leader_serves, start, start_serving, stop_serving

from checker.lang import Model, invariant


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout")
def who_serves_has_the_lease(s: Cluster) -> bool:
    """A broker serves only while the lease is its own."""
    return all(broker == s.lease for broker in s.serving)


MODELS = [
    Model(
        name="proved_lease",
        doc="A leader stops before its lease runs out, whatever happens.",
        init=start,
        actions=[grant, start_serving, stop_serving, expire],
        properties=[one_leader_serves],
        lemmas=[who_serves_has_the_lease],
        constants={"broker_stops_first": True},
    ),
]
