"""The metrics of a broker: what they say of a state, their names in Kafka's jars, and that a process serves them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from impl.kraft.broker import BrokerState
from impl.kraft.records import BROKER_RESOURCE, ConfigRecord
from impl.kraft.server.broker_measures import BrokerMeasures, gauges
from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.impl.kraft.released import released
from tests.impl.kraft.server.one_broker import ID, OTHER, OneBroker
from tests.impl.kraft.server.own_brokers import own_cluster
from tests.impl.kraft.server.scraping import scraped
from tests.impl.kraft.server.test_controller_measures import constants


def shown(one: OneBroker) -> dict[str, float]:
    registry = CollectorRegistry()
    BrokerMeasures(registry, lambda: gauges(one.steps.node))
    return {sample.name: sample.value for metric in registry.collect() for sample in metric.samples}


def test_replicas_are_counted(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic((ID, OTHER), partitions=2)
    names = ("LeaderCount", "PartitionCount", "UnderReplicatedPartitions", "UnderMinIsrPartitionCount",
             "AtMinIsrPartitionCount", "ReassigningPartitions")  # fmt: skip

    def counts() -> tuple[float, ...]:
        found = shown(one)
        return tuple(found[f"kafka_server_{name}"] for name in names)

    assert counts() == (2, 2, 0, 0, 0, 0)
    one.change(isr=(ID,))
    assert counts() == (2, 2, 1, 0, 1, 0), "one replica is enough"
    one.replay(ConfigRecord(BROKER_RESOURCE, "", "min.insync.replicas", "3"))
    assert counts() == (2, 2, 1, 1, 1, 0), "no more are asked for than there are"
    one.change(replicas=(ID, OTHER), adding_replicas=(OTHER,))
    assert counts() == (2, 2, 0, 1, 1, 1), "one that is being added is not missed"
    one.change(leader=OTHER)
    assert counts() == (1, 2, 0, 0, 1, 0)


def test_state_and_metadata_are_told(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    found = shown(one)
    assert found["kafka_server_BrokerState"] == one.broker.state
    assert found["kafka_server_last_applied_record_offset"] == one.broker.applied_offset > 0
    assert found["kafka_raft_current_leader"] == -1 and found["kafka_server_MetadataLag"] == 0


@released
def test_the_names_are_kafkas_or_the_drafts(tmp_path: Path) -> None:
    text = " ".join(help_ for _, help_, _ in gauges(OneBroker(tmp_path).steps.node))
    classes = {
        r"broker-metadata-metrics, ([\w-]+)": ("kafka-server", "server/metrics/BrokerServerMetrics"),
        r"raft-metrics, ([\w-]+)": ("kafka-raft", "raft/internals/KafkaRaftMetrics"),
    }
    for pattern, (jar, name) in classes.items():
        known = constants(jar, name)
        names = re.findall(pattern, text)
        assert names and [one for one in names if one.encode() not in known] == []


@pytest.mark.long("four processes")
def test_a_broker_serves_them(tmp_path: Path) -> None:
    (port,) = free_ports(1)

    with own_cluster(tmp_path, nodes=(11,), of_brokers={"metrics.port": port}) as brokers:
        running = f"kafka_server_BrokerState {float(BrokerState.RUNNING)}"
        until(lambda: running in scraped(port), "it runs")
        assert "kafka_server_MetadataLag 0.0" in scraped(port)
        assert brokers.processes[11].terminate() == 0
