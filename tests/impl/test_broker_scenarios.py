"""Brokers and the controller together, told step by step: what a lost disk takes, and what it does not."""

from __future__ import annotations

from dataclasses import replace

from impl.kraft.broker import BrokerState
from impl.kraft.messages import AlterPartitionRequest
from tests.impl.test_broker_cluster import Cluster


def cluster() -> Cluster:
    """All run, and a record is acknowledged."""
    all_run = Cluster()
    all_run.run_first()
    all_run.write()
    all_run.calm_down(2)
    all_run.acknowledge()
    assert len(all_run.acknowledged) == 1
    return all_run


def test_a_follower_that_lost_its_disk_joins_only_once_it_has_everything() -> None:
    c = cluster()
    c.crash(1, lossy=True)
    c.calm_down(10)
    c.start(1)
    for _ in range(10):
        c.calm_down(1, lagging=1)
        assert c.alive[0].broker.leaders[c.key].maximal_isr == {0, 2}
    assert c.alive[1].broker.state == BrokerState.RUNNING
    c.crash(0, lossy=False)
    c.calm_down(10)
    assert c.runtime.partition(c.key).leader == 2
    c.acknowledged_records_survive()
    assert set(c.runtime.partition(c.key).isr) == {1, 2}


def test_a_request_for_a_broker_epoch_that_is_over_lets_nobody_into_the_isr() -> None:
    """KIP-903: the follower was seen caught up, lost its disk, and is back before the leader's request lands."""
    c = cluster()
    c.crash(1, lossy=False)
    c.calm_down(10)
    leader = c.alive[0].broker.leaders[c.key]
    assert leader.maximal_isr == {0, 2}
    c.start(1)
    while leader.pending_change is None:
        c.calm_down(1)
    c.work(0)
    [late] = [message for message in c.network if isinstance(message.request, AlterPartitionRequest)]
    c.network.remove(late)
    c.crash(1, lossy=True)
    c.start(1)
    c.calm_down(8, lagging=1, uninformed=0)
    assert c.runtime.image.is_active(1)
    assert isinstance(late.request, AlterPartitionRequest)
    assert c.runtime.image.registrations[1].broker_epoch > late.request.new_isr[1].broker_epoch
    before = c.runtime.partition(c.key)
    c.network.append(late)
    c.deliver(len(c.network) - 1, answered=True)
    assert c.runtime.partition(c.key) == replace(before, partition_epoch=before.partition_epoch + 1)
    assert leader.maximal_isr == {0, 2} and leader.pending_change is None
    c.calm_down(3, uninformed=0)
    assert c.has_all(1) and leader.pending_change is None, "the image of the leader has the process before"
    c.calm_down(3)
    assert set(c.runtime.partition(c.key).isr) == {0, 1, 2}
