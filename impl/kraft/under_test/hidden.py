"""What decides what the cluster does from here on, and is not shown: soft state, old images, what is in flight.

Times count only as far as they have passed; back-offs and how often something was tried do not count at all.
"""

from __future__ import annotations

from collections.abc import Hashable

from impl.kraft.broker import Broker, Due, PartitionLeader
from impl.kraft.image import Image
from impl.kraft.messages import AlterPartitionRequest
from impl.kraft.under_test.cluster import Cluster, ControllerHost, ProcessHost, Shape, Timers, topic_number
from impl.kraft.under_test.observed import broker_epoch, metadata, reached, remembered
from impl.kraft.under_test.views import Ordinal, leader_epoch, partition_epoch

Marks = tuple[int, ...]


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
    return (sessions, looks_after, strays(shape, core.speculative, host.image), strays(shape, core.committed, host.image))


def strays(shape: Shape, image: Image, shown: Image) -> Hashable:
    """What an image has instead of the one that is shown; None where they are the same."""
    same = image.registrations == shown.registrations and image.partitions == shown.partitions
    return None if same else metadata(shape, image, ())


# Processes.


def process(cluster: Cluster, host: ProcessHost) -> Hashable:
    return remembered(host.memory, "hidden", lambda: hidden_of_process(cluster.shape, host))


def hidden_of_process(shape: Shape, host: ProcessHost) -> Hashable:
    core = host.core
    if core is None:
        return ()
    return (
        set_timers(host.timers),
        core.lifecycle.in_flight is not None,
        core.applied_offset == core.image.offset,
        metadata(shape, core.image, ())[:3],
        tuple(leader(core, one) for _, one in sorted(core.leaders.items())),
        tuple((topic_number(topic), p, one.leader) for (topic, p), one in sorted(core.followers.items())),
        tuple((topic_number(topic), p, *log(core, (topic, p))) for topic, p in sorted(core.logs)),
    )


IGNORED = (Due.INITIAL_REGISTRATION, Due.CONTROLLED_SHUTDOWN, Due.ISR_EXPIRATION, Due.HIGH_WATERMARK)


def set_timers(timers: Timers) -> Hashable:
    """The timers that are set, but those that are always due, or that only hint at what may be done at any time."""
    return tuple(sorted(name[:1] + name[2:] for name in timers if name[0] not in IGNORED))


def leader(core: Broker, one: PartitionLeader) -> Hashable:
    topic, p = topic_number(one.key[0]), one.key[1]
    followers = tuple(
        (id_, state.log_end_offset, broker_epoch(state.broker_epoch)) for id_, state in sorted(one.followers.items())
    )
    return (
        one.replicas,
        followers,
        asked(topic, p, one.asked),
        asked(topic, p, one.in_flight),
    )


def asked(topic: int, p: int, request: AlterPartitionRequest | None) -> Hashable:
    if request is None:
        return None
    members = tuple((member.broker_id, seen(member.broker_epoch)) for member in request.new_isr)
    epochs = leader_epoch(topic, p, request.leader_epoch), partition_epoch(topic, p, request.partition_epoch)
    return (*epochs, broker_epoch(request.broker_epoch), members)


def seen(epoch: int) -> Ordinal | None:
    return None if epoch < 0 else broker_epoch(epoch)


def log(core: Broker, key: tuple[object, int]) -> tuple[Hashable, ...]:
    one = core.logs[key]  # type: ignore[index]
    topic = topic_number(key[0])  # type: ignore[arg-type]
    epochs = tuple(leader_epoch(topic, key[1], entry.leader_epoch) for entry in one.read(0, 1 << 20))
    return (one.high_watermark, epochs)
