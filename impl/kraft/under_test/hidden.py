"""What decides what the cluster does from here on, and is not shown: soft state, old images, what is in flight.

Times count only as far as they have passed; back-offs and how often something was tried do not count at all.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter

from impl.kraft.broker import Broker, Due, PartitionLeader, ReplicaLog
from impl.kraft.image import Image, PartitionKey
from impl.kraft.messages import AlterPartitionRequest
from impl.kraft.under_test.cluster import Cluster, ControllerHost, ProcessHost, Shape, Timers, topic_number
from impl.kraft.under_test.observed import metadata, reached, remembered
from impl.kraft.under_test.views import Ordinal, broker_epoch, leader_epoch, partition_epoch

Marks = tuple[int, ...]
WHOLE_BYTES = 1 << 30  # more than any log here has


def key(cluster: Cluster) -> Hashable:
    """All that `observe` leaves out."""
    return (
        tuple(controller(cluster, host) for host in cluster.controllers),
        tuple(process(cluster, host) for host in cluster.processes),
    )


# Controllers.


def controller(cluster: Cluster, host: ControllerHost) -> Hashable:
    return remembered(host.memory, ("hidden", cluster.marks), lambda: hidden_of_controller(cluster, host))


def hidden_of_controller(cluster: Cluster, host: ControllerHost) -> Hashable:
    core, shape, marks = host.core, cluster.shape, cluster.marks
    unfenced = [id_ for id_, registration in host.image.registrations.items() if not registration.fenced]
    sessions = tuple(
        (id_, reached(marks, session.metadata_offset)) for id_, session in sorted(core.sessions.of_broker.items())
    )
    looks_after = tuple(id_ for id_ in sorted(unfenced) if ("lease", id_) in host.timers)
    own = (strays(shape, image, host.image) for image in (core.speculative, core.committed))
    return (sessions, looks_after, *own)


def strays(shape: Shape, image: Image, shown: Image) -> Hashable:
    """What an image has instead of the one that is shown; None where they are the same."""
    same = image.registrations == shown.registrations and image.partitions == shown.partitions
    return None if same else metadata(shape, image, ())


# Processes.


def process(cluster: Cluster, host: ProcessHost) -> Hashable:
    return remembered(host.memory, "hidden", lambda: hidden_of_process(host))


def hidden_of_process(host: ProcessHost) -> Hashable:
    """An image counts as far as a leader looks at it: the next replay makes every image the newest.

    A log that is empty is as good as none.
    """
    core = host.core
    if core is None:
        return ()
    in_flight = core.lifecycle.in_flight is not None
    return (
        in_flight,
        not in_flight and (Due.COMMUNICATION,) in host.timers,
        waits_to_act(core) and (Due.PUBLICATION,) in host.timers,
        tuple(leader(core, host.timers, one) for _, one in sorted(core.leaders.items())),
        tuple((topic_number(topic), p, one.leader) for (topic, p), one in sorted(core.followers.items())),
        tuple(log(key, one) for key, one in sorted(core.logs.items(), key=itemgetter(0)) if one.end_offset > 0),
    )


def waits_to_act(core: Broker) -> bool:
    """The image has the process at its broker epoch, and nothing was made of it yet."""
    registration = core.image.registrations.get(core.broker_id)
    return core.applied_offset < 0 and registration is not None and registration.broker_epoch == core.broker_epoch


def leader(core: Broker, timers: Timers, one: PartitionLeader) -> Hashable:
    """Of followers outside the maximal ISR, the next fetch tells the leader anew."""
    topic, p = topic_number(one.key[0]), one.key[1]
    known = sorted((id_, state) for id_, state in one.followers.items() if id_ in one.maximal_isr)
    due = (Due.ALTER_PARTITION, one.key[0].int, p) in timers
    return (
        one.replicas,
        tuple(candidate(core.image, id_) for id_ in one.replicas if id_ != one.broker_id),
        tuple((id_, state.log_end_offset, broker_epoch(state.broker_epoch)) for id_, state in known),
        asked(topic, p, one.asked),
        one.in_flight is not None and (one.in_flight == one.asked or asked(topic, p, one.in_flight)),
        due and one.asked is not None and one.in_flight is None,
    )


def candidate(image: Image, broker_id: int) -> Hashable:
    """What a leader sees of a replica in its image."""
    registration = image.registrations.get(broker_id)
    return None if registration is None else (registration.is_active, broker_epoch(registration.broker_epoch))


def asked(topic: int, p: int, request: AlterPartitionRequest | None) -> Hashable:
    if request is None:
        return None
    members = tuple((member.broker_id, seen(member.broker_epoch)) for member in request.new_isr)
    epochs = leader_epoch(topic, p, request.leader_epoch), partition_epoch(topic, p, request.partition_epoch)
    return (*epochs, broker_epoch(request.broker_epoch), members)


def seen(epoch: int) -> Ordinal | None:
    return None if epoch < 0 else broker_epoch(epoch)


def log(key: PartitionKey, one: ReplicaLog) -> Hashable:
    topic, p = topic_number(key[0]), key[1]
    entries = tuple(leader_epoch(topic, p, entry.leader_epoch) for entry in one.read(0, WHOLE_BYTES))
    return (topic, p, one.high_watermark, entries)
