"""What a broker says of its log directories, as the metadata has it otherwise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from uuid import UUID

from impl.kraft.messages import AssignReplicasToDirsRequest, BrokerRegistrationRequest, ReplicaDirectory
from impl.kraft.records import FeatureLevelRecord, RegisterBrokerRecord
from impl.kraft.server.placing import Placing
from impl.kraft.server.replica_logs import StoredReplicaLogs
from impl.kraft.storage.real_disk import RealDisk
from tests.impl.kraft.server.one_broker import EPOCHS, ID, TOPIC_ID, NoController, OneBroker

ONE, OTHER = UUID(int=101), UUID(int=102)


def placing_of(one: OneBroker, folder: Path) -> Placing:
    """With two log directories, of which replicas are in both."""
    log_dirs = {str(folder / "x"): ONE, str(folder / "y"): OTHER}
    for path in log_dirs:
        Path(path).mkdir()
    logs = StoredReplicaLogs(RealDisk(), tuple(log_dirs))
    one.broker._room = logs
    return Placing(one.broker, logs, NoController(), log_dirs)


def level(number: int) -> FeatureLevelRecord:
    return FeatureLevelRecord("metadata.version", number, number)


def registered(*log_dirs: UUID) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(ID, UUID(int=ID), EPOCHS[ID], fenced=False, log_dirs=log_dirs)


def test_a_broker_registers_again_and_then_says_where_its_replicas_are(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    placing = placing_of(one, tmp_path)
    one.create_topic(partitions=3)
    one.replay(level(16))
    assert placing.next_request() is None
    one.replay(level(17))
    again = placing.next_request()
    assert isinstance(again, BrokerRegistrationRequest) and again.incarnation_id == UUID(int=ID)
    one.replay(registered(ONE, OTHER))
    request = placing.next_request()
    assert isinstance(request, AssignReplicasToDirsRequest) and request.broker_epoch == EPOCHS[ID]
    assert sorted(replica.partition_id for replica in request.replicas) == [0, 1, 2]
    assert sorted(Counter(replica.directory for replica in request.replicas).values()) == [1, 2]


def test_what_the_metadata_has_is_not_said(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    placing = placing_of(one, tmp_path)
    one.create_topic()
    one.replay(level(17), registered(ONE, OTHER))
    request = placing.next_request()
    assert isinstance(request, AssignReplicasToDirsRequest)
    assert request.replicas == (ReplicaDirectory(ONE, TOPIC_ID, 0),)
    one.change(directories=(OTHER,))
    assert placing.next_request() == request
    one.change(directories=(ONE,))
    assert placing.next_request() is None


def test_a_process_that_is_superseded_says_nothing(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    placing = placing_of(one, tmp_path)
    one.create_topic()
    one.replay(level(17), RegisterBrokerRecord(ID, UUID(int=99), EPOCHS[ID] + 50, log_dirs=(ONE,)))
    assert placing.next_request() is None
