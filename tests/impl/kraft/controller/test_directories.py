"""Log directories: who has which, where replicas are, and what becomes of those in one that fails (KIP-858)."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest

from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ElectPreferredLeaderRequest,
    ReplicaDirectory,
    UpdateFeatureRequest,
)
from impl.kraft.records import (
    NO_LEADER,
    FeatureLevelRecord,
    LogDirsChangeRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    SupportedFeature,
)
from impl.kraft.replica_directories import LOST, MIGRATING, UNASSIGNED
from impl.kraft.snapshot import load_snapshot, write_snapshot
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime, incarnation

ONE, OTHER, ALONE = UUID(int=101), UUID(int=102), UUID(int=103)
RESERVED = UUID(int=99)
WITH, WITHOUT = 17, 16
FEATURES = (SupportedFeature("metadata.version", 7, 19),)


def runtime_at(level: int) -> ControllerRuntime:
    bootstrap = (FeatureLevelRecord("metadata.version", level, level),)
    return ControllerRuntime(ControllerSettings(CLUSTER, bootstrap=bootstrap, supported_features=FEATURES))


def register(runtime: ControllerRuntime, broker_id: int, *log_dirs: UUID, life: int = 1) -> ErrorCode:
    return runtime.ask(
        BrokerRegistrationRequest(
            broker_id, CLUSTER, incarnation(broker_id, life), features=FEATURES, log_dirs=log_dirs
        )
    ).error


@pytest.fixture
def runtime() -> ControllerRuntime:
    """Broker 1 has two log directories, broker 2 one; broker 3 is fenced."""
    found = runtime_at(WITH)
    for broker_id, log_dirs in (1, (ONE, OTHER)), (2, (ALONE,)), (3, (UUID(int=104),)):
        assert register(found, broker_id, *log_dirs) is ErrorCode.NONE
        if broker_id < 3:
            found.heartbeat(broker_id)
    return found


def beat(runtime: ControllerRuntime, broker_id: int, *offline: UUID, want_fence: bool = False) -> None:
    epoch = runtime.image.registrations[broker_id].broker_epoch
    request = BrokerHeartbeatRequest(broker_id, epoch, runtime.image.offset, want_fence, False, offline)
    assert runtime.ask(request).error is ErrorCode.NONE


def assign(
    runtime: ControllerRuntime, broker_id: int, *replicas: tuple[UUID, PartitionKey]
) -> AssignReplicasToDirsResponse:
    epoch = runtime.image.registrations[broker_id].broker_epoch
    asked = tuple(ReplicaDirectory(directory, *key) for directory, key in replicas)
    return cast(AssignReplicasToDirsResponse, runtime.ask(AssignReplicasToDirsRequest(broker_id, epoch, asked)))


@pytest.mark.parametrize("log_dirs", [(), (RESERVED,), (LOST,), (ONE, ONE), (ALONE,), (ONE, ALONE)])
def test_no_broker_registers_with_what_cannot_be_its_directories(
    runtime: ControllerRuntime, log_dirs: tuple[UUID, ...]
) -> None:
    """ALONE is another one's."""
    runtime.heartbeat(1, want_fence=True)
    assert register(runtime, 1, *log_dirs, life=2) is ErrorCode.INVALID_REGISTRATION
    assert runtime.records() == []


def test_below_the_level_directories_are_not_kept() -> None:
    runtime = runtime_at(WITHOUT)
    assert register(runtime, 1, RESERVED, RESERVED) is ErrorCode.NONE
    runtime.heartbeat(1)
    key = runtime.create((1,))
    assert runtime.image.registrations[1].log_dirs == () == runtime.partition(key).directories
    assert assign(runtime, 1, (ONE, key)).error is ErrorCode.UNSUPPORTED_VERSION
    beat(runtime, 1, ONE)
    assert runtime.records() == []


def test_a_broker_that_registered_below_the_level_amends_its_registration(runtime: ControllerRuntime) -> None:
    before = runtime.image.registrations[1]
    assert register(runtime, 1, ONE, OTHER) is ErrorCode.NONE and runtime.records() == []
    assert register(runtime, 1) is ErrorCode.NONE and runtime.records() == []
    assert register(runtime, 1, ONE) is ErrorCode.NONE
    (record,) = runtime.records()
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.log_dirs, record.broker_epoch, record.fenced) == ((ONE,), before.broker_epoch, False)
    assert runtime.image.is_active(1)


def test_a_replica_is_in_the_only_directory_of_its_broker_or_in_one_that_it_will_say(
    runtime: ControllerRuntime,
) -> None:
    key = runtime.create((1, 2))
    assert runtime.partition(key).directories == (UNASSIGNED, ALONE)
    assert assign(runtime, 1, (ONE, key)).errors == (ErrorCode.NONE,)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], directories=(ONE, ALONE))]
    assert assign(runtime, 1, (ONE, key)).errors == (ErrorCode.NONE,) and runtime.records() == []


def test_what_a_broker_says_of_replicas_that_are_none_is_refused(runtime: ControllerRuntime) -> None:
    key = runtime.create((2,))
    answer = assign(runtime, 1, (ONE, key), (ONE, (key[0], 7)), (ONE, (UUID(int=77), 0)))
    assert answer.errors == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID,
    )  # fmt: skip
    for broker_id, epoch in (1, 1 << 40), (9, 0):
        late = AssignReplicasToDirsRequest(broker_id, epoch, (ReplicaDirectory(ONE, *key),))
        assert runtime.ask(late) == AssignReplicasToDirsResponse(ErrorCode.STALE_BROKER_EPOCH)


def test_directories_follow_their_replicas(runtime: ControllerRuntime) -> None:
    key = runtime.create((1, 2))
    assign(runtime, 1, (OTHER, key))
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, (2, 3, 1)))
    assert runtime.partition(key).replicas == (2, 3, 1)
    assert runtime.partition(key).directories == (ALONE, UUID(int=104), OTHER)
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, (2,)))
    runtime.alter_isr(key, *runtime.partition(key).isr)
    assert (runtime.partition(key).replicas, runtime.partition(key).directories) == ((2,), (ALONE,))


def test_a_directory_that_fails_takes_its_broker_out_of_what_is_in_it(runtime: ControllerRuntime) -> None:
    """And of nothing else; said again, nothing follows."""
    first, second = runtime.create((1, 2), name="first"), runtime.create((1, 2), name="second")
    assign(runtime, 1, (ONE, first), (OTHER, second))
    beat(runtime, 1, ONE, UUID(int=777))
    epoch = runtime.image.registrations[1].broker_epoch
    assert runtime.records() == [
        PartitionChangeRecord(0, first[0], isr=(2,), leader=2), LogDirsChangeRecord(1, epoch, (OTHER,)),
    ]  # fmt: skip
    assert runtime.image.registrations[1].log_dirs == (OTHER,)
    beat(runtime, 1, ONE, UUID(int=777))
    assert runtime.records() == []
    assert runtime.partition(second).leader == 1


def test_that_all_directories_failed_is_not_written(runtime: ControllerRuntime) -> None:
    key = runtime.create((2, 1))
    beat(runtime, 2, ALONE)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], isr=(1,), leader=1)]


def test_a_broker_that_is_fenced_in_the_same_heartbeat_leaves_its_isrs_once(runtime: ControllerRuntime) -> None:
    key = runtime.create((1, 2))
    assign(runtime, 1, (ONE, key))
    beat(runtime, 1, ONE, want_fence=True)
    changes = [record for record in runtime.records() if isinstance(record, PartitionChangeRecord)]
    assert changes == [PartitionChangeRecord(0, key[0], isr=(2,), leader=2)]
    assert runtime.image.registrations[1].fenced


def test_nobody_leads_from_a_directory_that_is_offline(runtime: ControllerRuntime) -> None:
    key = runtime.create((1,))
    assign(runtime, 1, (ONE, key))
    beat(runtime, 1, ONE)
    assert (runtime.partition(key).leader, runtime.partition(key).isr) == (NO_LEADER, (1,))
    assert runtime.ask(ElectPreferredLeaderRequest("orders", 0)).error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    beat(runtime, 1, want_fence=True)
    beat(runtime, 1)
    assert runtime.image.is_active(1) and runtime.partition(key).leader == NO_LEADER
    assign(runtime, 1, (OTHER, key))
    assert runtime.ask(ElectPreferredLeaderRequest("orders", 0)).error is ErrorCode.NONE
    assert runtime.partition(key).leader == 1


def test_a_directory_that_fails_as_its_broker_is_unfenced_leads_nothing(runtime: ControllerRuntime) -> None:
    key = runtime.create((1,))
    assign(runtime, 1, (ONE, key))
    beat(runtime, 1, want_fence=True)
    beat(runtime, 1, ONE)
    assert runtime.image.is_active(1)
    assert runtime.partition(key).leader == NO_LEADER


def test_a_replica_that_is_placed_in_a_directory_that_is_offline_leaves_the_isr(runtime: ControllerRuntime) -> None:
    key = runtime.create((1, 2))
    assert assign(runtime, 1, (UUID(int=777), key)).errors == (ErrorCode.NONE,)
    assert runtime.records() == [
        PartitionChangeRecord(0, key[0], directories=(UUID(int=777), ALONE)),
        PartitionChangeRecord(0, key[0], isr=(2,), leader=2),
    ]


def test_a_snapshot_has_directories(runtime: ControllerRuntime) -> None:
    key = runtime.create((1, 2))
    assign(runtime, 1, (ONE, key))
    loaded = load_snapshot(write_snapshot(runtime.image))
    assert loaded.partitions[key].directories == (ONE, ALONE)
    assert loaded.registrations[1].log_dirs == (ONE, OTHER)


def test_what_was_before_the_level_has_directories_once_they_are_said() -> None:
    runtime = runtime_at(WITHOUT)
    for broker_id, log_dir in (1, ONE), (2, ALONE):
        register(runtime, broker_id, log_dir)
        runtime.heartbeat(broker_id)
    key = runtime.create((1, 2))
    assert runtime.ask(UpdateFeatureRequest("metadata.version", WITH)).error is ErrorCode.NONE
    runtime.alter_isr(key, 1)
    assert runtime.partition(key).directories == ()
    assert runtime.partition(runtime.create((1,), name="later")).directories == (MIGRATING,)
    for broker_id, log_dir in (1, ONE), (2, ALONE):
        assert register(runtime, broker_id, log_dir) is ErrorCode.NONE
    assign(runtime, 2, (ALONE, key))
    assert runtime.partition(key).directories == (MIGRATING, ALONE)
    assert runtime.partition(runtime.create((1,), name="last")).directories == (ONE,)
