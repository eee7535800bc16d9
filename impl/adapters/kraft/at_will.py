"""Requests of brokers that ask for anything at any time: they land at once, and nobody waits for the reply.

Of such a broker the cluster knows no more than how far its image reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impl.adapters.kraft.cluster import TOPIC, Cluster, Envelope, LifecycleRequest, incarnation_id, registration_request
from impl.adapters.kraft.controllers import handle_alter_isr, handle_lifecycle
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
    is_new = before is None or after.broker_epoch != before.broker_epoch
    return reaching(cluster, place, -1) if is_new else cluster


def apply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    return reaching(cluster, arguments["process"].index, cluster.committed.offset)


def reaching(cluster: Cluster, place: int, offset: int) -> Cluster:
    """The cluster once the image of a broker reaches an offset."""
    return cluster.with_process(place, replace(cluster.processes[place], reaches=offset))


def heartbeat(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster:
    voter, place = arguments["voter"].index, arguments["process"].index
    id_, reached = cluster.shape.node_ids[place], cluster.processes[place].reaches
    epoch = cluster.controllers[voter].image.registrations[id_].broker_epoch
    request = BrokerHeartbeatRequest(
        broker_id=id_,
        broker_epoch=epoch,
        current_metadata_offset=reached,
        want_fence=arguments["want_fence"],
        want_shut_down=arguments["want_shut_down"],
    )
    return handle_lifecycle(cluster, late(place, voter, request))


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
