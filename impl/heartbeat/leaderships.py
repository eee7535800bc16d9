"""The leaderships that follow from the states of the brokers, as a controller writes them.

A change of a broker's state is followed by the writes that it asks for before anything else is handled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from impl.heartbeat.control import Control
from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Timer
from impl.heartbeat.partitions import Partitions
from impl.heartbeat.registry import Registry
from impl.heartbeat.scripts import Context, Script
from impl.zookeeper.election import Office

_MOVES_AT_ONCE = 100
_RETRY_MS = 100


class Leaderships:
    """The leaderships of one controller. unsettled: brokers whose partitions are to be looked at."""

    def __init__(
        self, context: Context, design: Design, registry: Registry, partitions: Partitions, control: Control
    ) -> None:
        self.context = context
        self.design = design
        self.registry = registry
        self.partitions = partitions
        self.control = control
        self.unsettled = set[int]()

    def look_at(self, brokers: Iterable[int]) -> None:
        """The state of these brokers is another one, or what is written of their partitions may be."""
        self.unsettled.update(brokers)

    def asks_for_writes(self, broker: int) -> bool:
        """Some partition of a broker is not as it is to be."""
        return any(self.partitions.wanted(of) is not None for of in self.partitions.of_broker(broker))

    def settle(self, office: Office) -> Script[bool]:
        """Write what is asked for, until it is there. Returns whether another controller was elected."""
        looked_at, self.unsettled = self.unsettled, set()
        candidates = {of for broker in looked_at for of in self.partitions.of_broker(broker)}
        while True:
            states = {of: state for of in sorted(candidates) if (state := self.partitions.wanted(of)) is not None}
            if not states:
                return False
            written = yield from self.partitions.write(office, states)
            self._written(written.done, "brokers' states")
            if written.is_deposed:
                return True
            candidates = set(written.conflicts)
            if candidates and not self.design.rereads_on_bad_version:
                self.unsettled |= looked_at
                self.context.set_timer(Timer.MOVE_LEADERS, self.context.now_ms + _RETRY_MS)
                return False
            yield from self.reread(candidates)

    def can_move(self) -> bool:
        """A broker that is stopping leads something that another can lead."""
        stopping = self.registry.stopping
        return any(
            self.partitions.wanted(of, moves_from=stopping) for one in stopping for of in self.partitions.led_by(one)
        )

    def stuck_at(self, broker: int) -> list[TopicPartition]:
        """What a broker leads and no other replica can, as far as is known; legacy leaders write ISRs."""
        return [
            of
            for of in self.partitions.led_by(broker)
            if len(self.partitions.known[of].replicas) > 1 and not self.partitions.wanted(of, moves_from=(broker,))
        ]

    def move_from(self, office: Office, stopping: Collection[int]) -> Script[bool]:
        """Move some leaderships away from these; a timer is set for the rest. Returns as `settle` does."""
        states = {
            of: state
            for broker in stopping
            for of in self.partitions.led_by(broker)
            if (state := self.partitions.wanted(of, moves_from=stopping)) is not None
        }
        some = dict(list(states.items())[:_MOVES_AT_ONCE])
        if not some:
            return False
        written = yield from self.partitions.write(office, some)
        self._written(written.done, "controlled shutdown")
        if written.is_deposed:
            return True
        if self.design.rereads_on_bad_version:
            yield from self.reread(written.conflicts)
        if len(states) > len(some) or written.conflicts:
            self.context.set_timer(Timer.MOVE_LEADERS, self.context.now_ms + (0 if written.done else _RETRY_MS))
        return False

    def reread(self, partitions: Collection[TopicPartition]) -> Script[None]:
        """Know what another has written, and look whether that is as it is to be."""
        yield from self.partitions.read(partitions)
        self.send_what_moved()
        self.look_again(partitions)

    def look_again(self, partitions: Iterable[TopicPartition]) -> None:
        """Some partitions were written at the wish of others, or by them."""
        odd = [of for of in partitions if self.partitions.wanted(of) is not None]
        self.look_at({replica for of in odd for replica in self.partitions.known[of].replicas})

    def send_what_moved(self) -> None:
        """What was read has another leader epoch than was known: an own write, whose reply was lost.

        All brokers are owed it, as after any write: else one that has led may be taken for one that knows of its end.
        """
        moved, self.partitions.moved = self.partitions.moved, set()
        self.control.changed(sorted(moved))

    def _written(self, done: Iterable[TopicPartition], cause: str) -> None:
        done = tuple(done)
        self.control.changed(done)
        for of in done:
            state = self.partitions.known[of].state
            assert state is not None, "it was written"
            facts = {
                "partition": str(of), "leader": state.leader, "leader_epoch": state.leader_epoch,
                "isr": list(state.isr), "version": self.partitions.known[of].version, "cause": cause,
            }  # fmt: skip
            self.context.log("partition state", facts)
            self.context.did("update_partition", **facts)
