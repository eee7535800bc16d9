"""A node alone in its quorum: what is committed, answered, refused, and when."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.effects import Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import InvalidFieldError
from impl.kraft.messages import BrokerRegistrationRequest, BrokerRegistrationResponse
from impl.kraft.node import Node, NodeEffect, NodeEffects
from impl.kraft.node import node as node_module
from impl.kraft.node.node import APPLY_TIMER
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import Timer
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.records import Record
from impl.kraft.storage.effects import AppendToLog, Flush

REGISTRATION = BrokerRegistrationRequest(7, "", UUID(int=1))


class Objects:
    """A codec that keeps records as they are: a value is the place of one."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def encode(self, record: Record) -> bytes:
        self.records.append(record)
        return b"%d" % (len(self.records) - 1)

    def decode(self, value: bytes) -> Record:
        return self.records[int(value)]


def alone(codec: Objects, log: bytes = b"", ends: LogEnds | None = None) -> Node:
    raft = Raft(RaftSettings(0, (0,), uses_prevote=False), None, ends or LogEnds())
    node = Node(raft, Controller(ControllerSettings("")), codec, log)
    node.start(0)
    return node


def replies(effects: NodeEffects) -> list[NodeEffect]:
    return [effect for effect in effects if isinstance(effect, Reply)]


def log_of(effects: NodeEffects) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, AppendToLog))


def test_a_controller_claims_once_its_leader_change_is_replayed_and_writes_no_record_then() -> None:
    node = alone(Objects())
    elected = node.on_timer(Timer.ELECTION, 1_000)
    assert log_of(elected) and not node.controller.is_active
    claimed = node.on_flushed(1, 1_001)
    assert node.controller.epoch == 1 and node.applied_end == 1
    assert not log_of(claimed), "the LeaderChange is of the epoch already"


def test_an_answer_waits_for_the_flush() -> None:
    node = alone(Objects())
    node.on_timer(Timer.ELECTION, 1_000)
    node.on_flushed(1, 1_001)
    assert not replies(node.handle(5, REGISTRATION, 1_002))
    [reply] = replies(node.on_flushed(2, 1_003))
    assert reply == Reply(5, BrokerRegistrationResponse(ErrorCode.NONE, 1)), "the broker epoch is behind LeaderChange"


def active() -> Node:
    node = alone(Objects())
    node.on_timer(Timer.ELECTION, 1_000)
    node.on_flushed(1, 1_001)
    return node


def test_requests_of_one_step_are_decided_one_after_the_other_and_written_at_once() -> None:
    asked = [(call, replace(REGISTRATION, broker_id=call)) for call in (5, 6, 7)]
    one, other = active(), active()
    effects = one.handle_all(asked, 1_002)
    each = [other.handle(*call_and_request, 1_002) for call_and_request in asked]
    assert log_of(effects) == b"".join(map(log_of, each))
    assert [type(effect) for effect in effects] == [AppendToLog, Flush]
    assert replies(one.on_flushed(4, 1_003)) == replies(other.on_flushed(4, 1_003))
    assert one.controller.committed.registrations == other.controller.committed.registrations
    assert sorted(one.controller.committed.registrations) == [5, 6, 7]


def test_nothing_of_a_step_is_decided_where_a_request_cannot_be() -> None:
    node = active()
    wrong = replace(REGISTRATION, broker_id=1 << 40)
    with pytest.raises(InvalidFieldError):
        node.handle_all([(5, REGISTRATION), (6, wrong)], 1_002)
    assert node.raft.voter.log.end_offset == 1 and not node.controller.waiting


def test_all_of_a_step_are_refused_by_who_does_not_lead() -> None:
    node = active()
    node.raft.resign(1, 1_002)
    effects = node.handle_all([(5, REGISTRATION), (6, REGISTRATION)], 1_003)
    assert not log_of(effects)
    assert [(reply.call, reply.response.error) for reply in effects if isinstance(reply, Reply)] == [
        (5, ErrorCode.NOT_CONTROLLER), (6, ErrorCode.NOT_CONTROLLER),
    ]  # fmt: skip


def test_who_waits_is_refused_when_the_node_resigns() -> None:
    node = alone(Objects())
    node.on_timer(Timer.ELECTION, 1_000)
    node.on_flushed(1, 1_001)
    node.handle(5, REGISTRATION, 1_002)
    [reply] = replies(node.resign(1_003))
    assert isinstance(reply, Reply) and reply.response.error is ErrorCode.NOT_CONTROLLER
    assert not node.controller.is_active


def test_a_controller_whose_voter_does_not_lead_renounces() -> None:
    node = alone(Objects())
    node.on_timer(Timer.ELECTION, 1_000)
    node.on_flushed(1, 1_001)
    node.raft.resign(1, 1_002)
    effects = node.handle(5, REGISTRATION, 1_003)
    [reply] = replies(effects)
    assert isinstance(reply, Reply) and reply.response.error is ErrorCode.NOT_CONTROLLER
    assert not log_of(effects) and not node.controller.is_active


def test_a_node_that_starts_again_replays_what_it_kept_once_that_is_committed() -> None:
    codec = Objects()
    node = alone(codec)
    kept = log_of(node.on_timer(Timer.ELECTION, 1_000))
    node.on_flushed(1, 1_001)
    kept += log_of(node.handle(5, REGISTRATION, 1_002))
    again = alone(codec, kept, LogEnds.recovered(2, [(1, 0)]))
    assert again.applied_end == 0
    again.on_timer(Timer.ELECTION, 2_000)
    again.on_flushed(3, 2_001)
    assert again.controller.committed.registrations[7].broker_epoch == 1
    assert again.controller.is_active and again.applied_end == 3


@pytest.fixture
def with_log(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node that has four records in its log, and reads or replays one a step."""
    codec = Objects()
    before = alone(codec)
    kept = log_of(before.on_timer(Timer.ELECTION, 1_000))
    before.on_flushed(1, 1_001)
    for call in range(3):
        kept += log_of(before.handle(call, replace(REGISTRATION, broker_id=call), 1_002))
    monkeypatch.setattr(node_module, "RECORDS_A_STEP", 1)
    raft = Raft(RaftSettings(0, (0,), uses_prevote=False), None, LogEnds.recovered(4, [(1, 0)]))
    return Node(raft, Controller(ControllerSettings("")), codec, kept)


@pytest.fixture
def elected(with_log: Node) -> tuple[Node, NodeEffects]:
    """The node leads, and replays. What it asked for last."""
    with_log.start(1_900)
    with_log.on_timer(Timer.ELECTION, 2_000)
    return with_log, with_log.on_flushed(5, 2_001)


def test_much_that_is_committed_is_replayed_in_steps_and_the_epoch_is_claimed_behind_the_last(
    elected: tuple[Node, NodeEffects],
) -> None:
    again, effects = elected
    for end in range(1, 5):
        assert again.applied_end == end and not again.controller.is_active
        assert SetTimer(APPLY_TIMER, 2_001) in effects, "others have their turn"
        effects = again.on_timer(APPLY_TIMER, 2_001)
    assert again.applied_end == 5 and again.controller.is_active
    assert sorted(again.controller.committed.registrations) == [0, 1, 2]
    assert SetTimer(APPLY_TIMER, 2_001) not in effects and not again.on_timer(APPLY_TIMER, 2_002)


def test_a_long_log_is_read_while_there_is_no_leader_yet(with_log: Node) -> None:
    effects = with_log.start(1_900)
    steps = 0
    while SetTimer(APPLY_TIMER, 1_900) in effects:
        effects = with_log.on_timer(APPLY_TIMER, 1_900)
        steps += 1
    assert steps == 3 and with_log.applied_end == 0


def test_who_leads_no_more_replays_the_rest_and_claims_nothing(elected: tuple[Node, NodeEffects]) -> None:
    again, _ = elected
    again.resign(2_002)
    for _ in range(5):
        again.on_timer(APPLY_TIMER, 2_003)
    assert again.applied_end == 5 and not again.controller.is_active


def test_who_is_asked_while_it_replays_is_no_controller_yet(elected: tuple[Node, NodeEffects]) -> None:
    again, _ = elected
    [reply] = replies(again.handle(9, REGISTRATION, 2_002))
    assert isinstance(reply, Reply) and reply.response.error is ErrorCode.NOT_CONTROLLER
