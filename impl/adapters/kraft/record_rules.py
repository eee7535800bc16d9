"""What the record formats allow a controller to write (KIP-631, Record Formats), held against every batch as it is.

A replay forgives: one that looks only at the id of a fence record does not see its epoch. So records are looked at
before they are replayed, and what the replay makes of them is held against what the document says of each.
"""

from __future__ import annotations

from impl.kraft.image import Image, Partition, Registration, quota_of
from impl.kraft.records import (
    LEADER_UNCHANGED,
    NO_LEADER,
    AccessControlEntryRecord,
    Batch,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    KeptRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)

LISTS = "isr", "replicas", "removing_replicas", "adding_replicas"


class RecordError(AssertionError):
    """A batch that the document does not allow, or that a replay does not take for what it says."""


def replayed(image: Image, batch: Batch, epoch: int, *, by_kafka: bool = False) -> Image:
    """The image after a batch of the controller of `epoch`. Raises RecordError where it should not be written.

    by_kafka: as Kafka writes them: a registration that its incarnation repeats and a second fencing change nothing, a
    broker epoch is the first offset of the batch with the registration.
    """
    require(batch.base_offset == image.offset + 1, batch, f"a batch begins after the log's end, {image.offset}")
    require(batch.epoch == epoch and len(batch.records) > 0, batch, f"a batch has records, and epoch {epoch}")
    after = image.copy()
    for offset, record in enumerate(batch.records, batch.base_offset):
        if not (by_kafka and repeats(after, record)):
            look_at(after, record, batch.base_offset if by_kafka else offset, by_kafka=by_kafka)
        before = after.copy() if isinstance(record, RemoveTopicRecord) else None
        wanted = partition_after(after, record)
        after.replay_record(record)
        look_at_replay(after, record, wanted, before)
    after.offset, after.epoch = batch.last_offset, epoch
    return after


def repeats(image: Image, record: Record) -> bool:
    """A record says of a broker what is so already."""
    match record:
        case RegisterBrokerRecord():
            held = image.registrations.get(record.broker_id)
            return held is not None and all(getattr(held, name) == getattr(record, name) for name in REGISTRATION)
        case FenceBrokerRecord():
            return registration_of(image, record).fenced
    return False


def require(holds: bool, what: object, rule: str) -> None:
    if not holds:
        raise RecordError(f"{what}: {rule}")


def look_at(image: Image, record: Record, epoch: int, *, by_kafka: bool) -> None:
    """Hold a record against the image that it is written on. epoch: of a broker that it registers."""
    match record:
        case RegisterBrokerRecord():
            held = image.registrations.get(record.broker_id)
            again = held is not None and held.incarnation_id == record.incarnation_id
            require(not again, record, "an incarnation is registered once")
            require(record.broker_epoch == epoch, record, f"the broker epoch is the offset of the record, {epoch}")
            require(record.fenced and not record.in_controlled_shutdown, record, "a broker is registered as fenced")
        case FenceBrokerRecord() | UnfenceBrokerRecord():
            fences = isinstance(record, FenceBrokerRecord)
            require(registration_of(image, record).fenced != fences, record, "a broker is fenced and unfenced in turn")
        case BrokerRegistrationChangeRecord():
            registration_of(image, record)
            require(record.in_controlled_shutdown, record, "a registration changes when a shutdown begins")
        case UnregisterBrokerRecord():
            registration_of(image, record)
        case TopicRecord():
            is_new = record.topic_id not in image.topics and record.name not in image.topic_ids
            require(is_new, record, "name and id of a topic are new")
        case PartitionRecord():
            look_at_partition(image, record)
        case PartitionChangeRecord():
            look_at_change(image, record)
        case RemoveTopicRecord():
            require(record.topic_id in image.topics, record, "the topic is there")
        case ConfigRecord():
            held_value = image.configs_of(record.resource_type, record.resource_name).get(record.name)
            require(record.value != held_value, record, "a config changes")
        case FeatureLevelRecord():
            require(record.min_feature_level == record.max_feature_level, record, "a feature has one level")


def registration_of(
    image: Image,
    record: FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord | UnregisterBrokerRecord,
) -> Registration:
    """The registration that a record is about, which it names with its epoch."""
    held = image.registrations.get(record.broker_id)
    if held is None or held.broker_epoch != record.broker_epoch:
        raise RecordError(f"{record}: the broker is registered, at this broker epoch")
    return held


def look_at_partition(image: Image, record: PartitionRecord) -> None:
    require(
        record.partition_id == image.partition_counts.get(record.topic_id), record, "partitions are numbered from 0"
    )
    require(len(set(record.replicas)) == len(record.replicas) > 0, record, "replicas are different brokers")
    active = tuple(replica for replica in record.replicas if image.is_active(replica))
    require(record.isr == active and len(active) > 0, record, f"the ISR are the active replicas, {active}")
    require(record.leader == active[0], record, "the first active replica leads")
    require((record.leader_epoch, record.partition_epoch) == (0, 0), record, "epochs begin with 0")
    require(not record.adding_replicas and not record.removing_replicas, record, "nothing is reassigned yet")


def look_at_change(image: Image, record: PartitionChangeRecord) -> None:
    """A change names what changes, and nothing else; and a leader that stays where a replica goes, as it leads anew."""
    held = image.partitions.get((record.topic_id, record.partition_id))
    if held is None:
        raise RecordError(f"{record}: the partition is there")
    if loses_replica(held, record):
        require(record.leader != LEADER_UNCHANGED, record, "where a replica goes, the leader is named")
    else:
        require(record.leader != held.leader, record, "a leader that goes on to lead is not named")
    for name in LISTS:
        require(getattr(record, name) != getattr(held, name), record, f"{name} that stay are not named")
    after = changed(held, record)
    require(0 < len(after.isr) == len(set(after.isr)), record, "the ISR has members, each once")
    require(set(after.isr) <= set(after.replicas), record, "the ISR is within the replicas")
    require(len(set(after.replicas)) == len(after.replicas), record, "replicas are different brokers")
    require(
        {*after.adding_replicas, *after.removing_replicas} <= set(after.replicas), record, "what moves is a replica"
    )
    require(after.leader == NO_LEADER or after.leader in after.isr, record, "the leader is in the ISR")


def loses_replica(held: Partition, record: PartitionChangeRecord) -> bool:
    return record.replicas is not None and not set(held.replicas) <= set(record.replicas)


def changed(held: Partition, record: PartitionChangeRecord) -> Partition:
    """A partition after a change, as the document has it: fields that are null stay (section PartitionChangeRecord)."""
    named = {name: getattr(record, name) for name in LISTS}
    lists = {name: getattr(held, name) if value is None else value for name, value in named.items()}
    is_led_anew = record.leader != LEADER_UNCHANGED
    return Partition(
        **lists,
        leader=record.leader if is_led_anew else held.leader,
        leader_epoch=held.leader_epoch + is_led_anew,
        partition_epoch=held.partition_epoch + 1,
    )


def partition_after(image: Image, record: Record) -> Partition | None:
    """The partition that a replay of the record must leave, if it is about one."""
    match record:
        case PartitionChangeRecord():
            return changed(image.partitions[record.topic_id, record.partition_id], record)
        case PartitionRecord():
            return Partition(
                record.replicas, record.isr, record.removing_replicas, record.adding_replicas,
                record.leader, record.leader_epoch, record.partition_epoch,
            )  # fmt: skip
    return None


def look_at_replay(after: Image, record: Record, wanted: Partition | None, before: Image | None) -> None:
    """Hold the image after a record against what the record says."""
    match record:
        case PartitionRecord() | PartitionChangeRecord():
            found = after.partitions.get((record.topic_id, record.partition_id))
            require(found == wanted, record, f"its replay makes {found} of it, not {wanted}")
        case RegisterBrokerRecord():
            held = after.registrations.get(record.broker_id)
            same = held is not None and all(getattr(held, name) == getattr(record, name) for name in REGISTRATION)
            require(same, record, f"its replay makes {held} of it")
        case UnregisterBrokerRecord():
            require(record.broker_id not in after.registrations, record, "its replay removes the registration")
        case RemoveTopicRecord():
            kept = record.topic_id in after.topics or record.topic_id in after.topic_ids.values()
            gone = not kept and not any(key[0] == record.topic_id for key in after.partitions)
            name = None if before is None else before.topics.get(record.topic_id)
            no_config = not any(resource_name == name for _, resource_name in after.configs)
            require(gone and no_config, record, "its replay removes the topic with its partitions and configs")
        case ConfigRecord():
            value = after.configs_of(record.resource_type, record.resource_name).get(record.name)
            require(value == record.value, record, f"its replay leaves {value}")
        case FeatureLevelRecord():
            levels = after.features.get(record.name)
            wanted_levels = (record.min_feature_level, record.max_feature_level) if record.max_feature_level else None
            require(levels == wanted_levels, record, f"its replay leaves {levels}")
        case ProducerIdsRecord():
            found_id = after.next_producer_id
            require(found_id == record.next_producer_id, record, f"its replay leaves {found_id}")
        case KeptRecord():
            wanted_value = None if record.removes else record.value
            require(after.kept.get(record.key) == wanted_value, record, "its replay keeps it, or keeps nothing of it")
        case AccessControlEntryRecord():
            require(after.acls.get(record.id) == record, record, "its replay adds the ACL")
        case RemoveAccessControlEntryRecord():
            require(record.id not in after.acls, record, "its replay removes the ACL")
        case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
            credential = record if isinstance(record, UserScramCredentialRecord) else None
            found_of = after.credentials.get((record.name, record.mechanism))
            require(found_of == credential, record, "its replay sets the credential, or removes it")
        case ClientQuotaRecord():
            quota = after.quotas.get(quota_of(record.entity, record.key))
            require(
                quota == (None if record.remove else record.value), record, "its replay sets the quota, or removes it"
            )


REGISTRATION = (
    "broker_id", "incarnation_id", "broker_epoch", "endpoints", "features", "rack", "fenced", "in_controlled_shutdown",
)  # fmt: skip
