"""The office: epochs, writes, and who may delete /controller (P1, P3)."""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant
from spec.pinning.state import BrokerProcess, Cluster, Heard, believes_in_office
from spec.pinning.types import Broker, ControllerEpoch, ProcessState


@transition_invariant(source="KIP-39, Motivation; KAFKA-6082 (P1)")
def only_newest_epoch_writes(before: Cluster, after: Cluster) -> bool:
    """What is written to ZooKeeper was decided in the newest epoch that was issued."""
    return after.written == before.written or after.written == (before.epoch,)


@invariant(source="KIP-39, Motivation; KAFKA-1096 (P1)")
def epoch_has_one_controller(s: Cluster) -> bool:
    """No two brokers believe to be in office at one epoch, and none at an epoch that was not issued."""
    return all(
        is_issued(s, s.brokers[b].epoch)
        and all(
            other == b or s.brokers[b].epoch is None or s.brokers[other].epoch != s.brokers[b].epoch for other in Broker
        )
        for b in Broker
    )


def is_issued(s: Cluster, epoch: Option[ControllerEpoch]) -> bool:
    return epoch is None or epoch <= s.epoch


@invariant(source="KIP-39, Changes in the election code (c) (P1)")
def newest_epoch_is_of_the_owner(s: Cluster) -> bool:
    """Where there is a /controller, nobody else has the newest epoch."""
    office = s.controller
    return office is None or all(b == office.broker or s.brokers[b].epoch != s.epoch for b in Broker)


@transition_invariant(source="KIP-39, Motivation (P1)")
def former_controller_is_refused(before: Cluster, after: Cluster) -> bool:
    """No broker takes a request of a controller once it has heard of a later one."""
    return all(
        not is_older(after.brokers[broker].heard, before.brokers[broker].heard)
        for broker in Broker
        if after.brokers[broker].state == ProcessState.UP
    )


def is_older(heard: Heard, known: Heard) -> bool:
    return len(heard) > 0 and len(known) > 0 and heard[0] < known[0]


@transition_invariant(source="KIP-39, Handling the admin request (f) (P3)")
def resignation_deletes_own_office(before: Cluster, after: Cluster) -> bool:
    """Who leaves office deletes no /controller but its own."""
    return all(
        before.controller is None
        or before.controller.broker == broker
        or not leaves_office(before.brokers[broker], after.brokers[broker])
        or (after.controller is not None and after.controller.owner == before.controller.owner)
        for broker in Broker
    )


def leaves_office(before: BrokerProcess, after: BrokerProcess) -> bool:
    """It believed to be in office, and does so no more, although it runs on."""
    return believes_in_office(before) and not believes_in_office(after) and after.state == ProcessState.UP
