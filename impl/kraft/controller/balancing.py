"""Elections that nobody asks for, from time to time: of preferred leaders, and of unclean ones where none is left.

For `auto.leader.rebalance.enable` all partitions are looked at, however many are led as they should be. How unequal
brokers are does not count, as in Kafka (ReplicationControlManager.maybeBalancePartitionLeaders). Unclean elections are
held at once where a change leaves a partition without a leader, so that looked for later are those of topics that were
allowed them since (ReplicationControlManager.maybeElectUncleanLeaders).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from impl.kraft.controller.partitions import change, in_order
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.image import Image
from impl.kraft.records import Record

MOST_ELECTIONS = 1_000
"""Of one decision (ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE)."""


class Elected(NamedTuple):
    """records: of the elections. is_done: no more are to be held."""

    records: tuple[Record, ...]
    is_done: bool


def balanced(image: Image, settings: ControllerSettings, most: int = MOST_ELECTIONS) -> Elected:
    """Elects preferred leaders that are in the ISR, active, and do not lead."""
    records, elections = list[Record](), 0
    for key, partition in image.partitions.items():
        preferred = partition.replicas[0]
        if partition.leader == preferred or preferred not in partition.isr:
            continue
        if not image.may_lead(preferred, partition):
            continue
        if elections == most:
            return Elected(tuple(records), is_done=False)
        records += change(image, settings, key, replace(partition, leader=preferred), image.is_active)
        elections += 1
    return Elected(tuple(records), is_done=True)


def elected_uncleanly(image: Image, settings: ControllerSettings, most: int = MOST_ELECTIONS) -> Elected:
    """Elects leaders of partitions without one, of topics that allow unclean elections."""
    records, elections = list[Record](), 0
    for key in in_order(image.leaderless):
        if not image.allows_unclean_election(key[0], settings.unclean_election):
            continue
        if elections == most:
            return Elected(tuple(records), is_done=False)
        found = change(image, settings, key, image.partitions[key], image.is_active)
        records += found
        elections += len(found)
    return Elected(tuple(records), is_done=True)
