"""Real clients of Kafka, alike to a test: they send records one by one, list the brokers, and read a partition whole.

They are configured as a user would who has brokers of Kafka 2.0: all of the ISR acknowledges, without producer ids.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import pytest

_SEND_S = 40


class Client(Protocol):
    """A producer, a consumer and an operator of one library."""

    name: str

    def send(self, record: bytes) -> bool:
        """Whether it is acknowledged."""
        ...

    def live(self) -> list[int]:
        """The brokers that are listed; none where nobody answers."""
        ...

    def read(self, wanted: set[bytes], limit_s: float) -> set[bytes]:
        """The records of the partition from the first on, until these are among them or the time is over."""
        ...

    def close(self) -> None: ...


class KafkaPython:
    """kafka-python."""

    name = "kafka-python"

    def __init__(self, bootstrap: Sequence[str], topic: str, partition: int) -> None:
        from kafka import KafkaAdminClient, KafkaProducer  # it warns when it is loaded

        further: dict[str, Any] = {"enable_idempotence": False, "acks": "all", "retries": 50}
        self.bootstrap, self.topic, self.partition = list(bootstrap), topic, partition
        self.producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, max_block_ms=30_000, request_timeout_ms=4_000,
            delivery_timeout_ms=_SEND_S * 1000, **further,
        )  # fmt: skip
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=15_000)

    def send(self, record: bytes) -> bool:
        with suppress(Exception):
            self.producer.send(self.topic, record, partition=self.partition).get(timeout=_SEND_S)
            return True
        return False

    def live(self) -> list[int]:
        with suppress(Exception):
            return sorted(one["broker_id"] for one in self.admin.describe_cluster()["brokers"])
        return []

    def read(self, wanted: set[bytes], limit_s: float) -> set[bytes]:
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", group_id=None)
        consumer.assign([TopicPartition(self.topic, self.partition)])
        found, end = set[bytes](), time.monotonic() + limit_s
        while not wanted <= found and time.monotonic() < end:
            for batch in consumer.poll(timeout_ms=200).values():
                found |= {message.value for message in batch}
        consumer.close()
        return found

    def close(self) -> None:
        with suppress(Exception):  # a record that was never acknowledged may still wait
            self.producer.close(timeout=1)
        self.admin.close()


class Librdkafka:
    """confluent-kafka. It asks for ApiVersions that are too new first, and goes by the answer of Kafka 2.0."""

    name = "librdkafka"

    def __init__(self, bootstrap: Sequence[str], topic: str, partition: int) -> None:
        self.confluent = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
        admin = pytest.importorskip("confluent_kafka.admin", reason="confluent-kafka is not installed")
        self.servers = {"bootstrap.servers": ",".join(bootstrap)}
        self.topic, self.partition = topic, partition
        further = {"acks": "all", "request.timeout.ms": 4_000, "message.timeout.ms": _SEND_S * 1000}
        self.producer = self.confluent.Producer({**self.servers, **further})
        self.admin = admin.AdminClient(self.servers)

    def send(self, record: bytes) -> bool:
        errors = list[object]()
        self.producer.produce(
            self.topic, record, partition=self.partition, on_delivery=lambda error, _: errors.append(error)
        )
        self.producer.flush(_SEND_S)
        return errors == [None]

    def live(self) -> list[int]:
        with suppress(self.confluent.KafkaException):
            return sorted(self.admin.list_topics(timeout=15).brokers)
        return []

    def read(self, wanted: set[bytes], limit_s: float) -> set[bytes]:
        group = {"group.id": "unused", "enable.auto.commit": False}  # it does not begin without one
        consumer = self.confluent.Consumer({**self.servers, **group})
        consumer.assign([self.confluent.TopicPartition(self.topic, self.partition, 0)])
        found, end = set[bytes](), time.monotonic() + limit_s
        while not wanted <= found and time.monotonic() < end:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                found.add(message.value())
        consumer.close()
        return found

    def close(self) -> None:
        self.producer.purge()


CLIENTS: Sequence[type[KafkaPython] | type[Librdkafka]] = (KafkaPython, Librdkafka)
