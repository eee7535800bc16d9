"""Leads go back to preferred leaders that may have them, so many at a time, as often as the setting says."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.controller.balancing import balanced
from impl.kraft.effects import Append, SetTimer
from impl.kraft.image import Image
from impl.kraft.records import Batch, PartitionRecord, Record, RegisterBrokerRecord, TopicRecord

TOPIC = UUID(int=1)
INTERVAL_MS = 300_000
SETTINGS = ControllerSettings("c", leader_imbalance_check_interval_ms=INTERVAL_MS)


def partition(number: int, leader: int, isr: tuple[int, ...] = (1, 2, 3), first: int = 1) -> PartitionRecord:
    replicas = (first, *(one for one in (1, 2, 3) if one != first))
    return PartitionRecord(number, TOPIC, replicas, isr, leader=leader)


def cluster(*partitions: PartitionRecord, fenced: int = 3) -> tuple[Record, ...]:
    """Three brokers, of which one is fenced, and a topic."""
    brokers = (RegisterBrokerRecord(one, UUID(int=one), one, fenced=one == fenced) for one in (1, 2, 3))
    return (*brokers, TopicRecord("orders", TOPIC), *partitions)


def image_of(records: tuple[Record, ...]) -> Image:
    image = Image()
    for record in records:
        image.replay_record(record)
    return image


def leaders(image: Image) -> list[int]:
    return [one.leader for _, one in image.of_topic(TOPIC)]


PARTITIONS = (
    partition(0, leader=2),
    partition(1, leader=1),
    partition(2, leader=2, isr=(2, 3)),  # the preferred one is behind
    partition(3, leader=2, first=3),  # the preferred one is fenced
    partition(4, leader=2),
)


def test_who_may_lead_again_does() -> None:
    image = image_of(cluster(*PARTITIONS))
    found = balanced(image, SETTINGS)
    for record in found.records:
        image.replay_record(record)
    assert found.is_done and leaders(image) == [1, 1, 2, 2, 1]
    assert balanced(image, SETTINGS) == ((), True)


def test_one_decision_holds_so_many_elections() -> None:
    image = image_of(cluster(*PARTITIONS))
    found = balanced(image, SETTINGS, most=1)
    assert len(found.records) == 1 and not found.is_done


def claimed(settings: ControllerSettings) -> tuple[Controller, list[SetTimer]]:
    """A controller that leads at 0 ms, and the timers that it has set."""
    controller = Controller(settings)
    controller.replay(Batch(0, 0, cluster(*PARTITIONS)))
    return controller, [one for one in controller.claim(1, 0) if isinstance(one, SetTimer)]


def test_a_controller_looks_as_often_as_it_is_told() -> None:
    controller, timers = claimed(SETTINGS)
    assert SetTimer(("balance",), INTERVAL_MS) in timers
    append, again = controller.on_timer(("balance",), INTERVAL_MS)
    assert isinstance(append, Append) and leaders(controller.speculative) == [1, 1, 2, 2, 1]
    assert again == SetTimer(("balance",), 2 * INTERVAL_MS)
    assert controller.on_timer(("balance",), 2 * INTERVAL_MS) == [SetTimer(("balance",), 3 * INTERVAL_MS)]


def test_without_an_interval_it_never_looks() -> None:
    _, timers = claimed(ControllerSettings("c"))
    assert not any(one.timer == ("balance",) for one in timers)
