"""Producer ids: brokers get them in blocks, and give them to idempotent producers (KIP-730)."""

from __future__ import annotations

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from impl.kraft.records import ProducerIdsRecord

BLOCK = 1_000
"""As in Kafka (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""
MOST = (1 << 63) - 1


def allocate_producer_ids(image: Image, request: AllocateProducerIdsRequest) -> Decision:
    """Gives a registered broker the next block, which nobody gets again, whatever becomes of the response."""
    registration = image.registrations.get(request.broker_id)
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return Decision(AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH))
    start = image.next_producer_id
    if start > MOST - BLOCK:
        return Decision(AllocateProducerIdsResponse(ErrorCode.UNKNOWN_SERVER_ERROR))
    record = ProducerIdsRecord(request.broker_id, request.broker_epoch, start + BLOCK)
    return Decision(AllocateProducerIdsResponse(ErrorCode.NONE, start, BLOCK), (record,))
