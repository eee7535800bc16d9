"""Clients of a topic: a producer that goes on whatever happens, and what consumers find in the end."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tests.cluster.kafka import until

TOPIC = "orders"


class Producing:
    """A producer that writes numbers one by one in a thread. acknowledged: those that were."""

    def __init__(self, address: str) -> None:
        self.acknowledged: list[int] = []
        self._address, self._stopped = address, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def await_more(self, count: int = 20) -> None:
        before = len(self.acknowledged)
        until(lambda: len(self.acknowledged) >= before + count, f"{count} more records are acknowledged")

    def stop(self) -> list[int]:
        self._stopped.set()
        self._thread.join(180)
        assert not self._thread.is_alive()
        return self.acknowledged

    def _run(self) -> None:
        from kafka import KafkaProducer  # it takes a second to be imported, which the quick tier does not pay

        producer = KafkaProducer(bootstrap_servers=self._address, acks="all", enable_idempotence=True)
        number = 0
        while not self._stopped.is_set():
            producer.send(TOPIC, key=str(number).encode(), value=str(number).encode()).get(180)
            self.acknowledged.append(number)
            number += 1
        producer.close()


def consumed(address: str, numbers: set[int]) -> set[int]:
    """What a consumer of a group sees, until it has seen all of these or nothing comes."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=address, group_id="test", auto_offset_reset="earliest", consumer_timeout_ms=30_000
    )
    found: set[int] = set()
    for record in consumer:
        found.add(int(record.value))
        if numbers <= found:
            break
    consumer.close()
    return found


def present_ends(consumer: Any, partitions: Sequence[Any]) -> Mapping[Any, int]:
    """By partition. kafka-python ends with a KeyError where one of them has no leader just then, and others have."""
    found: dict[Any, int] = {}

    def are_told() -> bool:
        with suppress(KeyError):
            found.update(consumer.end_offsets(partitions))
        return bool(found)

    until(are_told, "all partitions have leaders, and ends")
    return found


def read_all(address: str, partitions: int) -> list[list[int]]:
    """By partition, all that there is up to the present ends, by a consumer that has given itself all of them."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest", consumer_timeout_ms=30_000)
    assigned = [TopicPartition(TOPIC, number) for number in range(partitions)]
    consumer.assign(assigned)
    ends = present_ends(consumer, assigned)
    found: list[list[int]] = [[] for _ in assigned]
    left = sum(ends.values())
    for record in consumer if left else ():
        assert record.offset == len(found[record.partition])
        found[record.partition].append(int(record.value))
        left -= 1
        if left == 0:
            break
    consumer.close()
    return found
