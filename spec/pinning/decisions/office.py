"""The office: when a controller resigns, what an election leaves of a request, whether who is waited for may come."""

from __future__ import annotations

from checker.lang import Option, replace
from spec.pinning.design import Design
from spec.pinning.state import (
    Asked,
    BrokerProcess,
    Cluster,
    NextController,
    Ready,
    believes_in_office,
    owns_ready,
    runs,
)
from spec.pinning.types import Broker, Path, Phase, is_legacy


def must_hand_over(s: Cluster, broker: Broker) -> bool:
    """A controller that hears of `ready` resigns."""
    if s.ready is None:
        return not Design.resigns_for_other
    if Design.resigns_for_other and s.ready.broker == broker:
        return False
    if not Design.request_checked:
        return True
    standing = s.next_controller
    return standing is not None and standing.target == s.ready.broker and standing.request == s.ready.request


def is_coming(s: Cluster, broker: Broker) -> bool:
    """A broker has a step to take that may lead it into office: who waits for it waits a little longer."""
    process = s.brokers[broker]
    return runs(process) and (
        believes_in_office(process)
        or process.phase == Phase.LAPSED
        or (process.phase == Phase.PULLED and process.waits_for is None)
        or Path.CONTROLLER in process.events
        or Path.READY in process.events
    )


def request_after_election(s: Cluster, broker: Broker, missed: bool) -> Option[NextController]:
    """The request that stands once a broker is elected: its own is served, and one that it lapsed from is given up.

    A legacy broker knows of none. missed: the request came after the broker had read `next` for its multi.
    """
    standing = s.next_controller
    if standing is None or not Design.request_consumed or missed or is_legacy(broker):
        return standing
    process = s.brokers[broker]
    if standing.target == broker:
        return None if Design.office_failure_spends else standing
    return None if process.phase == Phase.LAPSED and process.waits_for == standing.target else standing


def ready_after_election(s: Cluster, broker: Broker) -> Option[Ready]:
    """`ready` once a broker is elected: its own goes with its request."""
    spent = Design.request_consumed and Design.office_failure_spends
    return None if spent and owns_ready(s, broker) else s.ready


def wanted_after_election(s: Cluster, broker: Broker, missed: bool) -> Option[Broker]:
    """Whom an operator still wants in office, once a broker is elected. What it missed is yet to be served."""
    if missed:
        return s.wanted
    standing = s.next_controller
    given_up = (
        standing is not None and request_after_election(s, broker, missed) is None and s.wanted == standing.target
    )
    return None if s.wanted == broker or given_up else s.wanted


def asked_after_election(asked: Asked, broker: Broker) -> Asked:
    """The newest request, once a broker is elected."""
    return replace(asked, served=asked.served or asked.target == broker)


def out_of_office(process: BrokerProcess) -> BrokerProcess:
    """A broker that has left office, and has forgotten its state."""
    return replace(
        process,
        phase=Phase.WATCHING,
        epoch=None,
        decided=() if Design.clears_state_on_resign else process.decided,
    )
