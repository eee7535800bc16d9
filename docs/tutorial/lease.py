"""A leader serves while its lease lasts. May the controller give the lease to another meanwhile?"""

from checker.lang import Identity, Option, Set, action, constants, init, invariant, require, state


@constants
class Design:
    broker_stops_first: bool = False
    "A leader's own timeout is the shorter one, so that it has stopped when the controller's runs out."


class Broker(Identity, size=2): ...


@state
class Cluster:
    lease: Option[Broker]  # what the controller knows
    serving: Set[Broker]  # who thinks to be the leader


@init
def start() -> Cluster:
    return Cluster(lease=None, serving=frozenset())


@action(who="controller", source="KIP-343, Controller-Side Heartbeat Timeout")
def grant(s: Cluster, broker: Broker) -> None:
    """Nobody holds the lease: the controller gives it to a broker."""
    require(s.lease is None)
    s.lease = broker


@action(who="broker {broker}", source="KIP-343, Broker State")
def start_serving(s: Cluster, broker: Broker) -> None:
    """The broker learns that it has the lease."""
    require(s.lease == broker)
    s.serving |= {broker}


@action(who="broker {broker}", source="KIP-343, Broker-Side Heartbeat Timeout")
def stop_serving(s: Cluster, broker: Broker) -> None:
    """The broker has not heard from the controller for too long."""
    require(broker in s.serving)
    s.serving -= {broker}


@action(who="controller", source="KIP-343, Controller-Side Heartbeat Timeout")
def expire(s: Cluster) -> None:
    """The controller has not heard from the broker for too long."""
    require(s.lease is not None)
    if Design.broker_stops_first:
        require(s.lease not in s.serving)
    s.lease = None


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout")
def one_leader_serves(s: Cluster) -> bool:
    """No two brokers serve as leader at once."""
    return len(s.serving) <= 1
