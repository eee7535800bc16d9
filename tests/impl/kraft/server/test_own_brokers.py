"""Brokers of ours under controllers of ours: whatever is killed, paused or moved, nothing acknowledged is lost."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.cluster.kafka import until
from tests.impl.kraft.server.brokers import records
from tests.impl.kraft.server.clients import TOPIC, Producing, read_all
from tests.impl.kraft.server.controllers import VOTERS
from tests.impl.kraft.server.own_brokers import BROKERS, OwnBrokers, own_cluster
from tests.impl.kraft.server.own_topic import OwnTopic

PARTITIONS = 2


@pytest.mark.large("six processes, of which some are killed and started again")
def test_nothing_acknowledged_is_lost_whatever_is_killed_paused_moved_or_stopped(tmp_path: Path) -> None:
    with own_cluster(tmp_path, {"replica.lag.time.max.ms": 3_000}) as brokers:
        topic = OwnTopic(brokers)
        topic.create(PARTITIONS)
        producing = Producing(brokers.addresses)
        producing.await_more()

        controller = brokers.controllers.await_leader()
        brokers.controllers.processes[controller].kill()
        producing.await_more()
        controller = brokers.controllers.await_leader(tuple(node for node in VOTERS if node != controller))

        killed = topic.leader(0)
        brokers.kill(killed)
        producing.await_more()
        topic.await_partitions(lambda one: killed not in one["isr_nodes"], "the killed one is not in the ISR")
        brokers.start(killed)
        topic.await_partitions(lambda one: len(one["isr_nodes"]) == len(BROKERS), "it is in the ISR again")
        producing.await_more()

        stopped = topic.leader(0)
        assert brokers.terminate(stopped) == 0
        producing.await_more()
        brokers.start(stopped)
        topic.await_partitions(lambda one: len(one["isr_nodes"]) == len(BROKERS), "so is who was stopped")

        paused = topic.leader(0)
        brokers.processes[paused].pause()
        until(lambda: is_fenced(brokers, controller, paused), "who is silent is fenced")
        producing.await_more()
        brokers.processes[paused].resume()
        topic.await_partitions(lambda one: len(one["isr_nodes"]) == len(BROKERS), "and so is who was paused")

        left = [node for node in BROKERS if node != topic.leader(0)]
        topic.reassign(0, left)
        until(lambda: sorted(topic.partitions()[0]["replica_nodes"]) == left, "partition 0 has moved")
        producing.await_more()

        acknowledged = producing.stop()
        found = list(chain(*read_all(brokers.addresses, PARTITIONS)))
        assert set(acknowledged) <= set(found) and len(found) == len(set(found))  # none is lost, none is there twice
        until(topic.is_alike, "replicas are alike")


def is_fenced(brokers: OwnBrokers, controller: int, node: int) -> bool:
    """By the last record about it in the log of a controller."""
    about = [line for line in records(brokers.controllers, controller).splitlines() if f'"data":{{"id":{node},' in line]
    return '"FENCE_BROKER_RECORD"' in about[-1]


@pytest.mark.long("four processes")
def test_logs_are_in_several_directories_and_found_there_by_a_start(tmp_path: Path) -> None:
    folders = [tmp_path / "x", tmp_path / "y"]
    directories = {"log.dirs": ",".join(map(str, folders))}
    with own_cluster(tmp_path, nodes=(11,), of_brokers=directories) as brokers:
        topic = OwnTopic(brokers)
        topic.create(PARTITIONS, {})
        assert [len(list(folder.glob(f"{TOPIC}-*"))) for folder in folders] == [1, 1]
        producing = Producing(brokers.addresses)
        producing.await_more()
        brokers.restart(11)
        producing.await_more()
        acknowledged = producing.stop()
        found = list(chain(*read_all(brokers.addresses, PARTITIONS)))
        assert set(acknowledged) <= set(found) and len(found) == len(set(found))
