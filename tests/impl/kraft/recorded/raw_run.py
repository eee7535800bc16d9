"""A raw trace made by hand: of one controller that leads, and of brokers; every decision is committed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrMember,
    Response,
)
from impl.kraft.metadata.encoding import MetadataRecord, encode
from impl.kraft.recorded.events import Event, merged
from impl.kraft.server.raw_trace import REQUESTS
from impl.kraft.storage.batches import Record, RecordBatch
from impl.kraft.storage.batches import encode as encode_batch
from tests.impl.kraft.recorded.made_records import TOPIC, registered, unfenced

CONTROLLER = 1
FIRST, SECOND = 11, 12
NONE = ErrorCode.NONE


@dataclass
class RawRun:
    """Each broker's last process is a number that goes up. offset: where the metadata log ends."""

    lines: list[bytes] = field(default_factory=list)
    offset: int = 0
    epoch: int = 0
    calls: int = 0
    processes: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.write(CONTROLLER, "started", voters=[CONTROLLER], election=None, start_offset=0, batches=[])
        self.elect()

    @property
    def events(self) -> list[Event]:
        return merged([("raw", b"".join(self.lines))])

    def write(self, node: int, event: str, **fields: Any) -> None:
        number = len(self.lines) + 1
        about = {"node": node, "process": self.processes.get(node, 0), "number": number, "mono_ns": number}
        self.lines.append(msgspec.json.encode({**about, "event": event, **fields}) + b"\n")

    # The controller.

    def elect(self) -> None:
        """Anew, in the next epoch."""
        self.epoch += 1
        self.append([], commits=True)

    def append(self, records: Sequence[MetadataRecord], *, calls: Sequence[int] = (), commits: bool = True) -> None:
        self.offset += max(1, len(records))
        batches = [[self.offset, self.epoch, 0]]
        values = [encode(record) for record in records]
        if calls:
            stored = tuple(Record(value) for value in values)
            decided: dict[str, Any] = {"data": encode_batch(RecordBatch(self.offset, self.epoch, 0, stored))}
        else:
            decided = {"records": [values]}
        self.write(CONTROLLER, "appended", batches=batches, calls=calls, **decided)
        if commits:
            self.write(CONTROLLER, "committed", end_offset=self.offset)

    def cut(self, records: int) -> None:
        """Off the end of the log."""
        self.offset -= records
        self.write(CONTROLLER, "truncated", end_offset=self.offset)

    def handle(
        self, request: Any, response: Response | None, records: Sequence[MetadataRecord] = (), *, commits: bool = True
    ) -> None:
        """response: None: none leaves."""
        self.calls += 1
        api, responses = REQUESTS[type(request)], [] if response is None else [response]
        at_once = [] if records else responses
        self.write(
            CONTROLLER, "request_handled", calls=[self.calls], api=api, requests=[request], responses=at_once
        )  # fmt: skip
        if records:
            self.append(records, calls=[self.calls], commits=commits)
        if records and responses:
            self.write(CONTROLLER, "request_answered", calls=[self.calls], responses=responses)

    def lapse(self, broker: int, records: Sequence[MetadataRecord]) -> None:
        self.write(CONTROLLER, "lease_expired", broker=broker)
        self.append(records)

    # Brokers.

    def start(self, broker: int) -> None:
        self.processes[broker] = self.processes.get(broker, 0) + 1
        self.write(broker, "logs_found", logs=[])

    def exchange(
        self, request: Any, response: Response | None, records: Sequence[MetadataRecord] = (), *, hears: bool = True
    ) -> None:
        """A request of a broker, from when it is sent to when it is answered, or given up."""
        sender, number = request.broker_id, len(self.lines)
        self.write(sender, "request_sent", request_number=number, api=REQUESTS[type(request)], request=request)
        self.handle(request, response, records)
        if hears:
            self.write(sender, "response_received", request_number=number, response=response)
        else:
            self.write(sender, "request_given_up", request_number=number)

    def register(self, broker: int) -> int:
        """The broker's new epoch."""
        epoch = self.offset
        record = registered(broker, epoch, self.incarnation(broker))
        self.exchange(self.registration(broker), BrokerRegistrationResponse(NONE, epoch), [record])
        return epoch

    def registration(self, broker: int) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(broker, "", self.incarnation(broker))

    def incarnation(self, broker: int) -> UUID:
        return UUID(int=broker * 100 + self.processes[broker])

    def unfence(self, broker: int, epoch: int) -> None:
        self.exchange(
            heartbeat(broker, epoch, self.offset), BrokerHeartbeatResponse(NONE, True, False), [unfenced(broker, epoch)]
        )
        self.write(broker, "broker_state", state="RUNNING")

    def run(self, broker: int) -> int:
        """A process starts and serves. Its epoch."""
        self.start(broker)
        epoch = self.register(broker)
        self.unfence(broker, epoch)
        return epoch


def heartbeat(
    broker: int, epoch: int, offset: int, *, want_fence: bool = False, want_shut_down: bool = False
) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(broker, epoch, offset, want_fence, want_shut_down)


def alter(leader: int, epoch: int, isr: Mapping[int, int], partition_epoch: int = 0) -> AlterPartitionRequest:
    members = tuple(IsrMember(broker, at) for broker, at in isr.items())
    return AlterPartitionRequest(leader, epoch, TOPIC, 0, 0, partition_epoch, members)


def altered(error: ErrorCode = NONE) -> AlterPartitionResponse:
    return AlterPartitionResponse(error)
