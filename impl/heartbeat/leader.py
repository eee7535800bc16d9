"""The leaderships of one broker: which ISRs it wants, and how it gets them (Initiating ISR Changes).

It asks the controller, with one request outstanding at a time; `legacy` has the other way.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Effect, Produce
from impl.heartbeat.messages import ErrorCode, IsrChangeRequest, IsrChangeResponse, PartitionIsr, TopicIsr
from impl.heartbeat.replica import Replica
from impl.heartbeat.scripts import Context


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that has no answer yet: what it asks for, in its order, each with the leader epoch."""

    number: int
    changes: tuple[tuple[TopicPartition, PartitionIsr], ...]


class Leader:
    """The replicas of one broker, and the ISRs of those that it leads."""

    def __init__(self, context: Context, design: Design, lag_ms: int, min_insync: int) -> None:
        self.context = context
        self.design = design
        self.lag_ms = lag_ms
        self.min_insync = min_insync
        self.replicas = dict[TopicPartition, Replica]()
        self.asked: Asked | None = None

    def propose(self, broker: int, incarnation: int) -> None:
        """Want ISRs without those that lag, and with those that have caught up."""
        if not incarnation:
            return
        for replica in self.replicas.values():
            if replica.leads and not replica.proposed:
                out = replica.lagging(self.context.now_ms, self.lag_ms)
                joining = replica.caught_up()
                if out or joining:
                    before = replica.isr
                    replica.want(out, joining)
                    facts = {"broker": broker, "partition": str(replica.of), "leader_epoch": replica.leader_epoch}
                    self.context.did("want_isr", **facts, isr=list(replica.proposed), known=list(before))

    def request(self, broker: int, incarnation: int, number: int) -> IsrChangeRequest | None:
        """Ask for all that is wanted; None: nothing is, or something is asked already."""
        if self.asked is not None:
            return None
        changes = tuple(
            (replica.of, self._change(replica, incarnation))
            for replica in sorted(self.replicas.values(), key=lambda replica: replica.of)
            if replica.leads and replica.proposed
        )
        if not changes:
            return None
        self.asked = Asked(number, changes)
        topics = dict[str, list[PartitionIsr]]()
        for of, change in changes:
            topics.setdefault(of.topic, []).append(change)
        return IsrChangeRequest(broker, incarnation, tuple(TopicIsr(one, tuple(of)) for one, of in topics.items()))

    def _change(self, replica: Replica, incarnation: int) -> PartitionIsr:
        isr = replica.proposed
        seen = replica.incarnations(isr, incarnation)
        return PartitionIsr(replica.of.partition, replica.leader_epoch, isr, replica.version, seen)

    def answered(self, number: int, response: IsrChangeResponse) -> None:
        """The controller's answer; that to a request that was given up is not awaited any more."""
        asked = self.asked
        if asked is None or asked.number != number:
            return
        self.asked = None
        for place, (of, change) in enumerate(asked.changes):
            replica = self.replicas[of]
            if not replica.leads or (replica.leader_epoch, replica.proposed) != (change.leader_epoch, change.isr):
                continue
            if response.top_level_error_code != ErrorCode.NONE or place >= len(response.results):
                replica.take_result(response.top_level_error_code, (), -1, names_state=False)
                continue
            result = response.results[place]
            replica.take_result(
                result.error_code, result.isr, result.version, names_state=self.design.partition_version
            )

    def given_up(self, number: int) -> None:
        """No answer comes; what was asked for is asked again."""
        if self.asked is not None and self.asked.number == number:
            self.asked = None

    def completed(self) -> list[Effect]:
        """Answers to produce requests that are replicated by now."""
        return [
            Produce(one.call, ErrorCode.NONE, one.base_offset)
            for replica in self.replicas.values()
            for one in replica.completed(self.min_insync)
        ]
