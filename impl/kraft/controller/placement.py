"""Placement of the replicas of a new topic. KIP-631, The Three Cluster Membership States; KIP-36.

The replicas of a partition are spread over the racks evenly; brokers without a rack are a rack of their own. Fenced
brokers get replicas, too, for they are expected back; but within a rack the active ones come first, and the first
replica, which is to lead, is active. From partition to partition the lead goes round the racks, and round the brokers
of each, and the other replicas shift, so that the leaderships of one broker do not all fall to the same other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from impl.kraft.image import Image


@dataclass(slots=True)
class Rack:
    """The brokers of a rack, by id. Those that are fenced or shutting down are inactive."""

    active: list[int] = field(default_factory=list)
    inactive: list[int] = field(default_factory=list)

    def brokers(self, turn: int) -> Iterator[int]:
        """All of them, the active ones first."""
        yield from in_turn(self.active, turn)
        yield from in_turn(self.inactive, turn)


def in_turn(items: list[int], turn: int) -> Iterator[int]:
    """All items. Each is the first in its turn; once all were, the others have shifted by one."""
    first, round_ = turn % max(len(items), 1), turn // max(len(items), 1)
    yield from items[first : first + 1]
    others = len(items) - 1
    for place in range(others):
        yield items[(first + 1 + (round_ + place) % others) % len(items)]


def racks_of(image: Image) -> list[Rack]:
    """The racks of the registered brokers, by name."""
    racks: dict[str, Rack] = {}
    for broker_id, registration in sorted(image.registrations.items()):
        rack = racks.setdefault(registration.rack or "", Rack())
        (rack.active if registration.is_active else rack.inactive).append(broker_id)
    return [rack for _, rack in sorted(racks.items())]


def place(image: Image, num_partitions: int, replication_factor: int, start: int) -> tuple[tuple[int, ...], ...]:
    """The replicas of each partition, preferred leader first. start: any number; another one begins elsewhere.

    At least one broker must be active, and as many registered as a partition has replicas.
    """
    racks = racks_of(image)
    return tuple(
        place_partition(racks, replication_factor, start + partition_id) for partition_id in range(num_partitions)
    )


def place_partition(racks: list[Rack], replication_factor: int, turn: int) -> tuple[int, ...]:
    """The replicas of one partition: one of each rack in turn, from the first rack on that has an active broker."""
    racks = rotated(racks, turn)
    racks = rotated(racks, next(place for place, rack in enumerate(racks) if rack.active))
    size = sum(len(rack.active) + len(rack.inactive) for rack in racks)
    rings = [rack.brokers(turn // len(racks) + place * (turn // size)) for place, rack in enumerate(racks)]
    spread = (broker_id for row in zip_longest(*rings) for broker_id in row if broker_id is not None)
    return tuple(islice(spread, replication_factor))


def rotated(racks: list[Rack], turn: int) -> list[Rack]:
    first = turn % len(racks)
    return racks[first:] + racks[:first]
