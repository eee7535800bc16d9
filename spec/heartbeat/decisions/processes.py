"""Broker processes: what is left of one that stops, and what it takes from a control request."""

from __future__ import annotations

from checker.lang import Map, Option, Set, replace
from spec.heartbeat.state import BrokerProcess, PartitionState
from spec.heartbeat.types import Broker, BrokerState, Controller, Incarnation


def nobody_seen() -> Map[Broker, Option[Incarnation]]:
    """No follower has been seen."""
    return Map({b: None for b in Broker})


def stopped(process: BrokerProcess) -> BrokerProcess:
    """A process that has stopped: its disk is left, and an IsrChange that is under way."""
    return replace(
        process,
        up=False,
        owned=None,
        incarnation=None,
        fenced=False,
        leased_by=Controller(0),
        target=BrokerState.ACTIVE,
        heartbeat=None,
        reply=None,
        controller=Controller(0),
        controller_epoch=None,
        leader_epoch=None,
        leads=False,
        isr=frozenset(),
        version=None,
        proposed=frozenset(),
        isr_reply=None,
        followers=nobody_seen(),
        caught_up=frozenset(),
        in_hand=False,
    )


def informed(process: BrokerProcess, broker: Broker, partition: PartitionState) -> BrokerProcess:
    """A process that has been sent the partition state: with a newer leader epoch it begins, or ceases, to lead."""
    leads = partition.leader == broker
    if process.leader_epoch is not None and process.leader_epoch > partition.leader_epoch:
        return replace(process)
    if process.leader_epoch == partition.leader_epoch and not leads:
        return replace(process)
    begins = process.leader_epoch != partition.leader_epoch
    newer = begins or (process.version is not None and process.version < partition.version)
    return replace(
        process,
        leader_epoch=partition.leader_epoch,
        leads=leads,
        isr=(partition.isr if newer else process.isr) if leads else frozenset(),
        version=(partition.version if newer else process.version) if leads else None,
        proposed=frozenset() if newer or not leads else process.proposed,
        isr_reply=None if newer or not leads else process.isr_reply,
        followers=nobody_seen() if begins or not leads else process.followers,
        caught_up=frozenset() if begins or not leads else process.caught_up,
        in_hand=process.in_hand and leads and not begins,
    )


def goes_to(process: BrokerProcess, controller: Controller) -> BrokerProcess:
    """A process that takes a controller for the active one: what it had sent to another it sends again."""
    same = process.controller == controller
    return replace(
        process,
        controller=controller,
        heartbeat=process.heartbeat if same else None,
        change=process.change if same else None,
    )


def maximal_isr(process: BrokerProcess) -> Set[Broker]:
    """The ISR that a leader has to reckon with: as it knows it, and as it has asked for."""
    return process.isr | process.proposed
