"""All the checks of a controller, and what of its state they depend on."""

from __future__ import annotations

from collections.abc import Hashable

from impl.adapters.kraft.cluster import ControllerHost, Shape
from impl.adapters.kraft.unmodelled import membership, partitions, scripts, topics
from impl.adapters.kraft.unmodelled.asking import Asking, DocumentError
from impl.kraft.image import Image
from impl.kraft.messages import AlterConfigsRequest, UpdateFeatureRequest
from impl.kraft.records import BROKER_RESOURCE

CHECKS = (
    membership.registrations,
    membership.features,
    membership.producer_ids,
    membership.timers,
    topics.refused_topics,
    topics.created_topics,
    topics.more_partitions,
    topics.deletions,
    topics.configs,
    partitions.elections,
    partitions.reassignments,
    partitions.least_in_sync,
    partitions.cancels,
    partitions.alterations,
    scripts.reassignment_of_two,
    scripts.completion_below_min_isr,
    scripts.shutdown,
)


def key(host: ControllerHost) -> Hashable:
    """What a controller's answers depend on: its image without its epochs, and which leases run."""
    image, core = host.image, host.core
    registrations = tuple(
        (id_, one.fenced, one.in_controlled_shutdown, core.has_valid_session(id_, host.now_ms))
        for id_, one in sorted(image.registrations.items())
    )
    return (
        core.is_active,
        registrations,
        tuple(
            (p, one.replicas, one.isr, one.leader, one.adding_replicas, one.removing_replicas)
            for (_, p), one in sorted(image.partitions.items())
        ),
        len(image.topics),
    )


def held(shape: Shape, host: ControllerHost) -> None:
    """Raise DocumentError, or RecordError, where a controller answers something else than the document says."""
    if not host.core.is_active:
        membership.standby(host)
        return
    before = contents(host.core.speculative)
    for check in CHECKS:
        check(lambda: Asking(host))
    snapshots(shape, host)
    if contents(host.core.speculative) != before:
        raise DocumentError("a copy of a controller that changes leaves the controller as it was")


def snapshots(shape: Shape, host: ControllerHost) -> None:
    """A snapshot gives back all that it was written of, in a controller that has features and configs, too."""
    asking = Asking(host)
    asking.ask(UpdateFeatureRequest("feature", 3))
    for resource in ("", *(str(id_) for id_ in asking.image.registrations)):
        asking.ask(AlterConfigsRequest.of_one(BROKER_RESOURCE, resource, "min.insync.replicas", "1"))
    for kept_ms in ("2", None):
        asking.ask(AlterConfigsRequest.of_one(BROKER_RESOURCE, "", "retention.ms", kept_ms))
    for id_ in list(asking.image.registrations)[:1]:
        asking.ask(AlterConfigsRequest.of_one(BROKER_RESOURCE, str(id_), "min.insync.replicas", None))
    written = asking.core.snapshot()
    loaded = shape.controller(written)
    for name, value in contents(asking.core.committed).items():
        asking.require(contents(loaded.committed)[name] == value, f"{name} of a snapshot is {value}")
    again = loaded.snapshot()
    asking.require(again == written, f"a snapshot is written again as {again}, not {written}")
    copies(asking)


def copies(asking: Asking) -> None:
    """A controller and its copy change each on its own."""
    for level, original_changes in ((4, False), (5, True)):
        core, copy = asking.core, asking.core.copy()
        changing, kept = (core, copy) if original_changes else (copy, core)
        before = contents(kept.speculative)
        config = AlterConfigsRequest.of_one(BROKER_RESOURCE, "", "retention.ms", str(level))
        for request in (UpdateFeatureRequest("feature", level), config):
            effects = changing.handle(0, request, asking.now_ms)
            asking.require(bool(effects), "a change is written")
        asking.require(contents(kept.committed) == contents(kept.speculative) == before,
                       "a copy and its original change each on its own")  # fmt: skip


def contents(image: Image) -> dict[str, object]:
    """All that an image has."""
    return {
        "offset": image.offset,
        "epoch": image.epoch,
        "registrations": dict(image.registrations),
        "topics": dict(image.topics),
        "topic ids": dict(image.topic_ids),
        "partition counts": dict(image.partition_counts),
        "partitions": dict(image.partitions),
        "configs": {resource: dict(values) for resource, values in image.configs.items()},
        "features": dict(image.features),
        "next producer id": image.next_producer_id,
        "kept": dict(image.kept),
        "acls": dict(image.acls),
        "credentials": dict(image.credentials),
        "quotas": dict(image.quotas),
        "in_isr": {broker_id: frozenset(keys) for broker_id, keys in image.in_isr.items() if keys},
        "reassigning": frozenset(image.reassigning),
        "leaderless": frozenset(image.leaderless),
    }
