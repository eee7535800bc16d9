"""The raw trace of a broker: what it does to the logs of its replicas, what it takes for committed, what it asks for.

Lines are those of `raw_trace`: what is to be done to a log is written before, and how the broker is behind a step
before any answer of it leaves. `impl.kraft.simulation.replayed` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from impl.kraft.broker import Broker, BrokerState
from impl.kraft.broker.core import BrokerRequest
from impl.kraft.image import PartitionKey
from impl.kraft.messages import Response
from impl.kraft.records import RECOVERING
from impl.kraft.server.raw_trace import REQUESTS, RawFile
from impl.kraft.storage.batches import Entry


class ReplicaTrace(RawFile):
    """Of a broker."""

    def __init__(self, path: Path, node: int) -> None:
        super().__init__(path, node)
        self._moved: set[PartitionKey] = set()
        self._roles: dict[PartitionKey, tuple[bool, int]] = {}
        self._applied_offset = -1
        self._asked = 0
        self._state: BrokerState | None = None

    def found(self, logs: Mapping[PartitionKey, list[Entry]]) -> None:
        """A process begins with these logs."""
        self.write("logs_found", logs=[{**of(key), "batches": batches} for key, batches in logs.items()])

    def append(self, key: PartitionKey, batch: Entry) -> None:
        self.write("batch_written", **of(key), batches=[batch])

    def truncate(self, key: PartitionKey, end_offset: int) -> None:
        self.write("log_cut", **of(key), end_offset=end_offset)

    def delete(self, key: PartitionKey) -> None:
        self._roles.pop(key, None)
        self._moved.discard(key)
        self.write("log_deleted", **of(key))

    def moved(self, key: PartitionKey) -> None:
        """Its high watermark is another one: `look` says which."""
        self._moved.add(key)

    def serve(self, key: PartitionKey, leader_epoch: int, follower: int, offset: int) -> None:
        """As its leader takes a fetch, the follower has what is before an offset."""
        self.write("fetch_served", **of(key), leader_epoch=leader_epoch, follower=follower, offset=offset)

    # What it asks the active controller for.

    def ask(self, request: BrokerRequest) -> int:
        """A request is about to be sent. Its number among those of this process."""
        self._asked += 1
        self.write("request_sent", request_number=self._asked, api=REQUESTS[type(request)], request=request)
        return self._asked

    def hear(self, number: int, response: Response | None) -> None:
        """Its answer is about to be taken, or none will be: it is given up, or the connection lost."""
        if response is None:
            self.write("request_given_up", request_number=number)
        else:
            self.write("response_received", request_number=number, response=response)

    def stop(self) -> None:
        """It is about to learn that it shall stop."""
        self.write("sigterm")

    def look(self, broker: Broker) -> None:
        """All that a step has led to is done."""
        if broker.state is not self._state:
            self._state = broker.state
            self.write("broker_state", state=broker.state.name)
        if broker.applied_offset != self._applied_offset:
            self._applied_offset = broker.applied_offset
            self.write("metadata_applied", offset=broker.applied_offset)
            self._look_at_roles(broker)
        for key in sorted(self._moved):
            leader, log = broker.leaders.get(key), broker.logs[key]
            isr = None if leader is None else sorted(leader.maximal_isr)
            self.write("high_watermark", **of(key), offset=log.high_watermark, isr=isr)
        self._moved.clear()

    def _look_at_roles(self, broker: Broker) -> None:
        for key in broker.logs:
            leader, either = broker.leaders.get(key), broker.leaders.get(key) or broker.followers.get(key)
            role = leader is not None, -1 if either is None else either.leader_epoch
            if self._roles.get(key, (False, -1)) == role:
                continue
            self._roles[key] = role
            if leader is None:
                self.write("follows", **of(key), leader_epoch=role[1])
            else:
                is_recovering = broker.image.partitions[key].leader_recovery_state == RECOVERING
                self.write("leads", **of(key), leader_epoch=role[1], is_recovering=is_recovering)


def of(key: PartitionKey) -> dict[str, Any]:
    return {"topic_id": key[0], "partition": key[1]}
