"""Log directories of brokers: which replica is in which, and what becomes of those whose directory fails. KIP-858.

Each log directory has an id. A broker says which it has as it registers, and in which a replica is; where it has one,
the controller knows. One that fails takes the broker out of the ISRs of what is in it, and the broker lives on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from uuid import UUID

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.partitions import change, taken_out
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Partition, Registration
from impl.kraft.messages import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerRegistrationRequest,
    ReplicaDirectory,
)
from impl.kraft.records import LogDirsChangeRecord, Record
from impl.kraft.replica_directories import is_online, is_reserved


def registered_directories(image: Image, request: BrokerRegistrationRequest) -> tuple[UUID, ...] | None:
    """Those that a broker registers with, of which a level without directories keeps none; None: no broker may."""
    if not image.knows_directories:
        return ()
    asked = request.log_dirs
    if not asked or len(set(asked)) < len(asked) or any(map(is_reserved, asked)):
        return None
    others = (held.log_dirs for broker_id, held in image.registrations.items() if broker_id != request.broker_id)
    return asked if set(asked).isdisjoint(chain.from_iterable(others)) else None


def taken_offline(
    image: Image, settings: ControllerSettings, registration: Registration, offline: Collection[UUID]
) -> tuple[Record, ...]:
    """What follows from a broker's word that these directories are offline; nothing where that was known.

    That all are cannot be written; such a broker ends.
    """
    if not image.knows_directories or not set(offline) & set(registration.log_dirs):
        return ()
    broker_id = registration.broker_id
    lost = [
        key
        for key in image.in_isr.get(broker_id, ())
        if image.partitions[key].directory_of(broker_id) in offline
    ]  # fmt: skip
    rest = tuple(directory for directory in registration.log_dirs if directory not in offline)
    changed = (LogDirsChangeRecord(broker_id, registration.broker_epoch, rest),) if rest else ()
    return (*taken_out(image, settings, broker_id, lost), *changed)


def assign_directories(image: Image, settings: ControllerSettings, request: AssignReplicasToDirsRequest) -> Decision:
    """A broker says in which directories replicas are. Where one is offline, the broker leaves the replica's ISR."""
    if not image.knows_directories:
        return Decision(AssignReplicasToDirsResponse(ErrorCode.UNSUPPORTED_VERSION))
    registration = image.registrations.get(request.broker_id)
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return Decision(AssignReplicasToDirsResponse(ErrorCode.STALE_BROKER_EPOCH))
    errors, records, lost = list[ErrorCode](), list[Record](), list[tuple[UUID, int]]()
    for asked in request.replicas:
        error = _error_of(image, request.broker_id, asked)
        errors.append(error)
        if error is ErrorCode.NONE:
            key = (asked.topic_id, asked.partition_id)
            placed = with_directory(image.partitions[key], request.broker_id, asked.directory)
            records += change(image, settings, key, placed, image.is_active)
            if not is_online(asked.directory, registration.log_dirs):
                lost.append(key)
    in_isr = image.in_isr.get(request.broker_id, ())
    records += taken_out(image, settings, request.broker_id, [key for key in lost if key in in_isr])
    return Decision(AssignReplicasToDirsResponse(ErrorCode.NONE, tuple(errors)), tuple(records))


def _error_of(image: Image, broker_id: int, asked: ReplicaDirectory) -> ErrorCode:
    if asked.topic_id not in image.topics:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = image.partitions.get((asked.topic_id, asked.partition_id))
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker_id in partition.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER


def with_directory(partition: Partition, broker_id: int, directory: UUID) -> Partition:
    """The partition with a replica in another directory."""
    held = zip(partition.replicas, partition.known_directories, strict=True)
    directories = (directory if replica == broker_id else one for replica, one in held)
    return replace(partition, directories=tuple(directories))
