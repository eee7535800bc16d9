"""State that decides the cluster's next steps and is not shown: soft state, old images, requests in flight.

Times count only as far as they have passed; back-offs and how often something was tried do not count at all.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter

from checker.conform.system import Ordinal
from impl.adapters.kraft.cluster import Cluster, ControllerHost, Envelope, ProcessHost, Timers
from impl.adapters.kraft.core import BrokerCore
from impl.adapters.kraft.epoch_history import EpochHistory, topic_number
from impl.adapters.kraft.observed import metadata_in, reached, remembered, unfenced_in
from impl.adapters.kraft.processes import waits
from impl.kraft.broker import Due, PartitionLeader, ReplicaLog
from impl.kraft.image import Image, PartitionKey
from impl.kraft.messages import AlterPartitionRequest

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
    own = remembered(host.memory, ("internal", cluster.marks), lambda: controller_state(cluster, host))
    return (own, awaited(cluster, host)) if host.waiting else own


def controller_state(cluster: Cluster, host: ControllerHost) -> Hashable:
    core, marks = host.core, cluster.marks
    if host.is_out_of_sight:
        return ()
    sessions = tuple(
        (id_, reached(marks, session.metadata_offset)) for id_, session in sorted(core.sessions.of_broker.items())
    )
    looks_after = tuple(id_ for id_ in unfenced_in(host.image) if ("lease", id_) in host.timers)
    committed = cluster.committed if host.log else host.image
    own = strays(cluster, core.speculative, host.image), strays(cluster, core.committed, committed)
    return (sessions, looks_after, *own)


def strays(cluster: Cluster, image: Image, shown: Image) -> Hashable:
    """The metadata of an image that is not the one shown; None where they are the same."""
    same = image.registrations == shown.registrations and image.partitions == shown.partitions
    return None if same else metadata_in(cluster.history, cluster.shape, image, ())


def awaited(cluster: Cluster, host: ControllerHost) -> Hashable:
    """The senders that wait for a controller, and for how many batches of its log. A lost one answers nobody."""
    if host.is_lost:
        return ()
    rests_on = {one.call: sum(entry.batch.base_offset <= one.offset for entry in host.log) for one in host.core.waiting}
    return tuple(
        sorted(
            (envelope.sender, *asked_about(envelope), rests_on[call])
            for call, envelope in host.waiting.items()
            if call in rests_on and waits(cluster, envelope)
        )
    )


def asked_about(envelope: Envelope) -> tuple[str, int]:
    return type(envelope.request).__name__, -1 if envelope.about is None else envelope.about[1]


# Processes.


def process(cluster: Cluster, host: ProcessHost) -> Hashable:
    return remembered(host.memory, "internal", lambda: process_state(cluster.history, host))


def process_state(history: EpochHistory, host: ProcessHost) -> Hashable:
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
        tuple(leader(history, core, host.timers, one) for _, one in sorted(core.leaders.items())),
        tuple((topic_number(topic), p, one.leader) for (topic, p), one in sorted(core.followers.items())),
        tuple(
            log(history, key, one) for key, one in sorted(core.logs.items(), key=itemgetter(0)) if one.end_offset > 0
        ),
    )


def waits_to_act(core: BrokerCore) -> bool:
    """The image has the process at its broker epoch, and nothing was made of it yet."""
    registration = core.image.registrations.get(core.broker_id)
    return core.applied_offset < 0 and registration is not None and registration.broker_epoch == core.broker_epoch


def leader(history: EpochHistory, core: BrokerCore, timers: Timers, one: PartitionLeader) -> Hashable:
    """Followers outside the maximal ISR do not count: the next fetch informs the leader again."""
    known = sorted((id_, state) for id_, state in one.followers.items() if id_ in one.maximal_isr)
    due = (Due.ALTER_PARTITION, one.key[0].int, one.key[1]) in timers
    return (
        one.replicas,
        tuple(candidate(history, core.image, id_) for id_ in one.replicas if id_ != one.broker_id),
        tuple((id_, state.log_end_offset, history.broker_epoch(state.broker_epoch)) for id_, state in known),
        asked(history, one.pending_change),
        one.in_flight is not None and (one.in_flight == one.pending_change or asked(history, one.in_flight)),
        due and one.pending_change is not None and one.in_flight is None,
    )


def candidate(history: EpochHistory, image: Image, broker_id: int) -> Hashable:
    """A replica as a leader sees it in its image."""
    registration = image.registrations.get(broker_id)
    return None if registration is None else (registration.is_active, history.broker_epoch(registration.broker_epoch))


def asked(history: EpochHistory, request: AlterPartitionRequest | None) -> Hashable:
    if request is None:
        return None
    key = request.topic_id, request.partition_id
    members = tuple((member.broker_id, seen(history, member.broker_epoch)) for member in request.new_isr)
    return (
        history.leader_epoch(key, request.leader_epoch),
        history.partition_epoch(key, request.partition_epoch),
        history.broker_epoch(request.broker_epoch),
        members,
    )


def seen(history: EpochHistory, epoch: int) -> Ordinal | None:
    return None if epoch < 0 else history.broker_epoch(epoch)


def log(history: EpochHistory, key: PartitionKey, one: ReplicaLog) -> Hashable:
    entries = tuple(history.leader_epoch(key, entry.leader_epoch) for entry in one.read(0, WHOLE_BYTES))
    return (topic_number(key[0]), key[1], one.high_watermark, entries)
