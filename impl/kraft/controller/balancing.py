"""Leads that go back to preferred leaders by themselves, as in Kafka (`auto.leader.rebalance.enable`).

All partitions are looked at, however many are led as they should be. How unequal brokers are does not count, as in
Kafka (ReplicationControlManager.maybeBalancePartitionLeaders).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from impl.kraft.controller.partitions import change
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.image import Image
from impl.kraft.records import Record

MOST_ELECTIONS = 1_000
"""Of one decision (ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE)."""


class Balanced(NamedTuple):
    """records: of the elections. is_done: no more are to be held."""

    records: tuple[Record, ...]
    is_done: bool


def balanced(image: Image, settings: ControllerSettings, most: int = MOST_ELECTIONS) -> Balanced:
    """Elects preferred leaders that are in the ISR, active, and do not lead."""
    records, elections = list[Record](), 0
    for key, partition in image.partitions.items():
        preferred = partition.replicas[0]
        if partition.leader == preferred or preferred not in partition.isr:
            continue
        if not image.may_lead(preferred, partition):
            continue
        if elections == most:
            return Balanced(tuple(records), is_done=False)
        records += change(image, settings, key, replace(partition, leader=preferred), image.is_active)
        elections += 1
    return Balanced(tuple(records), is_done=True)
