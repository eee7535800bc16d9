"""Requests of brokers that ask for anything at any time: they land at once, and nobody waits for the reply.

Of such a broker the cluster knows no more than the oldest image that has its registration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impl.adapters.kraft.cluster import TOPIC, Cluster, Envelope, LifecycleRequest, incarnation_id, registration_request
from impl.adapters.kraft.controllers import handle_alter_isr, handle_lifecycle
from impl.adapters.kraft.core import amended
from impl.adapters.kraft.values import recalled, replace
from impl.kraft.messages import AlterPartitionRequest, BrokerHeartbeatRequest, IsrMember

Arguments = Mapping[str, Any]


@recalled
def late(place: int, to: int, request: LifecycleRequest | AlterPartitionRequest) -> Envelope:
    """A request of which nobody knows any more."""
    return Envelope(place, incarnation_id(0), to, request, late=True)


def register(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    voter, place = arguments["voter"].index, arguments["process"].index
    id_, registrations = cluster.shape.node_ids[place], cluster.controllers[voter].image.registrations
    before = registrations.get(id_)
    if arguments["again"]:
        incarnation = registrations[id_].incarnation_id
    else:
        incarnation = incarnation_id(cluster.incarnations)
        cluster = replace(cluster, incarnations=cluster.incarnations + 1)
    cluster = handle_lifecycle(cluster, late(place, voter, registration_request(id_, incarnation)))
    after = cluster.controllers[voter].image.registrations[id_]
    if before is None or after.broker_epoch != before.broker_epoch:
        reaches = max((offset for offset in shutdowns(cluster, voter) if offset is not None), default=-1)
        cluster = cluster.with_process(place, replace(cluster.processes[place], reaches=reaches))
    return with_oldest_images(cluster, voter)


def with_oldest_images(cluster: Cluster, voter: int) -> Cluster:
    """The cluster without what images reach of shutdowns that the controller remembers no more."""
    begun = [offset for offset in shutdowns(cluster, voter) if offset is not None]
    for place, host in enumerate(cluster.processes):
        reaches = max((offset for offset in begun if offset <= host.reaches), default=-1)
        if reaches != host.reaches:
            cluster = cluster.with_process(place, replace(host, reaches=reaches))
    return cluster


def shutdowns(cluster: Cluster, voter: int) -> list[int | None]:
    """The offsets of the controlled shutdowns that a controller remembers, by broker."""
    sessions = cluster.controllers[voter].core.sessions
    return [sessions.shutdown_offset(id_) for id_ in range(cluster.shape.brokers)]


def heartbeat(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    voter, place = arguments["voter"].index, arguments["process"].index
    id_, host = cluster.shape.node_ids[place], cluster.controllers[voter]
    request = BrokerHeartbeatRequest(
        broker_id=id_,
        broker_epoch=host.image.registrations[id_].broker_epoch,
        current_metadata_offset=reported_offset(cluster, voter, id_, arguments),
        want_fence=arguments["want_fence"],
        want_shut_down=arguments["want_shut_down"],
    )
    return with_oldest_images(handle_lifecycle(cluster, late(place, voter, request)), voter)


def reported_offset(cluster: Cluster, voter: int, id_: int, arguments: Arguments) -> int:
    """The offset that an image reaches: the last before the next one that it is compared with, or the newest."""
    host = cluster.controllers[voter]
    again, begun = amended(host.core).get(id_), shutdowns(cluster, voter)
    of = {"NOTHING": None, "AMENDED": again, "SHUTDOWN": begun[arguments["of"].index]}[arguments["reach"].name]
    if not arguments["caught_up"]:
        return -1 if of is None else of
    least = host.image.registrations[id_].broker_epoch if of is None else of
    further = [offset for offset in (again, *begun) if offset is not None and offset > least]
    return min(further) - 1 if further else cluster.committed.offset


def ask_too_late(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    """A request with an epoch of before, or, where there is none before, one that is not issued yet."""
    voter, place, what = arguments["voter"].index, arguments["process"].index, arguments["request"].name
    id_, image = cluster.shape.node_ids[place], cluster.controllers[voter].image
    epoch = image.registrations[id_].broker_epoch
    if what == "HEARTBEAT_OF_OLD_BROKER":
        beat = BrokerHeartbeatRequest(id_, epoch - 1, cluster.committed.offset, want_fence=False, want_shut_down=False)
        return handle_lifecycle(cluster, late(place, voter, beat))
    topic = image.topic_ids[TOPIC]
    partition = image.partitions[topic, 0]
    request = AlterPartitionRequest(
        broker_id=id_,
        broker_epoch=epoch - 1 if what == "CHANGE_OF_OLD_BROKER" else epoch,
        topic_id=topic,
        partition_id=0,
        leader_epoch=before(partition.leader_epoch) if what == "CHANGE_OF_OLD_LEADER" else partition.leader_epoch,
        partition_epoch=before(partition.partition_epoch)
        if what == "CHANGE_OF_OLD_PARTITION"
        else partition.partition_epoch,
        new_isr=(IsrMember(id_),),
    )
    return handle_alter_isr(cluster, late(place, voter, request))


def before(epoch: int) -> int:
    return epoch - 1 if epoch > 0 else 1


def alter_isr(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    """A leader asks for an ISR with one member more, or less, than the controller has."""
    voter, place, p = arguments["voter"].index, arguments["leader"].index, arguments["p"].index
    image, member = cluster.controllers[voter].image, arguments["member"].index
    topic, registrations = image.topic_ids[TOPIC], image.registrations
    partition = image.partitions[topic, p]
    isr = tuple(IsrMember(id_) for id_ in partition.isr if id_ != member)
    joining = () if member in partition.isr else (IsrMember(member, registrations[member].broker_epoch),)
    leader = cluster.shape.node_ids[place]
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=registrations[leader].broker_epoch,
        topic_id=topic,
        partition_id=p,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=(*isr, *joining),
    )
    return handle_alter_isr(cluster, late(place, voter, request))
