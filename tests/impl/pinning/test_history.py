"""The figures of a run are those of its log, and say so where a controller moved for nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from impl.pinning.znodes import NEXT, READY, STATE, Ready, ready_bytes
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from impl.zookeeper.transaction_log import Change, Logged
from impl.zookeeper.znodes import write_controller, write_decimal
from tests.cluster.recordings import Life, NotBegunError
from tests.impl.pinning.figures import Figures
from tests.impl.pinning.history import History

SESSIONS = (100, 101)
BEGUN = 5


@pytest.fixture
def lives(tmp_path: Path) -> list[Life]:
    """Two brokers that have started, of which broker 0 has begun its term."""
    found = []
    for broker, session in enumerate(SESSIONS):
        trace = tmp_path / f"broker{broker}.ndjson"
        lines = [{"action": "start", "at": {"zxid": BEGUN}, "time_ms": 1, "note": {"session": session}}]
        if broker == 0:
            lines.append({"action": "begin_term", "at": {"zxid": BEGUN}, "time_ms": 2})
        trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
        found.append(Life(broker, trace))
    return found


def elected(zxid: int, broker: int, *further: Change) -> Logged:
    created = Change(CONTROLLER, write_controller(broker, 0), is_create=True, is_ephemeral=True)
    return Logged(zxid, SESSIONS[broker], 10 * zxid, (created, Change(CONTROLLER_EPOCH, write_decimal(zxid)), *further))


def resigned(zxid: int, broker: int) -> Logged:
    return Logged(zxid, SESSIONS[broker], 10 * zxid, (Change(CONTROLLER, None),))


ASKED = Logged(6, SESSIONS[0], 60, (Change(NEXT, b"1", is_create=True),))
IS_READY = Logged(7, SESSIONS[1], 70, (Change(READY, ready_bytes(Ready(1, 6)), is_create=True),))
SERVED = elected(9, 1, Change(NEXT, None), Change(READY, None))


def test_a_hand_over_has_its_cause(lives: list[Life]) -> None:
    log = [elected(4, 0), ASKED, IS_READY, resigned(8, 0), SERVED]
    assert History(log, lives, 2).figures() == Figures(elections=1, requests=1, longest_vacancy_ms=10)


def test_a_vacancy_that_does_not_end_counts_up_to_the_end_of_the_run(lives: list[Life]) -> None:
    history = History([elected(4, 0), ASKED, IS_READY, resigned(8, 0)], lives, 2)
    assert history.figures(ended_ms=10_080) == Figures(
        requests=1, longest_vacancy_ms=10_000, ends_vacant=1, ends_unserved=1
    )


def test_a_resignation_without_a_request_is_counted(lives: list[Life]) -> None:
    history = History([elected(4, 0), resigned(8, 0), elected(12, 1)], lives, 2)
    assert history.figures() == Figures(elections=1, moves_without_cause=1, longest_vacancy_ms=40)
    assert history.figures().violated() == ["P2: moves without a cause"]


def test_a_resignation_for_a_request_that_was_served_is_counted(lives: list[Life]) -> None:
    kept = elected(9, 1)  # and the request stays
    log = [elected(4, 0), ASKED, resigned(8, 0), kept, resigned(10, 1), elected(11, 0), resigned(12, 0)]
    assert History(log, lives, 2).figures().moves_without_cause == 2


def test_a_resignation_for_a_request_that_was_taken_back_is_counted(lives: list[Life]) -> None:
    taken_back = Logged(7, SESSIONS[0], 70, (Change(NEXT, b"-1"),))
    figures = History([elected(4, 0), ASKED, taken_back, resigned(8, 0)], lives, 2).figures()
    assert (figures.requests, figures.taken_back, figures.moves_without_cause) == (1, 1, 1)


def wrote(zxid: int, broker: int, epoch: int) -> Logged:
    return Logged(zxid, SESSIONS[broker], 10 * zxid, (Change(STATE, write_decimal(epoch)),))


def test_a_write_after_a_later_epoch_was_issued_is_counted(lives: list[Life]) -> None:
    log = [elected(4, 0), wrote(6, 0, 4), resigned(8, 0), elected(9, 1), wrote(10, 1, 9), wrote(11, 0, 4)]
    figures = History(log, lives, 2).figures()
    assert (figures.writes, figures.late_writes) == (3, 1)
    lied = History([*log[:-1], wrote(11, 0, 9)], lives, 2).figures()
    assert lied.late_writes == 1, "of the newest epoch, by one that it was not issued to"


def test_an_epoch_that_is_issued_again_is_counted(lives: list[Life]) -> None:
    again = Logged(9, SESSIONS[1], 90, (elected(4, 1).changes[0],))
    assert History([elected(4, 0), resigned(8, 0), again], lives, 2).figures().epochs_issued_again == 1


def test_a_write_is_a_decision_and_a_write(lives: list[Life]) -> None:
    lines = History([elected(4, 0), wrote(6, 0, 4)], lives, 2).trace("a run", "recorded").splitlines()[2:-1]
    assert [json.loads(line)["action"] for line in lines] == ["decide", "write"]
    assert json.loads(lines[1])["state"]["written"] == [4]


def test_the_deletion_of_another_ones_office_is_counted(lives: list[Life]) -> None:
    log = [elected(4, 0), ASKED, resigned(8, 1)]
    assert History(log, lives, 2).figures().foreign_deletions == 1


def test_the_trace_names_the_steps_with_the_znodes_after_them(lives: list[Life]) -> None:
    log = [elected(4, 0), ASKED, IS_READY, resigned(8, 0), SERVED]
    lines = [json.loads(line) for line in History(log, lives, 2).trace("a run", "recorded").splitlines()]
    assert [line.get("action") for line in lines[1:-1]] == ["init", "request", None, "resign", "run"]
    assert lines[-2]["state"]["controller"] == {"broker": "broker1", "owner": 2}
    assert lines[-2]["parameters"] == {"broker": "broker1", "answered": False}, "no broker recorded a reply"
    assert lines[-1] == {"end": 5}


def test_a_session_that_ends_under_a_live_process_is_an_expiry(lives: list[Life]) -> None:
    end = Logged(6, SESSIONS[0], 60, (Change(CONTROLLER, None),), ends_session=True)
    [line] = History([elected(4, 0), end], lives, 2).trace("a run", "recorded").splitlines()[2:-1]
    assert json.loads(line)["action"] == "expire"


def test_one_that_died_is_shown_to_die_before_its_session_ends(lives: list[Life]) -> None:
    killed = [Life(0, lives[0].trace, ended_ms=55), lives[1]]
    end = Logged(6, SESSIONS[0], 60, (Change(CONTROLLER, None),), ends_session=True)
    lines = History([elected(4, 0), end], killed, 2).trace("a run", "recorded").splitlines()[2:-1]
    assert [json.loads(line)["action"] for line in lines] == ["crash", "end_dead_session"]


def test_one_that_restarts_before_its_session_ends_dies_once(lives: list[Life], tmp_path: Path) -> None:
    trace = tmp_path / "again.ndjson"
    trace.write_text(json.dumps({"action": "start", "at": {"zxid": 6}, "time_ms": 57, "note": {"session": 102}}) + "\n")
    killed = [Life(0, lives[0].trace, ended_ms=55), lives[1], Life(0, trace)]
    end = Logged(7, SESSIONS[0], 60, (Change(CONTROLLER, None),), ends_session=True)
    lines = History([elected(4, 0), end], killed, 2).trace("a run", "recorded").splitlines()[2:-1]
    assert [json.loads(line)["action"] for line in lines] == ["crash", "restart", "end_dead_session"]


def test_what_a_broker_did_after_the_run_is_left_out(lives: list[Life]) -> None:
    """It is killed after the last transaction that counts, and may have been elected in between."""
    with lives[1].trace.open("a") as file:
        file.write(json.dumps({"action": "begin_term", "at": {"zxid": 8}, "time_ms": 9}) + "\n")
    lines = History([elected(4, 0), ASKED], lives, 2, until=7).trace("a run", "recorded").splitlines()[2:-1]
    assert [json.loads(line)["action"] for line in lines] == ["request"]


def test_a_cluster_that_never_came_up_is_reported(lives: list[Life]) -> None:
    with pytest.raises(NotBegunError, match="a broker did not start"):
        History([], lives, 3)


def test_a_run_whose_office_moved_before_all_had_started_has_not_begun(lives: list[Life]) -> None:
    """Though broker 0 is in office again: of its second term it may not have recorded the beginning yet."""
    with pytest.raises(NotBegunError, match="the office moved"):
        History([elected(2, 0), resigned(3, 0), elected(5, 0)], lives, 2)
    with pytest.raises(NotBegunError, match="the office moved"):
        History([elected(2, 0), resigned(3, 0)], lives, 2)


def test_a_run_in_which_a_session_ended_before_all_had_started_has_not_begun(lives: list[Life]) -> None:
    with pytest.raises(NotBegunError, match="a session ended"):
        History([elected(4, 0), Logged(5, SESSIONS[1], 50, (), ends_session=True)], lives, 2)


def test_a_session_after_which_its_process_began_another_expired(lives: list[Life]) -> None:
    """It was told to stop before the end was logged, and had not stopped yet."""
    with lives[0].trace.open("a") as file:
        line = {"action": "start", "at": {"zxid": 7}, "time_ms": 61, "note": {"session": 102}}
        file.write(json.dumps(line) + "\n")
    stopped = [Life(0, lives[0].trace, ended_ms=55), lives[1]]
    end = Logged(6, SESSIONS[0], 60, (Change(CONTROLLER, None),), ends_session=True)
    lines = History([elected(4, 0), end], stopped, 2).trace("a run", "recorded").splitlines()[2:-1]
    assert [json.loads(line)["action"] for line in lines] == ["expire", "renew_session"]
