"""Three nodes: what one decides all replay, and what a majority has not got is answered, and replayed, by nobody."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.controller.limits import MOST_BYTES
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicRequest,
    CreateTopicResponse,
)
from impl.kraft.node.node import OffsetError
from impl.kraft.snapshot import write_snapshot
from impl.kraft.storage.batches import Record
from tests.impl.kraft.node.quorum import VOTERS, Quorum

LEADER, *OTHERS = VOTERS
TOPIC_ID = UUID(int=2)


def registration(broker_id: int) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(broker_id, "", UUID(int=broker_id))


def led() -> Quorum:
    """Node 0 is active."""
    quorum = Quorum()
    quorum.elect(LEADER)
    return quorum


def are_alike(quorum: Quorum) -> bool:
    images = [write_snapshot(node.controller.committed) for node in quorum.nodes]
    return all(image == images[0] for image in images)


def brokers(quorum: Quorum, voter: int) -> list[int]:
    return sorted(quorum.nodes[voter].controller.committed.registrations)


def test_standbys_replay_what_the_active_controller_decides() -> None:
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle()
    assert quorum.replies[LEADER] == {5: BrokerRegistrationResponse(ErrorCode.NONE, 1)}
    assert [brokers(quorum, voter) for voter in VOTERS] == [[7], [7], [7]] and are_alike(quorum)


def test_a_control_batch_has_an_offset_in_every_image_and_nothing_to_replay() -> None:
    quorum = led()
    quorum.elect(1)
    assert [node.applied_end for node in quorum.nodes] == [2, 2, 2]
    assert [node.controller.committed.epoch for node in quorum.nodes] == [2, 2, 2]
    assert are_alike(quorum) and not brokers(quorum, LEADER)


def test_an_answer_waits_for_a_majority() -> None:
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle(cut_off=OTHERS)
    assert not quorum.replies[LEADER] and not brokers(quorum, LEADER)
    quorum.settle(cut_off=[2])
    assert quorum.replies[LEADER][5].error is ErrorCode.NONE
    assert brokers(quorum, LEADER) == brokers(quorum, 1) == [7] and not brokers(quorum, 2)


def test_what_a_majority_has_not_got_is_refused_cut_off_and_never_replayed() -> None:
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle(cut_off=[LEADER])
    quorum.elect(1, cut_off=[LEADER])
    quorum.ask(1, 6, registration(8))
    quorum.settle()
    assert quorum.replies[LEADER][5].error is ErrorCode.NOT_CONTROLLER
    assert not quorum.nodes[LEADER].controller.is_active
    assert [brokers(quorum, voter) for voter in VOTERS] == [[8], [8], [8]] and are_alike(quorum)


def test_what_a_deposed_leader_had_sent_survives_with_one_who_has_it() -> None:
    """Its client is told that this is no controller any more, and the decision stands: it may have happened."""
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle(cut_off=[2])
    quorum.nodes[LEADER].resign(quorum.now_ms)
    quorum.elect(1)
    quorum.settle()
    assert [brokers(quorum, voter) for voter in VOTERS] == [[7], [7], [7]] and are_alike(quorum)


def test_a_node_that_starts_again_replays_its_log_once_it_hears_that_it_is_committed() -> None:
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle()
    quorum.restart(1)
    assert quorum.nodes[1].applied_end == 0
    quorum.settle()
    assert brokers(quorum, 1) == [7] and are_alike(quorum)


def test_a_log_that_grows_without_the_controller_ends_the_process() -> None:
    quorum = led()
    quorum.nodes[LEADER].raft.append(1, (Record(b""),), quorum.now_ms)
    with pytest.raises(OffsetError, match="a decision ends at 2, and the log with it at 3"):
        quorum.ask(LEADER, 5, registration(7))


def test_a_topic_whose_batch_would_be_too_large_is_refused_and_nothing_is_written() -> None:
    quorum = led()
    quorum.ask(LEADER, 5, registration(7))
    quorum.settle()
    quorum.ask(LEADER, 6, BrokerHeartbeatRequest(7, 1, 1, want_fence=False, want_shut_down=False))
    quorum.settle()
    end = quorum.nodes[LEADER].raft.voter.log.end_offset
    value = "x" * 32_000
    configs = tuple((f"config{number}", value) for number in range(1 + MOST_BYTES // len(value)))
    quorum.ask(LEADER, 7, CreateTopicRequest("orders", TOPIC_ID, configs=configs))
    reply = quorum.replies[LEADER][7]
    assert isinstance(reply, CreateTopicResponse) and reply.error is ErrorCode.POLICY_VIOLATION
    assert f"one request may ask for {MOST_BYTES}" in reply.message
    assert quorum.nodes[LEADER].raft.voter.log.end_offset == end
    quorum.ask(LEADER, 8, CreateTopicRequest("orders", TOPIC_ID, configs=configs[:-2]))
    quorum.settle()
    assert quorum.replies[LEADER][8].error is ErrorCode.NONE and are_alike(quorum)
