"""Lines of a partition's trace, in the steps of `kraft/recorded`, with what the metadata is behind each decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from impl.kraft.recorded.image import Image, Partition, Place, names, partition_state, registration_state
from impl.kraft.recorded.image import name as name_of
from traces.events import event_line

VOTER = {"voter": "controller0"}
ELECTION, REASSIGNMENT = "electLeaders", "alterPartitionReassignments"
_OF_A_PARTITION = ("cancel_reassignment", "reassign", "elect_preferred")


@dataclass
class Steps:
    """Of one partition. incarnations: by broker, the number of the process that is registered, by order of starts."""

    at: Place
    brokers: int
    image: Image = field(default_factory=Image)
    incarnations: dict[int, int] = field(default_factory=dict)

    @property
    def partition(self) -> Partition | None:
        return self.image.partitions.get(self.at)

    def decided(self, action: str, parameters: Mapping[str, Any] | None = None) -> str:
        """A decision, and the image behind it."""
        own = {"p": "partition0"} if action in _OF_A_PARTITION else {}
        return event_line(action, {**VOTER, **own, **(parameters or {})}, self._state())

    def of_partition(self, operation: str, before: Partition | None, isr: Sequence[int] | None) -> Iterator[str]:
        """A decision about the partition alone. isr: that its leader asked for, where that is known."""
        after = self.partition
        if before is None and after is not None:
            yield self.decided("create_topic_on", {"replicas": names(after.replicas)})
        elif before is not None and after is None:
            yield self.decided("delete_topic")
        elif before is None or after is None or after == before:
            return
        elif operation == REASSIGNMENT:
            is_cancelled = before.is_moving and not after.is_moving and after.replicas == before.original
            yield self.decided("cancel_reassignment" if is_cancelled else "reassign")
        elif operation == ELECTION:
            yield self.decided("elect_preferred")
        else:
            yield from self.alter_isr(before.leader, isr)

    def alter_isr(self, leader: int, isr: Sequence[int] | None) -> Iterator[str]:
        """A leader's request, and what was decided on it, be it nothing."""
        asked = {} if isr is None else {"isr": names(sorted(isr))}
        yield event_line("ask_for_isr", {"leader": name_of(leader), "p": "partition0", **asked})
        yield self.decided("handle_alter_isr")

    def _state(self) -> dict[str, Any]:
        registrations = {
            name_of(broker): registration_state(
                self.image.registrations.get(broker), self.incarnations.get(broker, -1)
            )
            for broker in range(self.brokers)
        }  # fmt: skip
        partitions = {"partition0": partition_state(self.partition)}
        return {"controllers": {"controller0": {"image": {"registrations": registrations, "partitions": partitions}}}}
