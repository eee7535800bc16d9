"""Kafka's clients in Python with a broker of ours: each makes a topic, writes, reads it again, and deletes it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from subprocess import CalledProcessError
from typing import Any

import pytest

from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.own_brokers import own_cluster

pytestmark = pytest.mark.long("four processes, and clients that take seconds to be imported")
VALUES = {b"%d" % number for number in range(50)}
PARTITIONS = 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_cluster(tmp_path_factory.mktemp("own"), nodes=(11,)) as brokers:
        yield brokers.addresses


def test_kafka_python(address: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic("python", PARTITIONS, 1)])
    producer = KafkaProducer(bootstrap_servers=address, acks="all", compression_type="gzip")
    for value in VALUES:
        producer.send("python", value)
    producer.flush()
    consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    consumer.assign([TopicPartition("python", number) for number in range(PARTITIONS)])
    assert {record.value for _, record in zip(VALUES, consumer, strict=False)} == VALUES
    admin.delete_topics(["python"])
    until(lambda: "python" not in admin.list_topics(), "the topic is gone")


def test_confluent_kafka(address: str) -> None:
    import confluent_kafka.admin
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.cimpl import NewTopic

    api: Any = confluent_kafka.admin  # its types have no names for what it takes from elsewhere
    admin = api.AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("confluent", PARTITIONS, 1)])["confluent"].result(60)
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "compression.type": "lz4"})
    for value in VALUES:
        producer.produce("confluent", value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0 and errors == [None] * len(VALUES)
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("confluent", number, 0) for number in range(PARTITIONS)])
    found: set[bytes | None] = set()

    def has_all() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.add(message.value())
        return found >= VALUES

    until(has_all, "all records are read")
    consumer.close()
    topic = api.ConfigResource(api.ResourceType.TOPIC, "confluent", set_config={"retention.ms": "600000"})
    admin.alter_configs([topic])[topic].result(60)

    def is_told() -> bool:
        told = admin.describe_configs([topic])[topic].result(60)
        return "retention.ms" in told and bool(told["retention.ms"].value == "600000")

    until(is_told, "the broker knows the config")
    admin.delete_topics(["confluent"])["confluent"].result(60)


def test_aiokafka(address: str) -> None:
    pytest.importorskip("aiokafka", reason="aiokafka is not installed: pip install -e '.[dev]'")
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        await admin.create_topics([NewTopic("aio", PARTITIONS, 1)])
        producer = AIOKafkaProducer(bootstrap_servers=address, enable_idempotence=True)
        await producer.start()
        for value in VALUES:
            await producer.send_and_wait("aio", value)
        await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([TopicPartition("aio", number) for number in range(PARTITIONS)])
        found: set[bytes | None] = set()
        while not found >= VALUES:
            found.add((await consumer.getone()).value)
        await consumer.stop()
        await admin.delete_topics(["aio"])
        await admin.close()

    asyncio.run(asyncio.wait_for(run(), 180))


@released
def test_quotas_by_the_tool_of_kafka(address: str) -> None:
    """`kafka-configs`: what it alters is forwarded, what it describes is the broker's to say."""

    def configs(*arguments: str) -> str:
        return tool(VERSION, "kafka.admin.ConfigCommand", "--bootstrap-server", address, *arguments)

    def described() -> str:
        return configs("--describe", "--entity-type", "users")

    ann, anybody = ("--entity-type", "users", "--entity-name", "ann"), ("--entity-type", "users", "--entity-default")
    configs("--alter", *ann, "--add-config", "producer_byte_rate=1024,request_percentage=50")
    configs("--alter", *anybody, "--add-config", "consumer_byte_rate=2048")
    wanted = ("producer_byte_rate=1024.0", "request_percentage=50.0", "consumer_byte_rate=2048.0")
    until(lambda: all(one in described() for one in wanted), "the broker knows all quotas")
    configs("--alter", *ann, "--delete-config", "request_percentage")
    until(lambda: "request_percentage" not in described(), "the broker knows that one is gone")
    with pytest.raises(CalledProcessError) as refused:
        configs("--alter", *ann, "--add-config", "producer_byte_rate=-1")
    assert "must be above 0" in refused.value.stdout + refused.value.stderr


@released
def test_topics_and_configs_by_the_tools_of_kafka(address: str) -> None:
    """`kafka-topics --describe` asks for configs, too."""
    server = ("--bootstrap-server", address)
    topics, configs = "org.apache.kafka.tools.TopicCommand", "kafka.admin.ConfigCommand"
    tool(VERSION, topics, *server, "--create", "--topic", "told", "--partitions", "1")
    tool(VERSION, configs, *server, "--alter", "--topic", "told", "--add-config", "retention.ms=600000")

    def says(text: str, name: str, *arguments: str) -> bool:
        return text in tool(VERSION, name, *server, "--describe", *arguments)

    until(lambda: says("Configs: retention.ms=600000", topics, "--topic", "told"), "the broker knows the config")
    assert says("Leader: 11\tReplicas: 11\tIsr: 11", topics, "--topic", "told")
    assert says("retention.ms=600000 sensitive=false", configs, "--topic", "told")
    assert says("node.id=11 sensitive=false", configs, "--broker", "11", "--all")


@released
def test_levels_of_features_by_the_tool_of_kafka(address: str) -> None:
    """`kafka-features`: what is described is what ApiVersions tells, what is altered is forwarded."""

    def features(*arguments: str) -> str:
        return tool(VERSION, "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", address, *arguments)

    described = features("describe").replace("\t", " ")
    assert (
        "metadata.version SupportedMinVersion: 3.3-IV3 SupportedMaxVersion: 3.7-IV4 FinalizedVersionLevel: 3.3-IV3"
        in (" ".join(described.split())).replace("Feature: ", "")
    )
    assert "upgraded" in features("upgrade", "--feature", "metadata.version=8")
    until(lambda: "FinalizedVersionLevel: 3.4-IV0" in features("describe"), "the broker knows the level")
    with pytest.raises(CalledProcessError) as refused:
        features("downgrade", "--feature", "metadata.version=7")
    assert "some metadata may be lost" in refused.value.stdout + refused.value.stderr
