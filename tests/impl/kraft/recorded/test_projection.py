"""Traces of partitions from raw traces: what a controller may do is accepted, and what it may not is rejected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
)
from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.records import RECOVERING
from impl.kraft.tools.trace import traces_of
from tests.impl.kraft.recorded.made_records import TOPIC, change, fenced, stopping, topic, unfenced
from tests.impl.kraft.recorded.raw_run import FIRST, NONE, SECOND, RawRun, alter, altered, heartbeat
from tests.impl.kraft.simulation.decided import judged

FENCED = BrokerHeartbeatResponse(NONE, True, True)
SERVING = BrokerHeartbeatResponse(NONE, True, False)
DUPLICATE = BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
ELECTED = ElectPreferredLeaderResponse(NONE)
INELIGIBLE = altered(ErrorCode.INELIGIBLE_REPLICA)


@pytest.fixture
def run() -> RawRun:
    """Two brokers serve, and have a partition that the first leads."""
    found = RawRun()
    epochs = [found.run(broker) for broker in (FIRST, SECOND)]
    assert epochs == [1, 3]
    found.append(topic(FIRST, SECOND))
    return found


def lines(run: RawRun) -> list[dict[str, Any]]:
    (found,) = traces_of(run.events).values()
    return [json.loads(line) for line in found.text.splitlines()]


def actions(run: RawRun) -> list[str]:
    """What is said since the partition was created, up to the end."""
    said = [line.get("action", "seen") for line in lines(run)[1:-1]]
    return said[said.index("create_topic_on") + 1 :]


def status(run: RawRun) -> str:
    texts = {name: one.text for name, one in traces_of(run.events).items()}
    (found,) = [status for status, count in judged(2, texts).counts.items() if count]
    return found


def shrink(run: RawRun) -> None:
    run.exchange(alter(FIRST, 1, {FIRST: 1}), altered(), [change(isr=(FIRST,))])


def grow(run: RawRun) -> None:
    shrink(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 1), altered(), [change(isr=(FIRST, SECOND))])


def refuse_who_is_fenced(run: RawRun) -> None:
    """The refusal raises the partition's epoch."""
    lose_second(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 1), INELIGIBLE, [change()])


def lose_second(run: RawRun) -> None:
    run.lapse(SECOND, [fenced(SECOND, 3), change(isr=(FIRST,))])


def fail_over(run: RawRun) -> None:
    run.elect()
    shrink(run)


def come_back(run: RawRun) -> None:
    """The second dies, its lease runs out, and its next process is refused until then."""
    run.start(SECOND)
    run.exchange(run.registration(SECOND), DUPLICATE)
    lose_second(run)
    assert run.register(SECOND) == 9
    run.exchange(heartbeat(SECOND, 9, 5), FENCED)
    run.unfence(SECOND, 9)


def shut_down(run: RawRun) -> None:
    """It waits until both have seen that it leads nothing; the first of its answers is lost."""
    run.write(FIRST, "sigterm")
    wish = heartbeat(FIRST, 1, 7, want_shut_down=True)
    run.exchange(wish, SERVING, [change(isr=(SECOND,), leader=SECOND), stopping(FIRST, 1)], hears=False)
    run.exchange(wish, SERVING)
    run.exchange(heartbeat(SECOND, 3, run.offset), SERVING)
    let_go = BrokerHeartbeatResponse(NONE, True, True, True)
    run.exchange(heartbeat(FIRST, 1, run.offset, want_shut_down=True), let_go, [fenced(FIRST, 1)])


def hear_late(run: RawRun) -> None:
    """It is unfenced, and hears of that by its next heartbeat alone."""
    lose_second(run)
    run.start(SECOND)
    epoch = run.register(SECOND)
    run.exchange(heartbeat(SECOND, epoch, run.offset), SERVING, [unfenced(SECOND, epoch)], hears=False)
    run.exchange(heartbeat(SECOND, epoch, run.offset), SERVING)
    run.write(SECOND, "broker_state", state="RUNNING")


def stop_early(run: RawRun) -> None:
    run.start(SECOND)
    run.write(SECOND, "sigterm")
    run.write(SECOND, "broker_state", state="SHUTTING_DOWN")


def move_and_elect(run: RawRun) -> None:
    """Operators ask for other replicas, and for the first of them to lead."""
    moved = AlterPartitionReassignmentRequest("orders", 0, (SECOND, FIRST))
    run.handle(moved, AlterPartitionReassignmentResponse(NONE), [change(replicas=(SECOND, FIRST))])
    run.handle(ElectPreferredLeaderRequest("orders", 0), ELECTED, [change(leader=SECOND)])


def ask_too_late(run: RawRun) -> None:
    """By an epoch that is not the newest, for what is there already, and as who has been replaced."""
    shrink(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 0), altered(ErrorCode.INVALID_UPDATE_VERSION))
    run.exchange(alter(FIRST, 1, {FIRST: 1}, 1), altered())
    run.exchange(alter(FIRST, 0, {FIRST: 1, SECOND: 3}, 1), altered(ErrorCode.STALE_BROKER_EPOCH))


def lose_first(run: RawRun) -> None:
    run.lapse(FIRST, [fenced(FIRST, 1), change(isr=(SECOND,), leader=SECOND)])


@pytest.mark.parametrize(
    "happens",
    [
        shrink, grow, refuse_who_is_fenced, lose_second, lose_first, fail_over, come_back, shut_down, stop_early,
        move_and_elect, ask_too_late, hear_late,
    ],
    ids=lambda happens: happens.__name__,
)  # fmt: skip
def test_what_may_happen_is_accepted(run: RawRun, happens: Callable[[RawRun], None]) -> None:
    happens(run)
    assert status(run) == "accepted"


def refuse_who_is_fenced_and_keep_the_epoch(run: RawRun) -> None:
    lose_second(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 1), INELIGIBLE)


def refuse_who_serves(run: RawRun) -> None:
    shrink(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 1), INELIGIBLE)


def grant_who_is_fenced(run: RawRun) -> None:
    lose_second(run)
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 1), altered(), [change(isr=(FIRST, SECOND))])


def grant_another_isr(run: RawRun) -> None:
    run.exchange(alter(FIRST, 1, {FIRST: 1}), altered(), [change(isr=(SECOND,), leader=SECOND)])


def let_go_too_early(run: RawRun) -> None:
    run.write(FIRST, "sigterm")
    wish = heartbeat(FIRST, 1, 7, want_shut_down=True)
    run.exchange(wish, SERVING, [change(isr=(SECOND,), leader=SECOND), stopping(FIRST, 1)])
    run.exchange(heartbeat(SECOND, 3, run.offset - 2), SERVING)
    run.exchange(wish, BrokerHeartbeatResponse(NONE, True, True, True), [fenced(FIRST, 1)])


def unfence_who_lags(run: RawRun) -> None:
    lose_second(run)
    run.start(SECOND)
    assert run.register(SECOND) == 9
    run.exchange(heartbeat(SECOND, 9, 8), SERVING, [unfenced(SECOND, 9)])


def keep_fenced_who_is_ready(run: RawRun) -> None:
    lose_second(run)
    run.exchange(heartbeat(SECOND, 3, run.offset), FENCED)


def register_over_one_that_is_unfenced(run: RawRun) -> None:
    """It leads on, though its new process has registered."""
    run.start(FIRST)
    run.register(FIRST)


def run_while_it_is_fenced(run: RawRun) -> None:
    lose_second(run)
    run.start(SECOND)
    run.register(SECOND)
    run.write(SECOND, "broker_state", state="RUNNING")


def elect_who_is_behind(run: RawRun) -> None:
    """And need not recover."""
    shrink(run)
    run.append([change(isr=(SECOND,), leader=SECOND)])


@pytest.mark.parametrize(
    "happens",
    [
        elect_who_is_behind, refuse_who_is_fenced_and_keep_the_epoch, refuse_who_serves,
        grant_who_is_fenced, grant_another_isr, let_go_too_early, unfence_who_lags,
        keep_fenced_who_is_ready, register_over_one_that_is_unfenced, run_while_it_is_fenced,
    ],
    ids=lambda happens: happens.__name__,
)  # fmt: skip
def test_what_may_not_happen_is_rejected(run: RawRun, happens: Callable[[RawRun], None]) -> None:
    happens(run)
    assert status(run) == "rejected"


def test_what_was_never_committed_is_left_out_and_what_its_controller_did_after_it(run: RawRun) -> None:
    run.handle(alter(FIRST, 1, {FIRST: 1}), None, [change(isr=(FIRST,))], commits=False)
    run.exchange(heartbeat(SECOND, 3, 0, want_fence=True), FENCED)
    run.cut(1)
    run.elect()
    assert actions(run) == ["fail_over"] and status(run) == "accepted"


def test_who_is_no_active_controller_decides_nothing(run: RawRun) -> None:
    run.exchange(heartbeat(SECOND, 3, 0, want_fence=True), BrokerHeartbeatResponse(ErrorCode.NOT_CONTROLLER))
    run.handle(heartbeat(SECOND, 3, 0, want_fence=True), None)
    assert actions(run) == []


def test_a_heartbeat_that_renews_a_lease_is_left_out_and_one_that_a_shutdown_awaits_is_not(run: RawRun) -> None:
    run.exchange(heartbeat(SECOND, 3, 0), SERVING)
    assert actions(run) == []
    shut_down(run)
    counts = Counter(actions(run))
    assert (counts["handle_heartbeat"], counts["lose_lifecycle_reply"], counts["receive_heartbeat_reply"]) == (4, 0, 1)
    reached = [line["parameters"]["reached"] for line in lines(run) if line.get("action") == "send_heartbeat_as_heard"]
    assert reached[-4:] == [None, None, "broker0", "broker0"]


def test_an_answer_that_nobody_took_is_lost(run: RawRun) -> None:
    run.start(SECOND)
    run.exchange(run.registration(SECOND), DUPLICATE, hears=False)
    assert actions(run)[-2:] == ["handle_registration", "lose_lifecycle_reply"] and status(run) == "accepted"


def test_of_equal_requests_the_last_that_was_handled_before_is_answered(run: RawRun) -> None:
    run.start(SECOND)
    request = run.registration(SECOND)
    for number in (1, 2):
        run.write(SECOND, "request_sent", request_number=number, api="BrokerRegistration", request=request)
    run.handle(request, DUPLICATE)
    run.handle(request, DUPLICATE)
    run.write(SECOND, "response_received", request_number=2, response=DUPLICATE)
    run.handle(request, DUPLICATE)
    replies = [action for action in actions(run) if action.endswith("reply")]
    assert replies == ["lose_lifecycle_reply", "receive_registration_reply", "lose_lifecycle_reply"]


@pytest.mark.parametrize(
    ("record", "left_out"),
    [
        (
            MetadataRecord("UNREGISTER_BROKER_RECORD", 0, {"brokerId": FIRST, "brokerEpoch": 1}),
            "broker0 is unregistered",
        ),
        (change(isr=(SECOND,), leader=SECOND, leaderRecoveryState=RECOVERING), "elected in an unclean way"),
    ],
)
def test_a_trace_ends_where_the_model_does(run: RawRun, record: MetadataRecord, left_out: str) -> None:
    shrink(run)
    before = actions(run)
    run.append([record])
    run.elect()
    (found,) = traces_of(run.events).values()
    assert actions(run) == before and left_out in found.left_out


def test_where_a_replica_is_is_left_out(run: RawRun) -> None:
    directories = MetadataRecord(
        "PARTITION_CHANGE_RECORD", 1, {"partitionId": 0, "topicId": TOPIC, "directories": (TOPIC, TOPIC)}
    )
    run.append([directories])
    assert actions(run) == []
    run.exchange(alter(FIRST, 1, {FIRST: 1}, 1), altered(), [change(isr=(FIRST,))])
    assert actions(run) == ["ask_for_isr", "handle_alter_isr"] and status(run) == "accepted"
    run.exchange(alter(FIRST, 1, {FIRST: 1, SECOND: 3}, 2), INELIGIBLE)
    assert actions(run)[2:] == ["ask_for_isr", "handle_alter_isr"], "its epochs are counted on"
