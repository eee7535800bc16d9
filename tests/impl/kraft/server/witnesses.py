"""Clients of a cluster under faults, each in a thread, and what they saw: it must fit what is there in the end."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from impl.kraft.simulation.histories import NotLinearizableError, Operation, check
from tests.impl.kraft.server.clients import TOPIC

_CLIENT_S, _END_S = 30, 300
_REST_S, _HANDED_S = 0.01, 0.5
MADE = "made"


@dataclass
class Written:
    """A record that a producer has sent. offset: None where it was never acknowledged."""

    partition: int
    operation: Operation
    offset: int | None = None


class Witness:
    """Does one thing after the other until it is stopped."""

    def __init__(self, addresses: str) -> None:
        self.addresses = addresses
        self._stopped = threading.Event()
        self._runner = ThreadPoolExecutor(1)

    def start(self) -> None:
        self._running = self._runner.submit(self._run)

    def ask_to_stop(self) -> None:
        self._stopped.set()

    def stop(self) -> None:
        """Returns when what is under way has ended. Raises what it has, and TimeoutError."""
        self.ask_to_stop()
        self._running.result(_END_S)
        self._runner.shutdown()

    def _run(self) -> None:
        """Clients are replaced where one fails: some do not get over some errors."""
        from kafka.errors import KafkaError

        while not self._stopped.is_set():
            with suppress(KafkaError), closing(self.connect()) as client:
                while self.do(client) and not self._stopped.wait(_REST_S):
                    pass

    def connect(self) -> Any:
        """Raises KafkaError."""
        raise NotImplementedError

    def do(self, client: Any) -> bool:
        """Does one thing, and says whether to go on with this client. Raises KafkaError."""
        raise NotImplementedError


class Writer(Witness):
    """Writes numbers, one by one: number + step, number + 2 step, ..., each into one of the partitions.

    longest_ms: without an acknowledgement, until one.
    """

    def __init__(self, addresses: str, number: int, step: int, partitions: int) -> None:
        super().__init__(addresses)
        self._number, self._step, self._partitions = number, step, partitions
        self.written: list[Written] = []
        self.longest_ms = 0
        self._answered_ns = time.monotonic_ns()

    def connect(self) -> Any:
        from kafka import KafkaProducer

        return KafkaProducer(bootstrap_servers=self.addresses, acks="all", enable_idempotence=True)

    def do(self, client: Any) -> bool:
        self._number += self._step
        one = Written(self._number // self._step % self._partitions, Operation(self._number, time.monotonic_ns()))
        self.written.append(one)
        sent = client.send(TOPIC, value=str(self._number).encode(), partition=one.partition)
        one.offset = int(sent.get(_CLIENT_S).offset)
        now_ns = one.operation.answered = time.monotonic_ns()
        self.longest_ms = max(self.longest_ms, (now_ns - self._answered_ns) // 1_000_000)
        self._answered_ns = now_ns
        return True


class Reader(Witness):
    """Reads all partitions from their beginnings. seen: partition, offset, value."""

    def __init__(self, addresses: str, partitions: int) -> None:
        super().__init__(addresses)
        self._partitions = partitions
        self.seen: list[tuple[int, int, int]] = []

    def connect(self) -> Any:
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self.addresses, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(TOPIC, number) for number in range(self._partitions)])
        return consumer

    def do(self, client: Any) -> bool:
        for records in client.poll(200).values():
            self.seen += [(record.partition, record.offset, int(record.value)) for record in records]
        return True


class Operator(Witness):
    """Carries out what it is handed, and where that is nothing creates topics of its own: made0, made1, ...

    Each by a client of its own: one may keep to a broker that is gone. created: with times.
    """

    def __init__(self, addresses: str, topics: int) -> None:
        super().__init__(addresses)
        self._topics = topics
        self.created: list[Operation] = []
        self._handed = queue.SimpleQueue[Callable[[Any], object]]()

    def hand(self, operation: Callable[[Any], object]) -> None:
        """operation: on a KafkaAdminClient."""
        self._handed.put(operation)

    def connect(self) -> Any:
        from kafka.admin import KafkaAdminClient

        return KafkaAdminClient(bootstrap_servers=self.addresses, request_timeout_ms=10_000)

    def do(self, client: Any) -> bool:
        try:
            self._handed.get(timeout=_HANDED_S)(client)
        except queue.Empty:
            if len(self.created) < self._topics:
                self._create(client)
        return False

    def _create(self, client: Any) -> None:
        from kafka.admin import NewTopic

        operation = Operation(len(self.created), time.monotonic_ns())
        self.created.append(operation)
        client.create_topics([NewTopic(f"{MADE}{operation.value}", 1, 2)])
        operation.answered = time.monotonic_ns()


# What must hold.


def wrong_in(log: Sequence[int], written: Sequence[Written], seen: Sequence[tuple[int, int]]) -> list[str]:
    """Of a partition. log: all values, by offset. seen: offsets and values that a consumer was given."""
    wrong = [
        f"record {value} was read at offset {offset}, where {list(log[offset : offset + 1])} is"
        for offset, value in seen
        if tuple(log[offset : offset + 1]) != (value,)
    ]
    there = []
    for one in written:
        if one.offset is not None and one.offset >= len(log):
            wrong.append(f"record {one.operation.value} was acknowledged at offset {one.offset}, and is lost")
        elif one.offset is not None:
            one.operation.seen = tuple(log[: one.offset + 1])
            there.append(one.operation)
    return wrong + out_of_order(log, there)


def wrong_creations(log: Sequence[int], created: Sequence[Operation]) -> list[str]:
    """log: the numbers of topics, in the order in which they were created."""
    wrong, there = list[str](), list[Operation]()
    for one in created:
        if one.answered is not None and one.value not in log:
            wrong.append(f"topic {one.value} was created, and is lost")
        elif one.answered is not None:
            one.seen = tuple(log[: log.index(one.value) + 1])
            there.append(one)
    return wrong + out_of_order(log, there)


def out_of_order(log: Sequence[int], operations: Sequence[Operation]) -> list[str]:
    try:
        check(operations)
    except NotLinearizableError as error:
        return [str(error)]
    return [f"{value} is there twice" for value, count in Counter(log).items() if count > 1]
