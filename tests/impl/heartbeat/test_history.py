"""The places of steps in the history of a run, where the clock alone does not say them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from impl.heartbeat.znodes import BrokerInfo, LeaderAndIsr, broker_bytes, id_path, state_bytes, state_path
from impl.zookeeper.transaction_log import Change, Logged
from tests.cluster.recordings import Life, NotBegunError
from tests.cluster.schedules import Run, rejected
from tests.impl.heartbeat.cluster import PARTITION
from tests.impl.heartbeat.history import History
from tests.impl.heartbeat.schedules import SCHEDULES, violated

Line = tuple[int, str, dict[str, Any]]
"""What a process has recorded: the time in ms, the step and its facts."""
BEGAN, UNTIL_MS = (10, 100), 1_000
SESSIONS = {0: 900, 1: 901}
INCARNATIONS = {0: 3, 1: 4}
STATE = LeaderAndIsr(0, 0, (0, 1), 0, (3, 4))
HANDLE, READ, EXPIRE = "handle_heartbeat", "read_ids", "expire"


def state(broker: int, to: str, cause: str) -> tuple[str, dict[str, Any]]:
    return "broker_state", {"broker": broker, "incarnation": INCARNATIONS[broker], "to": to, "cause": cause}


def fence(broker: int, action: str, cause: str) -> tuple[str, dict[str, Any]]:
    return action, {"broker": broker, "cause": cause, "late_ms": 0}


def led_by(broker: int) -> tuple[str, dict[str, Any]]:
    return "take_control_request", {"broker": broker, "leader": 0, "leader_epoch": 0, "version": 0}


BEGINNING: dict[int, list[Line]] = {
    broker: [
        (broker, "register", {"broker": broker, "incarnation": INCARNATIONS[broker], "session": SESSIONS[broker]}),
        (20 + broker, *led_by(broker)),
        (30 + broker, *fence(broker, "unfenced", "answered ACTIVE")),
    ]
    for broker in SESSIONS
}
IN_OFFICE: list[Line] = [(25 + broker, *state(broker, "ACTIVE", "heartbeat")) for broker in SESSIONS]
REGISTRATION = broker_bytes(BrokerInfo("host", 9092))
REGISTERED = [
    Logged(INCARNATIONS[one], SESSIONS[one], 1, (Change(id_path(one), REGISTRATION, is_create=True),)) for one in (0, 1)
]
LOG = [*REGISTERED, Logged(5, 902, 2, (Change(state_path(PARTITION), state_bytes(STATE), is_create=True),))]
END_OF_1 = Logged(12, SESSIONS[1], 300, (Change(id_path(1), None),), ends_session=True)


def history(
    folder: Path, *of_controller: Line, log: Sequence[Logged] = (), of_1: Sequence[Line] = (),
    of_0: Sequence[Line] = (), killed_ms: int | None = None,
) -> History:  # fmt: skip
    """Of a run of broker 2 in office, broker 0, which leads, and broker 1. killed_ms: when broker 1 was."""
    lives = []
    for broker, lines in ((2, [*IN_OFFICE, *of_controller]), (0, [*BEGINNING[0], *of_0]), (1, [*BEGINNING[1], *of_1])):
        trace = folder / f"{broker}.ndjson"
        noted = [
            {"action": action, "time_ms": ms, "at": {"zxid": 5}, "note": {**facts, "time_us": 1_000 * ms + broker}}
            for ms, action, facts in lines
        ]
        trace.write_text("".join(json.dumps(line) + "\n" for line in noted))
        lives.append(Life(broker, trace, killed_ms if broker == 1 else None))
    return History([*LOG, *log], lives, BEGAN, UNTIL_MS)


def named(found: History) -> list[str]:
    """The steps of the trace, without the cuts that go with others."""
    steps = [json.loads(line).get("action") for line in found.trace("a run", "recorded").splitlines()[2:-1]]
    return [one for one in steps if one != "cut_off"]


@pytest.mark.parametrize("handled_ms", [500, 503])
def test_a_heartbeat_that_is_handled_as_its_process_is_killed_or_later_precedes_its_death(
    tmp_path: Path, handled_ms: int
) -> None:
    lines = (200, *state(1, "INACTIVE", "bounce")), (handled_ms, *state(1, "ACTIVE", "heartbeat"))
    unrelated = Logged(11, 902, 400, (Change("/brokers/ids/2", b""),))
    assert named(history(tmp_path, *lines, log=[unrelated], killed_ms=500))[-2:] == [HANDLE, "crash"]


def test_what_a_process_records_until_it_is_gone_precedes_its_death(tmp_path: Path) -> None:
    fenced = 502, *fence(1, "fenced", "no answer in time")
    assert named(history(tmp_path, of_1=[fenced], killed_ms=500)) == ["self_fence", "crash"]


def test_a_registration_that_is_gone_by_counts_until_the_controller_has_read_that_it_has_ended(tmp_path: Path) -> None:
    lines = (200, *state(1, "INACTIVE", "bounce")), (301, *state(1, "ACTIVE", "heartbeat"))
    assert named(history(tmp_path, *lines, log=[END_OF_1]))[-2:] == [HANDLE, "expire_session"]


def test_a_process_that_is_killed_asleep_was_fenced_when_its_lease_was_over(tmp_path: Path) -> None:
    expired = 400, *state(1, "INACTIVE", "lease over")
    assert named(history(tmp_path, expired, killed_ms=500)) == ["self_fence", EXPIRE, "crash"]
    assert named(history(tmp_path, expired, killed_ms=300)) == ["crash", EXPIRE]
    assert named(history(tmp_path, expired, of_1=[(450, *led_by(1))], killed_ms=500)) == [EXPIRE, "crash"]
    assert named(history(tmp_path, expired)) == [EXPIRE]


def test_it_serves_no_longer_than_its_lease(tmp_path: Path) -> None:
    """Unless it has recorded something after that, or lives on."""
    leads = 120, "take_control_request", {"broker": 1, "leader": 1, "leader_epoch": 1, "version": 1}
    expired = 400, *state(1, "INACTIVE", "lease over")
    # Broker 0 serves all the while, which is wrong: that is what is measured.
    for of_1, killed_ms, serves_until_ms in (
        ([leads], 500, 400),
        ([leads, (450, *leads[1:])], 500, 500),
        ([leads], None, UNTIL_MS),
    ):
        found = history(tmp_path, expired, of_1=of_1, killed_ms=killed_ms)
        assert found.figures().double_serving_ms == serves_until_ms - 120


@pytest.mark.long("the model of recorded runs is loaded twice")
def test_a_fetch_may_reach_its_leader_after_its_sender_has_died(tmp_path: Path) -> None:
    """The leader takes the dead follower out, and then wants it back, which it has seen caught up meanwhile."""
    wishes: list[Line] = [
        (200, "want_isr", {"broker": 0, "isr": [0], "known": [0, 1]}),
        (400, "want_isr", {"broker": 0, "isr": [0, 1], "known": [0]}),
    ]
    alone = state_bytes(LeaderAndIsr(0, 0, (0,), 0, (3,)))
    log = [Logged(13, 902, 250, (Change(state_path(PARTITION), alone),))]
    run = Run(1, history(tmp_path, log=log, of_0=wishes, killed_ms=150).trace("seed 1", "recorded"), None)
    assert rejected([run], SCHEDULES.model, (), tmp_path / "with") == {}
    reason = rejected([run], SCHEDULES.model, ["late_fetches=0"], tmp_path / "without")[1]
    assert "ask_to_expand" in reason


def test_a_run_is_wrong_where_two_serve_or_a_record_is_lost() -> None:
    assert violated({"double_serving_ms": 0, "lost": 0}) == []
    assert violated({"double_serving_ms": 3, "lost": 0}) == ["S2: two processes served for 3 ms"]
    assert [one[:2] for one in violated({"double_serving_ms": 3, "lost": 1})] == ["S2", "S5"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ((90, *state(1, "INACTIVE", "lease over")), "a broker was not active"),
        ((90, *fence(1, "fenced", "no answer in time")), "a broker was fenced"),
        ((90, "want_isr", {"broker": 0, "isr": [0], "known": [0, 1]}), "a leader wanted less than every replica"),
    ],
)
def test_a_run_has_not_begun_while_something_is_under_way(tmp_path: Path, line: Line, problem: str) -> None:
    with pytest.raises(NotBegunError, match=problem):
        history(tmp_path, line)
