"""Producer ids: a broker gets blocks of them, and nobody gets any again."""

from __future__ import annotations

import pytest

from impl.kraft.controller.producer_ids import BLOCK, MOST
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from impl.kraft.records import Batch, ProducerIdsRecord
from tests.impl.controller_runtime import ControllerRuntime


def asked(runtime: ControllerRuntime, broker_id: int, ahead: int = 0) -> AllocateProducerIdsResponse:
    """What a broker gets that gives its epoch, or one that is so much higher."""
    epoch = runtime.image.registrations[broker_id].broker_epoch + ahead
    response = runtime.ask(AllocateProducerIdsRequest(broker_id, epoch))
    assert isinstance(response, AllocateProducerIdsResponse)
    return response


def test_each_block_begins_where_the_last_one_ends() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0, 1)
    epoch = runtime.image.registrations[1].broker_epoch
    assert asked(runtime, 0) == AllocateProducerIdsResponse(ErrorCode.NONE, 0, BLOCK)
    runtime.records()
    assert asked(runtime, 1) == AllocateProducerIdsResponse(ErrorCode.NONE, BLOCK, BLOCK)
    assert runtime.records() == [ProducerIdsRecord(1, epoch, 2 * BLOCK)]


def test_the_next_controller_goes_on_where_the_log_ends() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    asked(runtime, 0)
    runtime.fail_over()
    assert asked(runtime, 0).producer_id_start == BLOCK


@pytest.mark.parametrize("ahead", [-1, 1])
def test_who_is_not_registered_gets_none(ahead: int) -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.records()
    assert asked(runtime, 0, ahead) == AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH)
    assert runtime.ask(AllocateProducerIdsRequest(7, 0)).error is ErrorCode.STALE_BROKER_EPOCH
    assert runtime.records() == []


def test_where_ids_end_none_are_given() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    for next_id, error in ((MOST - BLOCK, ErrorCode.NONE), (MOST - BLOCK + 1, ErrorCode.UNKNOWN_SERVER_ERROR)):
        runtime.controller.speculative.next_producer_id = next_id
        assert asked(runtime, 0).error is error


def test_a_block_is_in_the_log_before_it_is_given() -> None:
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.commits = False
    epoch = runtime.image.registrations[0].broker_epoch
    runtime.call(AllocateProducerIdsRequest(0, epoch))
    waiting = runtime.controller.waiting[-1]
    assert waiting.response == AllocateProducerIdsResponse(ErrorCode.NONE, 0, BLOCK)
    assert runtime.controller.committed.next_producer_id == 0
    last = runtime.appended[-1]
    assert isinstance(last, Batch) and waiting.offset == last.last_offset
