"""Clients of brokers of Apache Kafka whose controllers are ours: nothing acknowledged is lost."""

from __future__ import annotations

from pathlib import Path
from subprocess import CalledProcessError

import pytest

from tests.cluster.kafka import until
from tests.impl.kraft.released import released
from tests.impl.kraft.server.brokers import Broker, records
from tests.impl.kraft.server.clients import TOPIC, Producing, consumed
from tests.impl.kraft.server.controllers import VOTERS, Controllers, controllers

FIRST, SECOND = 11, 12


@pytest.mark.long("two JVMs and three processes")
@released
def test_nothing_acknowledged_is_lost_while_the_controller_and_a_replica_are_killed(tmp_path: Path) -> None:
    with controllers(tmp_path, {"broker.session.timeout.ms": 3_000}) as cluster:
        controller = cluster.await_leader()
        brokers = {node: Broker(tmp_path, cluster, node) for node in (FIRST, SECOND)}
        try:
            for broker in brokers.values():
                until(broker.has_started, "the brokers are unfenced")
            address = brokers[FIRST].address
            made = f"--create --topic {TOPIC} --replica-assignment {FIRST}:{SECOND},{FIRST}:{SECOND}"
            assert f"Created topic {TOPIC}." in brokers[FIRST].topics(*made.split())
            observers = [line.split()[0] for line in brokers[FIRST].quorum().splitlines() if "Observer" in line]
            assert sorted(observers) == [str(FIRST), str(SECOND)]
            retention = f"--alter --entity-type topics --entity-name {TOPIC} --add-config retention.ms=86400000"
            assert "Completed updating config" in brokers[FIRST].configs(*retention.split())
            until(lambda: "retention.ms=86400000" in brokers[FIRST].topics("--describe"), "the brokers know the config")
            producing = Producing(address)
            producing.await_more()

            cluster.processes[controller].kill()
            producing.await_more()
            controller = cluster.await_leader(tuple(node for node in VOTERS if node != controller))

            brokers[SECOND].kill()
            await_isr(cluster, controller, (FIRST,))
            producing.await_more()
            brokers[SECOND].start()
            await_isr(cluster, controller, (FIRST, SECOND))  # the leader asks for it

            assert '"PRODUCER_IDS_RECORD"' in records(cluster, controller)  # the producer is idempotent
            acknowledged = set(producing.stop())
            assert acknowledged <= consumed(address, acknowledged)
            change_topic(brokers[FIRST])
            brokers[FIRST].topics("--delete", "--topic", TOPIC)
            until(lambda: '"REMOVE_TOPIC_RECORD"' in records(cluster, controller), "the topic is removed")
            cluster.validate()
        finally:
            for broker in brokers.values():
                broker.process.kill()


def change_topic(broker: Broker) -> None:
    """By Kafka's tools: more partitions, and several configs at once, of which one is a list."""

    def described() -> str:
        return broker.topics("--describe", "--topic", TOPIC)

    broker.topics("--alter", "--topic", TOPIC, "--partitions", "3")
    assigned = ",".join([f"{FIRST}:{SECOND}"] * 4)  # of those that are there, too
    broker.topics("--alter", "--topic", TOPIC, "--partitions", "4", "--replica-assignment", assigned)
    until(lambda: "PartitionCount: 4" in described(), "the brokers know all partitions")
    with pytest.raises(CalledProcessError) as refused:
        broker.topics("--alter", "--topic", TOPIC, "--partitions", "2")
    assert "InvalidPartitionsException" in refused.value.stderr + refused.value.stdout
    of_topic = f"--alter --entity-type topics --entity-name {TOPIC}".split()
    broker.configs(*of_topic, "--add-config", "cleanup.policy=[compact,delete],segment.ms=1000000")
    wanted = ("cleanup.policy=compact,delete", "segment.ms=1000000")
    until(lambda: all(one in described() for one in wanted), "the brokers know both configs")
    broker.configs(*of_topic, "--delete-config", "segment.ms,cleanup.policy")
    until(lambda: "segment.ms" not in described(), "the brokers know that both are gone")


def await_isr(cluster: Controllers, controller: int, isr: tuple[int, ...]) -> None:
    """The last change of the ISR in the log is this one, of both partitions."""
    wanted = f'"isr":{sorted(isr)}'.replace(" ", "")

    def last() -> list[str]:
        lines = [line for line in records(cluster, controller).splitlines() if "PARTITION_CHANGE" in line]
        return [line for line in lines if '"isr"' in line][-2:]

    until(lambda: len(last()) == 2 and all(wanted in line for line in last()), f"the ISR becomes {isr}", 60)
