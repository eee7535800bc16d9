"""States that a model must be able to reach; where it cannot, its properties hold vacuously."""

from __future__ import annotations

from checker.lang import witness
from spec.pinning.decisions.office import is_coming
from spec.pinning.design import Design
from spec.pinning.state import Cluster, believes_in_office, is_in_office, is_target, owns_office, owns_ready, runs
from spec.pinning.types import Broker, Path, Phase, ProcessState, is_legacy, is_preferred
from spec.zookeeper.tree import CREATED
from spec.zookeeper.watches import is_next


@witness
def handed_over(s: Cluster) -> bool:
    """The target of the only request is in office, and broker 0, which was, runs on."""
    return (
        s.faults.requests > 0
        and s.wanted is None
        and not is_in_office(s, Broker(0))
        and runs(s.brokers[Broker(0)])
        and any(is_in_office(s, broker) for broker in Broker)
    )


def target_died(s: Cluster) -> bool:
    """Nobody is in office, and the target of an unserved request is dead."""
    return s.controller is None and any(
        s.wanted == broker and s.brokers[broker].state == ProcessState.DOWN for broker in Broker
    )


def abstain_for_dead(s: Cluster) -> bool:
    return any(
        s.brokers[b].phase == Phase.ABSTAINS
        and any(s.brokers[b].waits_for == dead and s.brokers[dead].state == ProcessState.DOWN for dead in Broker)
        for b in Broker
    )


def run_unaware(s: Cluster) -> bool:
    return any(
        runs(s.brokers[b]) and s.brokers[b].phase == Phase.PULLED and s.brokers[b].waits_for is None for b in Broker
    )


@witness
def case_1(s: Cluster) -> bool:
    """Case I of the document: the target has died, and none of the others abstains; one runs by chance."""
    return target_died(s) and run_unaware(s) and not abstain_for_dead(s)


@witness
def case_2(s: Cluster) -> bool:
    """Case II of the document: the target has died, and all others that run abstain for it."""
    return (
        target_died(s)
        and abstain_for_dead(s)
        and all(s.brokers[b].phase == Phase.ABSTAINS for b in Broker if runs(s.brokers[b]))
    )


@witness
def case_3(s: Cluster) -> bool:
    """Case III of the document: the target has died, some abstain for it and others run."""
    return target_died(s) and abstain_for_dead(s) and run_unaware(s)


@witness
def abstainer_must_run(s: Cluster) -> bool:
    """Whoever runs abstains, and nobody that is waited for comes."""
    return any(runs(s.brokers[b]) for b in Broker) and all(
        not runs(s.brokers[b]) or (s.brokers[b].phase == Phase.ABSTAINS and not is_coming(s, b)) for b in Broker
    )


@witness
def request_replaced_under_way(s: Cluster) -> bool:
    """`ready` is of a request that another has replaced."""
    return s.ready is not None and s.next_controller is not None and s.ready.request != s.next_controller.request


@witness
def zombie(s: Cluster) -> bool:
    """A broker believes to be in office, with a decision to write, while another is elected."""
    return any(
        s.brokers[b].phase == Phase.IN_OFFICE
        and runs(s.brokers[b])
        and len(s.brokers[b].decided) > 0
        and s.controller is not None
        and not owns_office(s, b)
        for b in Broker
    )


@witness
def zombie_heard_of_newer(s: Cluster) -> bool:
    """A broker believes to be in office while another has taken a request of a later controller."""
    return any(
        s.brokers[b].phase == Phase.IN_OFFICE and any(is_deposed_by(s, b, other) for other in Broker) for b in Broker
    )


def is_deposed_by(s: Cluster, broker: Broker, other: Broker) -> bool:
    heard, epoch = s.brokers[other].heard, s.brokers[broker].epoch
    return len(heard) > 0 and epoch is not None and heard[0] > epoch


@witness
def legacy_in_office_while_ready_stands(s: Cluster) -> bool:
    """A legacy broker is in office, and `ready` names another: it will never resign."""
    return s.ready is not None and any(is_legacy(b) and is_in_office(s, b) for b in Broker)


@witness
def request_given_up(s: Cluster) -> bool:
    """A request is gone, its target hangs, and nobody wants it any more."""
    return (
        s.faults.requests > 0
        and s.next_controller is None
        and s.ready is not None
        and any(s.ready.broker == b and s.brokers[b].state == ProcessState.HUNG for b in Broker)
    )


@witness
def target_failed_in_office(s: Cluster) -> bool:
    """A request was served, its target failed on taking office, and another is in office."""
    return (
        s.faults.requests > 0
        and s.faults.deletions == 0
        and s.next_controller is None
        and len(s.unable) > 0
        and any(is_in_office(s, b) for b in Broker)
        and not is_in_office(s, Broker(0))
    )


@witness
def office_unknown(s: Cluster) -> bool:
    """A broker owns /controller, and does not know it: the reply was lost."""
    return any(owns_office(s, b) and not believes_in_office(s.brokers[b]) for b in Broker)


@witness
def takeover_unknown(s: Cluster) -> bool:
    """A target has taken the office over and does not know it, since the reply was lost; nor does who held it until
    then."""
    return any(owns_office(s, b) and not believes_in_office(s.brokers[b]) for b in Broker) and any(
        s.brokers[b].phase == Phase.IN_OFFICE for b in Broker
    )


@witness
def resignation_unknown(s: Cluster) -> bool:
    """A broker has deleted its /controller, and does not know it: the reply was lost."""
    return (
        s.faults.lost_replies > 0
        and s.controller is None
        and any(s.brokers[b].phase == Phase.IN_OFFICE and is_next(s.brokers[b].events, Path.READY) for b in Broker)
    )


@witness
def ready_unknown(s: Cluster) -> bool:
    """A target has set `ready` for the first request, and does not know it: that reply was lost, since the office has
    not moved."""
    standing, ready = s.next_controller, s.ready
    return (
        s.faults.lost_replies > 0
        and s.faults.requests == 1
        and s.controller is not None
        and standing is not None
        and ready is not None
        and standing.request == ready.request
        and any(owns_ready(s, b) and is_target(s, b) and is_next(s.brokers[b].events, Path.NEXT) for b in Broker)
    )


@witness
def request_missed(s: Cluster) -> bool:
    """A request that replaced another asks for the controller, which was elected for the other: it has read no later
    one."""
    standing = s.next_controller
    return standing is not None and standing.version > CREATED and any(elected_without(s, b) for b in Broker)


def elected_without(s: Cluster, broker: Broker) -> bool:
    return broker != Broker(0) and is_target(s, broker) and owns_office(s, broker)


@witness
def request_taken(s: Cluster) -> bool:
    """A broker has taken a request of a later controller, which is in office."""
    return any(
        is_in_office(s, b) and b != Broker(0) and s.brokers[b].epoch == heard
        for b in Broker
        for other in Broker
        for heard in s.brokers[other].heard
        if other != b
    )


@witness
def outsider_in_office(s: Cluster) -> bool:
    """A broker outside the preferred set is in office."""
    return any(is_in_office(s, b) and not is_preferred(b) for b in Broker)


@witness
def outsider_waited_in_vain(s: Cluster) -> bool:
    """A broker outside the preferred set is in office though a member is there: it had waited for that one too long."""
    return len(s.members) > 0 and any(
        is_in_office(s, b) and not is_preferred(b) and Path.PREFERRED not in s.brokers[b].events for b in Broker
    )


@witness
def rolled(s: Cluster) -> bool:
    """Every broker was restarted, and somebody is in office."""
    return s.faults.restarts == Design.max_restarts and any(is_in_office(s, b) for b in Broker)
