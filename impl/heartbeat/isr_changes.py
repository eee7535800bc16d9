"""IsrChange: a leader asks the controller for another ISR (Initiating ISR Changes).

The checks, in this order: office, incarnation; then of each partition: that it is there, leader and leader epoch, form,
version, members. Results come in the order of the request.
"""

from __future__ import annotations

from dataclasses import replace

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.messages import (
    ErrorCode,
    IsrChangeRequest,
    IsrChangeResponse,
    IsrResult,
    PartitionIsr,
)
from impl.heartbeat.partitions import Partitions, Wrote
from impl.heartbeat.registry import Registry
from impl.heartbeat.scripts import Context, Script
from impl.heartbeat.znodes import LeaderAndIsr
from impl.zookeeper.election import Office


class IsrChanges:
    """Judges IsrChange requests of one controller, and writes what it grants."""

    def __init__(self, context: Context, design: Design, registry: Registry, partitions: Partitions) -> None:
        self.context = context
        self.design = design
        self.registry = registry
        self.partitions = partitions

    def handle(self, office: Office, request: IsrChangeRequest) -> Script[tuple[IsrChangeResponse, Wrote]]:
        """The response, and what was written for it. What another has written is read again."""
        known = self.registry.brokers.get(request.broker_id)
        if known is None or known.incarnation != request.incarnation_id:
            return self._refused(request, ErrorCode.INVALID_INCARNATION_ID), Wrote()
        asked = [(TopicPartition(topic.topic_name, one.partition_index), one) for topic in request.topics
                 for one in topic.partitions]  # fmt: skip
        codes = list[ErrorCode]()
        states = dict[TopicPartition, LeaderAndIsr]()
        for of, one in asked:
            code = ErrorCode.INVALID_REQUEST if of in states else self._judge(request.broker_id, of, one)
            codes.append(code)
            if code is ErrorCode.NONE:
                states[of] = self._granted(of, one)
            elif code is ErrorCode.INELIGIBLE_REPLICA and self.design.refusal_raises_version:
                states[of] = self.partitions.naming(self._current(of))
        written = yield from self.partitions.write(office, states)
        if written.is_deposed:
            return self._refused(request, ErrorCode.NOT_CONTROLLER), written
        if written.conflicts:  # another has written: it is judged by that
            if self.design.rereads_on_bad_version:
                yield from self.partitions.read(written.conflicts)
            conflicts = set(written.conflicts)
            codes = [self._after(code) if of in conflicts else code for (of, _), code in zip(asked, codes, strict=True)]
        for (of, one), code in zip(asked, codes, strict=True):
            self._tell(request, of, one, code)
        results = tuple(self._result(of, code) for (of, _), code in zip(asked, codes, strict=True))
        return IsrChangeResponse(ErrorCode.NONE, None, results), written

    def _judge(self, broker: int, of: TopicPartition, asked: PartitionIsr) -> ErrorCode:
        partition = self.partitions.known.get(of)
        if partition is None or partition.state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        state = partition.state
        if state.leader != broker or state.leader_epoch != asked.leader_epoch:
            return ErrorCode.NOT_LEADER_FOR_PARTITION
        isr = set(asked.isr)
        if broker not in isr or len(isr) != len(asked.isr) or not isr <= set(partition.replicas):
            return ErrorCode.INVALID_REQUEST
        if self.design.partition_version and asked.version != partition.version:
            return ErrorCode.INVALID_UPDATE_VERSION
        for place, member in enumerate(asked.isr):
            if member not in state.isr and not self._may_join(member, asked, place):
                return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.NONE

    def _may_join(self, member: int, asked: PartitionIsr, place: int) -> bool:
        known = self.registry.brokers.get(member)
        if self.design.active_members and (known is None or not known.is_counted):
            return False
        if not self.design.member_incarnations or known is None or known.is_legacy:
            return True
        return place < len(asked.incarnations) and asked.incarnations[place] == known.incarnation

    def _granted(self, of: TopicPartition, asked: PartitionIsr) -> LeaderAndIsr:
        return self.partitions.naming(replace(self._current(of), isr=asked.isr))

    def _current(self, of: TopicPartition) -> LeaderAndIsr:
        state = self.partitions.known[of].state
        assert state is not None, "it was judged by it"
        return state

    @staticmethod
    def _after(code: ErrorCode) -> ErrorCode:
        """The code where the version in ZooKeeper was another one."""
        return ErrorCode.INVALID_UPDATE_VERSION if code is ErrorCode.NONE else code

    def _result(self, of: TopicPartition, code: ErrorCode) -> IsrResult:
        partition = self.partitions.known.get(of)
        if partition is None or partition.state is None:
            return IsrResult(code, None, of.topic, of.partition)
        state = partition.state
        return IsrResult(code, None, of.topic, of.partition, state.leader_epoch, partition.version, state.isr)

    def _refused(self, request: IsrChangeRequest, code: ErrorCode) -> IsrChangeResponse:
        facts = {"broker": request.broker_id, "incarnation": request.incarnation_id, "code": code.name}
        self.context.log("ISR change refused", facts, is_warning=True)
        self.context.did("handle_isr_change", **facts)
        return IsrChangeResponse(code)

    def _tell(self, request: IsrChangeRequest, of: TopicPartition, asked: PartitionIsr, code: ErrorCode) -> None:
        facts = {
            "broker": request.broker_id,
            "incarnation": request.incarnation_id,
            "partition": str(of),
            "leader_epoch": asked.leader_epoch,
            "isr": list(asked.isr),
            "code": code.name,
        }
        self.context.log("ISR change", facts, is_warning=code is not ErrorCode.NONE)
        self.context.did("handle_isr_change", **facts)
