"""AlterPartition: a leader asks for an ISR. KIP-631, Partition Reassignment (AlterIsr); KIP-497, KIP-841, KIP-903."""

from __future__ import annotations

from dataclasses import replace

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.partitions import change, raised_epoch
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Partition, PartitionKey
from impl.kraft.messages import AlterPartitionRequest, AlterPartitionResponse, IsrMember
from impl.kraft.records import RECOVERED


def alter_partition(image: Image, settings: ControllerSettings, request: AlterPartitionRequest) -> Decision:
    """Makes the change of the ISR, or refuses it.

    A change that is refused for a member raises the partition epoch, so that no other copy of the request can be
    accepted once the leader has forgotten it. The change may complete a reassignment, and take more out than was
    asked; a leader that it takes out of the lead is to wait for the metadata.
    """
    key = (request.topic_id, request.partition_id)
    error = error_of(image, request)
    if error is ErrorCode.INELIGIBLE_REPLICA:
        return Decision(AlterPartitionResponse(error), (raised_epoch(key),))
    if error is not ErrorCode.NONE:
        return Decision(AlterPartitionResponse(error))
    isr = tuple(member.broker_id for member in request.new_isr)
    return altered(image, settings, key, isr, request.leader_recovery_state)


def altered(
    image: Image, settings: ControllerSettings, key: PartitionKey, isr: tuple[int, ...], recovery_state: int
) -> Decision:
    """The change of the ISR, and all that follows from it. For an ISR that is there already nothing is written."""
    before = image.partitions[key]
    wanted = before.with_isr(before.isr if set(isr) == set(before.isr) else isr)
    if recovery_state != before.leader_recovery_state:
        wanted = replace(wanted, leader_recovery_state=recovery_state)
    records = change(image, settings, key, wanted, image.is_active)
    after = before.changed(*records) if records else before
    if after.leader != before.leader:
        return Decision(AlterPartitionResponse(ErrorCode.NEW_LEADER_ELECTED), records)
    response = AlterPartitionResponse(
        ErrorCode.NONE, after.leader, after.leader_epoch, after.isr, after.partition_epoch, after.leader_recovery_state
    )
    return Decision(response, records)


def error_of(image: Image, request: AlterPartitionRequest) -> ErrorCode:
    """The first check that fails, in Kafka's order; NONE where all pass."""
    registration = image.registrations.get(request.broker_id)
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    if request.topic_id not in image.topics:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = image.partitions.get((request.topic_id, request.partition_id))
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # the sender has seen what this controller has not: it was deposed
    if request.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if request.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [member.broker_id for member in request.new_isr]
    if request.broker_id not in isr or len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if request.leader_recovery_state != RECOVERED and (partition.leader_recovery_state == RECOVERED or len(isr) > 1):
        return ErrorCode.INVALID_REQUEST
    if not all(is_eligible(image, partition, member) for member in request.new_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def is_eligible(image: Image, partition: Partition, member: IsrMember) -> bool:
    """True when a broker may be in the ISR: active, and at the broker epoch at which the leader saw it.

    The leader need not have seen those that are in the ISR already: registering again takes a broker out. Where
    leaders know no epochs of members, there is nothing to compare.
    """
    if not image.is_active(member.broker_id):
        return False
    if member.broker_epoch == -1:
        return member.broker_id in partition.isr or not image.knows_member_epochs
    return member.broker_epoch == image.registrations[member.broker_id].broker_epoch
