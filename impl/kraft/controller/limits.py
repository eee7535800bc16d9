"""How much one request may ask for, as in Kafka: its records are one batch.

Held to it is every decision whose size goes by what was asked. The others go by how many partitions a broker has: what
takes a broker out of them, because its lease is over, it shuts down, is registered anew or unregistered. Kafka writes
those in several batches where one is too small, and so never refuses them; here they are one, however large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterConfigsResponse,
    AlterPartitionReassignmentResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreatePartitionsResponse,
    CreateTopicResponse,
    Response,
    UnregisterBrokerRequest,
    UpdateFeatureResponse,
)
from impl.kraft.records import Record

MOST_RECORDS = 10_000
"""QuorumController.MAX_RECORDS_PER_USER_OP."""
MOST_BYTES = 8 << 20
"""KafkaRaftClient.MAX_BATCH_SIZE_BYTES."""
BatchBytes = Callable[[Sequence[Record]], int]
OF_A_BROKER = BrokerRegistrationRequest | BrokerHeartbeatRequest | UnregisterBrokerRequest
"""The requests that are not held to it."""
_WITH_MESSAGE = (
    AlterConfigsResponse | AlterPartitionReassignmentResponse | CreatePartitionsResponse | CreateTopicResponse
    | UpdateFeatureResponse
)  # fmt: skip


def too_many(what: str, records: int) -> str:
    """The reason why a request cannot have so many records; empty where it can."""
    return f"{what} takes {records} records: one request may ask for {MOST_RECORDS}" if records > MOST_RECORDS else ""


def in_one_batch(decision: Decision, batch_bytes: BatchBytes | None) -> Decision:
    """The decision, or a refusal where its batch would be too large; batches are not split (KAFKA-12376)."""
    message = too_many("it", len(decision.records))
    if not message and decision.records and batch_bytes is not None:
        size_bytes = batch_bytes(decision.records)
        if size_bytes > MOST_BYTES:
            message = f"it takes a batch of {size_bytes} bytes: one request may ask for {MOST_BYTES}"
    return Decision(refused(decision.response, message)) if message else decision


def refused(response: Response, message: str) -> Response:
    """The response that says so in its place, with the message if it has any."""
    if isinstance(response, _WITH_MESSAGE):
        return type(response)(ErrorCode.POLICY_VIOLATION, message=message)
    return type(response)(ErrorCode.POLICY_VIOLATION)
