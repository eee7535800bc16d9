"""The requests that a process is sent, by clients, brokers and controllers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from impl.heartbeat import client_requests as kafka
from impl.heartbeat import control_requests as control
from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.describe import DESCRIBE_BROKERS, DescribeBrokersResponse, described
from impl.heartbeat.effects import Produce, RequestToController
from impl.heartbeat.messages import (
    DOCUMENT,
    ISR_CHANGE,
    METADATA_HEARTBEAT,
    REPAIRED,
    UNKNOWN,
    BrokerState,
    ErrorCode,
    IsrChangeResponse,
    MetadataHeartbeatResponse,
    read_heartbeat_request,
    read_isr_request,
)
from impl.heartbeat.replica_fetch import REPLICA_FETCH, read_fetch_request
from impl.runtime.logs import log
from impl.runtime.loop import monotonic_ms
from impl.runtime.wire import RequestHeader, WireError

if TYPE_CHECKING:
    from impl.heartbeat.process import Process

_LOG = logging.getLogger("impl.heartbeat")
_OF_BROKERS = (METADATA_HEARTBEAT, ISR_CHANGE, control.LEADER_AND_ISR, control.UPDATE_METADATA, REPLICA_FETCH,
               control.CONTROLLED_SHUTDOWN)  # fmt: skip
_POLL_S = 0.02
_LONGEST_WAIT_MS = 30_000
"""Of a Fetch: a client that is gone is not noticed, and would be looked for records as long as it has asked for."""


class Requests:
    """Answers the requests to one process."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def answer(self, header: RequestHeader, body: bytes) -> bytes | None:
        """The body of the response; None: its sender waits for none. Raises WireError: the connection is closed."""
        if header.api_key == kafka.API_VERSIONS:
            return kafka.api_versions_body(ErrorCode.NONE if header.api_version == 0 else ErrorCode.UNSUPPORTED_VERSION)
        versions = {key: (low, high) for key, low, high in kafka.VERSIONS}
        if header.api_key not in versions:
            raise WireError(f"api key {header.api_key} is unknown")
        low, high = versions[header.api_key]
        if not low <= header.api_version <= high:
            return self._refused(header, ErrorCode.UNSUPPORTED_VERSION, f"versions {low} to {high} are served")
        allowed = self.process.settings.cluster_clients
        if header.api_key in _OF_BROKERS and allowed and header.client_id not in allowed:
            return self._refused(header, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_ACTION on CLUSTER is needed")
        try:
            return await self._of_broker(header, body)
        except WireError as error:
            log(_LOG, "bad request", {"what": str(error), "api_key": header.api_key}, level=logging.WARNING)
            return self._refused(header, ErrorCode.INVALID_REQUEST, str(error))

    def _refused(self, header: RequestHeader, code: ErrorCode, message: str) -> bytes:
        """An error, in the form that the request has. Raises WireError where that has no place for one."""
        if header.api_key == METADATA_HEARTBEAT:
            version = REPAIRED if header.api_version == REPAIRED else DOCUMENT
            return MetadataHeartbeatResponse(code, BrokerState.INITIAL, message).body(version)
        if header.api_key == ISR_CHANGE:
            return IsrChangeResponse(code, message).body(DOCUMENT)
        if header.api_key == control.LEADER_AND_ISR:
            return control.LeaderAndIsrResponse(code).body()
        if header.api_key == control.UPDATE_METADATA:
            return control.UpdateMetadataResponse(code).body()
        if header.api_key == control.CONTROLLED_SHUTDOWN:
            return control.ControlledShutdownResponse(code).body()
        raise WireError(f"api key {header.api_key}, version {header.api_version}: {message}")

    async def _of_broker(self, header: RequestHeader, body: bytes) -> bytes | None:
        node, version = self.process.node, header.api_version
        match header.api_key:
            case key if key == METADATA_HEARTBEAT:
                answer = await self._ask(read_heartbeat_request(body, version))
                return bytes(answer.body(version))
            case key if key == ISR_CHANGE:
                answer = await self._ask(read_isr_request(body, version))
                return bytes(answer.body(version))
            case control.CONTROLLED_SHUTDOWN:
                answer = await self._ask(control.read_controlled_shutdown_request(body))
            case control.LEADER_AND_ISR:
                led = control.read_leader_and_isr_request(body, version)
                answer = await self.process.stepped(lambda now_ms: node.on_control_request(led, now_ms))
            case control.UPDATE_METADATA:
                shown = control.read_update_metadata_request(body, version)
                answer = await self.process.stepped(lambda now_ms: node.on_control_request(shown, now_ms))
            case key if key == REPLICA_FETCH:
                wanted = read_fetch_request(body)
                answer = await self.process.stepped(lambda now_ms: node.broker.on_replica_fetch(wanted, now_ms))
            case _:
                return await self._of_client(header, body)
        return bytes(answer.body())

    async def _ask(self, request: RequestToController) -> Any:
        """The controller's answer. Raises ConnectionError where there is none: its sender will ask again."""
        controller = self.process.node.controller
        answer = await self.process.called(lambda call, now_ms: controller.on_request(call, request, now_ms))
        if answer is None:
            raise ConnectionError("no answer")
        return answer

    async def _describe(self) -> bytes:
        """The brokers as this controller has them, or where the controller listens."""
        node = self.process.node
        found = await self.process.stepped(lambda now_ms: (described(node.controller, now_ms), []))
        if found is not None:
            return bytes(found.body())
        controller = node.broker.controller
        there = None if controller is None else await self.process.address(controller)
        host, port = there or ("", 0)
        known = UNKNOWN if controller is None else controller
        return DescribeBrokersResponse(ErrorCode.NOT_CONTROLLER, known, host, port).body()

    async def _of_client(self, header: RequestHeader, body: bytes) -> bytes | None:
        match header.api_key:
            case key if key == DESCRIBE_BROKERS:
                return await self._describe()
            case kafka.PRODUCE:
                return await self._produce(kafka.read_produce_request(body))
            case kafka.FETCH:
                return await self._fetch(kafka.read_fetch_request(body))
            case kafka.LIST_OFFSETS:
                return self._list_offsets(kafka.read_list_offsets_request(body))
        return self._metadata(header.api_version, kafka.read_metadata_request(body, header.api_version))

    async def _produce(self, request: kafka.ProduceRequest) -> bytes | None:
        """Raises WireError where a request fails that is not answered: its sender notices by the connection."""
        if request.acks not in (kafka.ACKS_OF_ALL, kafka.NO_ACKS, kafka.ACKS_OF_LEADER):
            return kafka.produce_body([(part.of, ErrorCode.INVALID_REQUIRED_ACKS, -1) for part in request.parts])
        counts = [kafka.record_count(part.records) for part in request.parts]
        broker = self.process.node.broker

        async def one(part: kafka.ProducePart, count: int) -> tuple[TopicPartition, int, int]:
            try:
                async with asyncio.timeout(max(1, request.timeout_ms) / 1000):
                    done: Produce = await self.process.called(lambda call, now_ms: broker.on_produce(
                        call, part.of, count, part.records, request.acks, now_ms))  # fmt: skip
            except TimeoutError:
                return part.of, ErrorCode.REQUEST_TIMED_OUT, -1
            return part.of, done.error_code, done.offset

        results = await asyncio.gather(*(one(*both) for both in zip(request.parts, counts, strict=True)))
        if request.acks != kafka.NO_ACKS:
            return kafka.produce_body(list(results))
        failed = [f"{of}: {ErrorCode(code).name}" for of, code, _ in results if code]
        if failed:
            raise WireError(", ".join(failed))
        return None

    async def _fetch(self, request: kafka.FetchRequest) -> bytes:
        """What there is once there is something, or the wait is over. Kafka's own has no longest wait."""
        end_ms = monotonic_ms() + min(request.max_wait_ms, _LONGEST_WAIT_MS)
        while True:
            results = [self._fetched(part) for part in request.parts]
            if any(code or records for _, code, _, records in results) or monotonic_ms() >= end_ms:
                return kafka.fetch_body(results)
            await asyncio.sleep(_POLL_S)

    def _fetched(self, part: kafka.FetchPart) -> tuple[TopicPartition, int, int, bytes]:
        """What is committed from this offset on."""
        broker = self.process.node.broker
        broker.check_fence(monotonic_ms())
        if not broker.serves(part.of):
            return part.of, ErrorCode.NOT_LEADER_FOR_PARTITION, -1, b""
        replica = broker.replicas[part.of]
        end = replica.high_watermark
        if not 0 <= part.offset <= replica.log.end_offset:
            return part.of, ErrorCode.OFFSET_OUT_OF_RANGE, end, b""
        batches = replica.log.read(part.offset, part.max_bytes) if part.offset < end else ()
        return part.of, ErrorCode.NONE, end, b"".join(kafka.placed(one) for one in batches if one.end_offset <= end)

    def _list_offsets(self, request: tuple[tuple[TopicPartition, int], ...]) -> bytes:
        broker = self.process.node.broker
        broker.check_fence(monotonic_ms())
        results = []
        for of, time in request:
            if not broker.serves(of):
                results.append((of, int(ErrorCode.NOT_LEADER_FOR_PARTITION), -1))
            else:
                end = broker.replicas[of].high_watermark
                results.append((of, int(ErrorCode.NONE), 0 if time == kafka.EARLIEST else end))
        return kafka.list_offsets_body(results)

    def _metadata(self, version: int, topics: tuple[str, ...] | None) -> bytes:
        broker = self.process.node.broker
        wanted = topics if topics is not None else tuple(sorted({of.topic for of in broker.shown}))
        controller = -1 if broker.controller is None else broker.controller
        return kafka.metadata_body(version, broker.live, controller, broker.shown, wanted)
