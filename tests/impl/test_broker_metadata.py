"""Effects of the metadata on a broker: which replicas lead, follow or go."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.broker import BrokerState, Due, PartitionFollower
from impl.kraft.errors import ErrorCode
from impl.kraft.image import ReplayError
from impl.kraft.messages import BrokerRegistrationResponse
from impl.kraft.records import (
    ConfigRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from impl.kraft.snapshot import Snapshot, write_snapshot
from tests.impl.broker_parts import KEY, TOPIC, World, incarnation, log_of


def roles(world: World) -> tuple[bool, bool]:
    """True if the broker leads, and true if it follows."""
    return KEY in world.broker.leaders, KEY in world.broker.followers


def test_a_replica_leads_follows_or_does_neither() -> None:
    world = World().running().with_partition(isr=(1, 2))
    assert roles(world) == (True, False)
    world.change(leader=2)
    assert roles(world) == (False, True)
    assert world.broker.followers[KEY] == PartitionFollower(leader=2, leader_epoch=1)
    world.change(leader=-1)
    assert roles(world) == (False, False)
    world.change(leader=1)
    assert roles(world) == (True, False)
    assert world.broker.leaders[KEY].leader_epoch == 3


def test_a_broker_that_has_no_replica_of_a_partition_has_nothing_to_do_with_it() -> None:
    world = World().running()
    world.replay(TopicRecord("t", TOPIC), PartitionRecord(0, TOPIC, (2, 3), (2, 3), leader=2))
    assert roles(world) == (False, False) and world.broker.logs == {}


def test_nothing_is_made_of_an_image_before_the_broker_knows_its_epoch() -> None:
    world = World()
    world.broker.start(0)
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0, fenced=False))
    world.with_partition()
    assert roles(world) == (False, False)
    request = world.communicate()
    world.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 0), 0)
    world.due(Due.PUBLICATION)
    assert roles(world) == (True, False)


def test_a_replica_that_is_not_in_the_isr_is_found_too_once_the_broker_knows_its_epoch() -> None:
    world = World()
    world.broker.start(0)
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0, fenced=False))
    world.with_partition(isr=(2,), leader=2)
    request = world.communicate()
    world.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 0), 0)
    world.due(Due.PUBLICATION)
    assert roles(world) == (False, True)


def test_nothing_is_made_of_an_image_that_is_not_caught_up() -> None:
    world = World(disk={KEY: log_of(0)}).registered()
    batch = world.batch(RegisterBrokerRecord(1, incarnation(1), 0))
    world.broker.replay([batch], 3, 0)
    world.due(Due.PUBLICATION)
    assert world.broker.state == BrokerState.STARTING and KEY in world.broker.logs


def test_an_image_that_has_an_older_registration_is_too_old_to_act_on() -> None:
    world = World(disk={KEY: log_of(0)}).registered(broker_epoch=3)
    world.replay(RegisterBrokerRecord(1, UUID(int=9), 0), NoOpRecord(), NoOpRecord())
    assert world.broker.applied_offset == -1 and KEY in world.broker.logs
    world.replay(RegisterBrokerRecord(1, incarnation(1), 3))
    assert world.broker.applied_offset == 3


@pytest.mark.parametrize("leader", [1, 2])
def test_a_superseded_broker_neither_leads_nor_follows_and_keeps_its_logs(leader: int) -> None:
    world = World().running().with_partition(isr=(1, 2), leader=leader)
    world.broker.logs[KEY].append(log_of(0).entries)
    assert roles(world) == (leader == 1, leader == 2)
    epoch = world.registered_anew(1)
    assert epoch > 0 and roles(world) == (False, False)
    assert world.broker.logs[KEY].end_offset == 1
    assert world.broker.applied_offset == world.broker.image.offset
    world.change(leader=2)
    assert roles(world) == (False, False)


def test_an_unregistered_broker_neither_leads_nor_follows() -> None:
    world = World().running().with_partition()
    world.replay(UnregisterBrokerRecord(1, 0))
    assert roles(world) == (False, False)


def test_a_fenced_broker_still_does_what_the_image_says() -> None:
    world = World().running().with_partition()
    world.replay(FenceBrokerRecord(1, 0))
    assert roles(world) == (True, False)


def test_logs_of_deleted_and_recreated_topics_are_deleted_at_the_start_of_recovery() -> None:
    old, elsewhere = (UUID(int=8), 0), (TOPIC, 1)
    world = World(disk={KEY: log_of(0), old: log_of(0), elsewhere: log_of(0)}).registered()
    records = (
        RegisterBrokerRecord(1, incarnation(1), 0),
        TopicRecord("t", TOPIC),
        PartitionRecord(0, TOPIC, (1, 2), (2,), leader=2),
        PartitionRecord(1, TOPIC, (2, 3), (2,), leader=2),
    )
    world.replay(*records)
    assert world.broker.state == BrokerState.RECOVERY
    assert set(world.broker.logs) == {KEY}
    assert world.broker.logs[KEY].end_offset == 1


def test_the_log_of_a_deleted_topic_is_deleted() -> None:
    world = World().running().with_partition()
    world.replay(RemoveTopicRecord(TOPIC))
    assert roles(world) == (False, False) and world.broker.logs == {}


def test_a_topic_that_was_deleted_and_created_again_starts_from_an_empty_log() -> None:
    world = World().running().with_partition()
    world.broker.append(KEY, b"x")
    again = UUID(int=70)
    world.replay(RemoveTopicRecord(TOPIC), TopicRecord("t", again), PartitionRecord(0, again, (1,), (1,), leader=1))
    assert {key: log.end_offset for key, log in world.broker.logs.items()} == {(again, 0): 0}
    assert set(world.broker.leaders) == {(again, 0)}


@pytest.mark.parametrize("leader", [1, 2])
def test_a_replica_that_is_removed_is_deleted(leader: int) -> None:
    world = World().running().with_partition(isr=(1, 2), leader=leader)
    assert roles(world) == (leader == 1, leader == 2)
    world.replay(PartitionChangeRecord(0, TOPIC, isr=(2,), leader=2, replicas=(2, 3)))
    assert roles(world) == (False, False) and world.broker.logs == {}


def test_only_what_changed_is_looked_at() -> None:
    world = World().running().with_partition()
    leader = world.broker.leaders[KEY]
    world.broker.leaders.clear()
    world.replay(NoOpRecord())
    assert world.broker.leaders == {}
    world.change(isr=(1,))
    assert world.broker.leaders[KEY] is not leader


def test_a_snapshot_takes_the_place_of_the_log() -> None:
    old = (UUID(int=8), 0)
    world = World().running().with_partition()
    snapshot = write_snapshot(world.broker.image)
    other = World(disk={KEY: log_of(0), old: log_of(0)}).registered()
    other.broker.load(snapshot, snapshot.offset + 2, 0)
    too_old = other.broker.state
    other.broker.load(snapshot, snapshot.offset + 1, 0)
    assert (too_old, other.broker.state) == (BrokerState.STARTING, BrokerState.RECOVERY)
    assert roles(other) == (True, False) and set(other.broker.logs) == {KEY}


def test_a_running_broker_takes_from_a_snapshot_what_it_missed() -> None:
    ahead = World().running().with_partition()
    ahead.replay(RemoveTopicRecord(TOPIC))
    behind = World().running().with_partition()
    behind.broker.load(write_snapshot(ahead.broker.image), ahead.end_offset, 0)
    assert roles(behind) == (False, False) and behind.broker.logs == {}
    assert behind.broker.applied_offset == ahead.end_offset - 1


def test_no_image_goes_back_to_an_older_snapshot() -> None:
    world = World().running()
    with pytest.raises(ReplayError, match="a snapshot up to offset 0 is older than the image"):
        world.broker.load(Snapshot(0, 1, ()), 1, 0)


def test_metadata_responses_name_the_brokers_that_are_not_fenced() -> None:
    world = World().running()
    world.replay(FenceBrokerRecord(2, 1))
    world.replay(RegisterBrokerRecord(0, incarnation(0), world.end_offset, fenced=False))
    assert [registration.broker_id for registration in world.broker.alive_brokers()] == [0, 1, 3]


def test_min_insync_replicas_is_the_topics_own_where_it_has_one() -> None:
    world = World().running().with_partition()
    assert world.broker.min_insync_replicas(TOPIC) == 1
    world.replay(ConfigRecord(2, "t", "min.insync.replicas", "2"))
    assert world.broker.min_insync_replicas(TOPIC) == 2
    assert world.broker.append(KEY, b"x") == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
