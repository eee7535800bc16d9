"""Topics come and go, and so do registrations: create, delete, unregister.

There is one topic of one name at a time; created again, it has a new id, and its epochs start again. A decision
is one batch of records (see `log`): TopicRecord and a PartitionRecord for each partition; RemoveTopicRecord, which
takes all of its partitions with it; the changes of partitions and then UnregisterBrokerRecord. With more than one
controller, whoever asked for a removal waits until it is committed; nobody waits for any other reply.
Leaves out: data and reassignments of a topic whose deletion may be truncated (the producer's claim to its record, and
the reassignment that was last asked for, end when the deletion is decided); more than one name; placement of replicas
(all brokers are, in either order); configuration.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Map, Option, Permutation, Seq, Set, action, fresh, replace, require, require_some
from spec.kraft.decisions.log import appended, can_decide, removes_something
from spec.kraft.decisions.membership import partitions_without_broker
from spec.kraft.decisions.partition import first_replica_among, those_in
from spec.kraft.design import Design
from spec.kraft.metadata import Partition, Replicas, active_brokers
from spec.kraft.state import Cluster, Controller, FirstEpochs, LastRemoval, RequestedRemoval, committed
from spec.kraft.types import Broker, BrokerEpoch, RecordStatus, Role, TopicId, TopicPartition, Voter

Order = Annotated[Seq[Broker], Permutation]


@action(
    who="controller {voter}",
    source="KIP-631, TopicRecord; PartitionRecord; The Three Cluster Membership States",
    kafka="ReplicationControlManager.createTopic",
    api="CreateTopics v7",
)
def create_topic(s: Cluster, voter: Voter, order: Order) -> None:
    """The controller creates the topic. Fenced brokers get replicas, too; those that are unfenced make the ISR."""
    controller = s.controllers[voter]
    image = controller.image
    require(can_decide(controller))
    require(image.topic is None and s.faults.topics < Design.max_topics)
    before = replace(image)
    active = active_brokers(image)
    require(len(active) > 0)
    registered = frozenset(broker for broker in Broker if image.registrations[broker] is not None)
    first = new_partition(those_in(order, registered), active, s.start[0])
    image.topic = fresh(s, TopicId)
    image.partitions = Map({p: first for p in TopicPartition})
    controller.log = appended(controller, before)
    s.faults.topics += 1


def new_partition(replicas: Replicas, active: Set[Broker], start: FirstEpochs) -> Option[Partition]:
    return Partition(
        replicas=replicas,
        isr=active,
        leader=first_replica_among(replicas, active),
        leader_epoch=start.leader_epoch,
        partition_epoch=start.partition_epoch,
        adding=(),
        removing=(),
    )


@action(
    who="controller {voter}",
    source="KIP-631, RemoveTopicRecord; Topic Identifiers",
    kafka="ReplicationControlManager.deleteTopic",
    api="DeleteTopics v6",
)
def delete_topic(s: Cluster, voter: Voter) -> None:
    """The controller deletes the topic with its partitions, whatever reassignments they are in."""
    controller = s.controllers[voter]
    image = controller.image
    require(can_decide(controller) and image.topic is not None)
    require(Design.finds_uncommitted_topics or knows_committed(s, voter))
    before = replace(image)
    image.topic = None
    image.partitions = Map({p: None for p in TopicPartition})
    controller.log = appended(controller, before)
    s.last_removal = requested_removal(controller, voter, before.topic, None)
    s.produced = Map({p: RecordStatus.UNWRITTEN for p in TopicPartition})
    s.last_target = Map({p: () for p in TopicPartition})


@action(
    who="controller {voter}",
    source="KIP-631, UnregisterBroker",
    kafka="ReplicationControlManager.unregisterBroker, handleBrokerUnregistered",
    api="UnregisterBroker v0",
)
def unregister(s: Cluster, voter: Voter, broker: Broker) -> None:
    """An operator removes a broker's registration, dead or alive. It leaves its ISRs, but as last member."""
    controller = s.controllers[voter]
    image = controller.image
    require(can_decide(controller))
    registration = require_some(image.registrations[broker])
    require(s.faults.unregistrations < Design.max_unregistrations)
    before = replace(image)
    epoch = registration.broker_epoch
    image.partitions = partitions_without_broker(s, image, broker, active_brokers(image) - {broker})
    image.registrations[broker] = None
    controller.shutdowns[broker] = None
    controller.expired_leases -= {broker}
    controller.log = appended(controller, before)
    s.last_removal = requested_removal(controller, voter, None, epoch)
    s.faults.unregistrations += 1


def knows_committed(s: Cluster, voter: Voter) -> bool:
    """The topic in a controller's image is committed, as far as the controller knows."""
    controller = s.controllers[voter]
    if controller.lags_since is not None:
        return len(controller.log) == 0
    return controller.image.topic == committed(s).topic


def requested_removal(
    controller: Controller, voter: Voter, topic: Option[TopicId], registration: Option[BrokerEpoch]
) -> LastRemoval:
    """The removal that an operator waits for, with more than one controller."""
    if Design.removals == 0:
        return ()
    return (RequestedRemoval(topic, registration, voter, controller.epoch, is_confirmed=False),)


@action(
    who="controller {voter}",
    source="KIP-631, Controller Failover",
    kafka="QuorumController.ControllerWriteEvent.complete, DeferredEventQueue.completeUpTo",
    api="DeleteTopics v6; UnregisterBroker v0",
)
def confirm_removal(s: Cluster, voter: Voter) -> None:
    """A removal is confirmed to its operator: all that the controller had written by then is committed."""
    controller = s.controllers[voter]
    require(len(s.last_removal) > 0)
    removal = s.last_removal[0]
    require(removal.voter == voter and removal.epoch == controller.epoch and not removal.is_confirmed)
    require(controller.role == Role.ACTIVE)
    require(not Design.successes_wait or not any(removes_something(batch.delta) for batch in controller.log))
    s.last_removal = (replace(removal, is_confirmed=True),)
