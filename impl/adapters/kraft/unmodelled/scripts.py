"""What takes three active brokers, and no small model has: a reassignment that adds two, a shutdown that two delay."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from impl.adapters.kraft.unmodelled.asking import Asking
from impl.adapters.kraft.unmodelled.topics import MIN_INSYNC, OTHER, OTHER_ID
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    CreateTopicRequest,
    IsrMember,
)
from impl.kraft.records import TOPIC_RESOURCE, PartitionChangeRecord

Make = Callable[[], Asking]
KEY = (OTHER_ID, 0)


def active(make: Make) -> tuple[int, ...]:
    """Three brokers that are active and whose leases run; fewer where there are none."""
    asking = make()
    ids = sorted(id_ for id_ in asking.image.registrations if asking.image.is_active(id_))
    return tuple(islice((id_ for id_ in ids if asking.core.has_valid_session(id_, asking.now_ms)), 3))


def led_by(asking: Asking, isr: tuple[int, ...]) -> AlterPartitionRequest:
    """The leader of the partition asks for an ISR."""
    partition, registrations = asking.image.partitions[KEY], asking.image.registrations
    return AlterPartitionRequest(
        partition.leader, registrations[partition.leader].broker_epoch, *KEY,
        partition.leader_epoch, partition.partition_epoch,
        tuple(IsrMember(id_, registrations[id_].broker_epoch) for id_ in isr),
    )  # fmt: skip


def reassignment_of_two(make: Make) -> None:
    """One of the two that a reassignment adds is in sync: it waits for the other, and its cancel takes it out again."""
    brokers = active(make)
    if len(brokers) < 3:
        return
    first, second, third = brokers

    def begun() -> Asking:
        asking = make()
        create = CreateTopicRequest(OTHER, OTHER_ID, assignments=((first,),), configs=((MIN_INSYNC, "1"),))
        asking.wants(create, ErrorCode.NONE, None)
        both = AlterPartitionReassignmentRequest(OTHER, 0, (second, third))
        begins = PartitionChangeRecord(0, OTHER_ID, replicas=(second, third, first), removing_replicas=(first,),
                                       adding_replicas=(second, third))  # fmt: skip
        asking.wants(both, ErrorCode.NONE, (begins,))
        joined = (PartitionChangeRecord(0, OTHER_ID, isr=(first, second)),)
        asking.wants(led_by(asking, (first, second)), ErrorCode.NONE, joined)
        return asking

    cancel = AlterPartitionReassignmentRequest(OTHER, 0, None)
    cancelled = PartitionChangeRecord(0, OTHER_ID, (first,), first, (first,), (), ())
    begun().wants(cancel, ErrorCode.NONE, (cancelled,))
    asking = begun()
    asking.ask(AlterConfigsRequest.of_one(TOPIC_RESOURCE, OTHER, MIN_INSYNC, "2"))
    asking.wants(cancel, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    completes = PartitionChangeRecord(0, OTHER_ID, (second, third), second, (second, third), (), ())
    asking.wants(led_by(asking, brokers), ErrorCode.NEW_LEADER_ELECTED, (completes,))


def completion_below_min_isr(make: Make) -> None:
    """A reassignment does not end that would leave fewer in sync than the topic asks for by now."""
    brokers = active(make)
    if len(brokers) < 3:
        return
    asking = make()
    create = CreateTopicRequest(OTHER, OTHER_ID, assignments=(brokers[:2],), configs=((MIN_INSYNC, "1"),))
    asking.wants(create, ErrorCode.NONE, None)
    asking.wants(AlterPartitionReassignmentRequest(OTHER, 0, brokers[2:]), ErrorCode.NONE, None)
    asking.ask(AlterConfigsRequest.of_one(TOPIC_RESOURCE, OTHER, MIN_INSYNC, "2"))
    waits = (PartitionChangeRecord(0, OTHER_ID, isr=brokers),)
    asking.wants(led_by(asking, brokers), ErrorCode.NONE, waits)


def shutdown(make: Make) -> None:
    """A broker that shuts down waits for each of two others."""
    brokers = active(make)
    if len(brokers) < 3:
        return
    asking = make()

    def heartbeat(id_: int, offset: int, *, stops: bool = False) -> BrokerHeartbeatResponse:
        epoch = asking.image.registrations[id_].broker_epoch
        response = asking.ask(BrokerHeartbeatRequest(id_, epoch, offset, False, stops))
        assert isinstance(response, BrokerHeartbeatResponse)
        return response

    leaving, *others = brokers
    told = [heartbeat(leaving, 0, stops=True).should_shut_down]
    begun = asking.image.offset
    for id_ in sorted(asking.image.registrations):
        if id_ not in brokers and asking.image.is_active(id_):
            heartbeat(id_, begun)
    for other in others:
        heartbeat(other, begun)
        told.append(heartbeat(leaving, begun, stops=True).should_shut_down)
    asking.require(told == [False, False, True], f"broker {leaving} waits for {others}: {told}")
    asking.require(asking.image.registrations[leaving].fenced, "who may shut down is fenced")
