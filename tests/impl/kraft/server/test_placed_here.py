"""Replicas come and go with the metadata: their logs are kept over a restart, and gone with their topic."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from impl.kraft.records import PartitionRecord, RemoveTopicRecord, TopicRecord
from impl.kraft.server.replica_logs import StoredReplicaLogs
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.real_disk import RealDisk
from tests.impl.kraft.server.one_broker import ID, OTHER, TOPIC, TOPIC_ID, OneBroker

NEW_ID = UUID(int=51)
BATCH = encode(RecordBatch(0, 0, 0, (Record(b"value"),)))


def test_a_replica_goes_on_where_its_process_was_killed(tmp_path: Path) -> None:
    first = OneBroker(tmp_path, topic_first=True)
    first.broker.append((TOPIC_ID, 0), BATCH)
    again = OneBroker(tmp_path, topic_first=True)
    assert again.broker.logs[TOPIC_ID, 0].end_offset == 1
    assert again.broker.append((TOPIC_ID, 0), BATCH)[1] == 2


def test_a_topic_that_is_deleted_and_made_anew_at_once_begins_empty(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()
    one.broker.append((TOPIC_ID, 0), BATCH)
    one.replay(
        RemoveTopicRecord(topic_id=TOPIC_ID),
        TopicRecord(name=TOPIC, topic_id=NEW_ID),
        PartitionRecord(
            topic_id=NEW_ID, partition_id=0, replicas=(ID,), isr=(ID,), removing_replicas=(), adding_replicas=(),
            leader=ID, leader_epoch=0, partition_epoch=0,
        ),
    )  # fmt: skip
    assert list(one.broker.logs) == [(NEW_ID, 0)] and one.broker.logs[NEW_ID, 0].end_offset == 0
    one.broker.append((NEW_ID, 0), BATCH)
    found = StoredReplicaLogs(RealDisk(), (str(tmp_path),)).load()
    assert {key: log.end_offset for key, log in found.items()} == {(NEW_ID, 0): 1}


def test_a_replica_that_moves_away_is_gone(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()
    one.change(replicas=(OTHER,), isr=(OTHER,), leader=OTHER)
    assert one.broker.logs == {} and list(tmp_path.iterdir()) == []
