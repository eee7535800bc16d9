"""What a reply may say that the spec leaves out, and which one a process waits for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from checker.lang.loader import load
from impl.adapters.kraft import SYSTEM
from impl.adapters.kraft.cluster import (
    FEATURES,
    Answer,
    Cluster,
    Envelope,
    incarnation_id,
    listeners,
    rack,
)
from impl.adapters.kraft.core import ControllerCore, applied_from
from impl.adapters.kraft.processes import with_answer, without_waiting
from impl.adapters.kraft.reply_rules import ReplyError, look_at
from impl.adapters.kraft.values import replace as with_field
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    IsrMember,
)
from impl.kraft.records import NoOpRecord, RegisterBrokerRecord
from impl.kraft.snapshot import Snapshot

CAUGHT_UP = BrokerHeartbeatResponse(ErrorCode.NONE, is_caught_up=True, is_fenced=False, should_shut_down=False)


def core(broker_epoch: int, amended_at: int, snapshot: Snapshot | None = None) -> ControllerCore:
    """A controller with which broker 0 has registered, and again as the same incarnation. snapshot: it began with."""
    registration = SimpleNamespace(broker_epoch=broker_epoch, incarnation_id=incarnation_id(0))
    image = SimpleNamespace(registrations={0: registration})
    return cast(ControllerCore, SimpleNamespace(speculative=image, amended={0: amended_at}, loaded=snapshot))


def heartbeat(broker_epoch: int, offset: int) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(0, broker_epoch, offset, want_fence=False, want_shut_down=False)


def test_a_broker_has_to_apply_its_amended_registration() -> None:
    assert applied_from(core(5, 8), 0, 5) == 8
    look_at(heartbeat(5, 8), CAUGHT_UP, core(5, 8))
    with pytest.raises(ReplyError, match="caught up from its own registration on"):
        look_at(heartbeat(5, 7), CAUGHT_UP, core(5, 8))


@pytest.mark.parametrize(("incarnation", "offset"), [(0, 9), (1, 8)])
def test_a_broker_has_to_apply_the_snapshot_that_it_is_registered_in(incarnation: int, offset: int) -> None:
    """And not one in which another incarnation had its id."""
    record = RegisterBrokerRecord(0, incarnation_id(incarnation), 5, listeners(0), FEATURES, rack(0))
    assert applied_from(core(5, 8, Snapshot(9, 1, (NoOpRecord(), record))), 0, 5) == offset


def test_a_reply_may_leave_once_another_incarnation_has_the_id() -> None:
    """It was decided before that registered, and that one has registered twice since."""
    assert applied_from(core(5, 8), 0, 2) == 2
    look_at(heartbeat(2, 4), CAUGHT_UP, core(5, 8))


def asking() -> tuple[Cluster, Envelope, Envelope]:
    """A leader was fenced and leads again: what it asks for, and what it had asked for before."""
    model = load("kraft/isr")
    cluster = SYSTEM.begin(model.constants, model.initial_states()[0])
    broker = cluster.processes[0].broker
    [(key, leader)] = broker.leaders.items()
    asked = AlterPartitionRequest(0, broker.lifecycle.broker_epoch or 0, *key, 2, 3, (IsrMember(0, 0),))
    leader.pending_change = asked
    before = replace(asked, leader_epoch=0, partition_epoch=1)
    sent = [Envelope(0, broker.lifecycle.incarnation_id, 0, request) for request in (asked, before)]
    return cluster, sent[0], sent[1]


def test_an_answer_to_an_older_request_takes_no_other_ones_place() -> None:
    cluster, asked, before = asking()
    granted = AlterPartitionResponse(ErrorCode.NONE, 0, 2, (0,), 4)
    waiting = with_answer(cluster.processes[0], asked, granted)
    refused = with_answer(waiting, before, AlterPartitionResponse(ErrorCode.FENCED_LEADER_EPOCH))
    assert waiting.isr_answers == refused.isr_answers == {asked.about: Answer(asked.request, granted)}


def test_what_is_given_up_is_what_is_asked_for() -> None:
    cluster, asked, before = asking()
    cluster = cluster.with_controller(0, with_field(cluster.controllers[0], waiting={1: before, 2: asked}))
    left = without_waiting(cluster, 0, asked.about).controllers[0].waiting
    assert [envelope.late for envelope in left.values()] == [False, True]
