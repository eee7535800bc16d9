"""The raw trace of a voter: a line for each event, before it is done, and nothing where nothing has changed."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from impl.kraft.effects import Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    CreateTopicResponse,
    IsrMember,
)
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.raft.effects import Send
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import BeginQuorumEpochRequest, FetchRequest, VoteRequest
from impl.kraft.raft.roles import Follower, Leader
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter
from impl.kraft.records import FenceBrokerRecord, UserScramCredentialRecord
from impl.kraft.server.raw_trace import RawTrace
from impl.kraft.storage.batches import Record, RecordBatch, encode, header_at
from impl.kraft.storage.effects import AppendToLog, Flush, InstallSnapshot, Persist, TruncateLog
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.storage import QuorumStorage
from tests.impl.kraft.node.quorum import formatted, opened

VOTERS = (1, 2, 3)
STATE = ElectionState(4, None, 2, VOTERS)
ELECTION = {"epoch": 4, "leader": None, "voted_for": 2}
DATA = encode(RecordBatch(0, 4, 0, (Record(b"a"), Record(b"b"))))
BATCH = [2, 4, header_at(DATA).crc]
FETCH = FetchRequest("", 1, 4, 7, 4, -1, 500, 100)
VOTE = VoteRequest("", 3, 1, 4, 3, 7)


def voter(high_watermark: int = 0) -> Voter:
    return Voter(RaftSettings(1, VOTERS), STATE, Follower(), LogEnds(), high_watermark)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "raw.ndjson"


@pytest.fixture
def trace(path: Path) -> RawTrace:
    return RawTrace(path, 1, VOTERS)


def told(path: Path) -> list[dict[str, Any]]:
    """What lines say, without their stamps."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["mono_ns"] for line in lines] == sorted(line["mono_ns"] for line in lines)
    assert {(line["node"], line["process"] < line["mono_ns"]) for line in lines} <= {(1, True)}
    stamps = ("node", "process", "number", "mono_ns")
    return [{name: value for name, value in line.items() if name not in stamps} for line in lines]


@pytest.mark.parametrize(
    ("effect", "says"),
    [
        (Persist(STATE), [{"event": "persisting", "election": ELECTION}]),
        (AppendToLog(DATA, 4), [{"event": "appended", "batches": [BATCH]}]),
        (TruncateLog(5), [{"event": "truncated", "end_offset": 5}]),
        (InstallSnapshot((5, 3)), [{"event": "installed", "snapshot_id": [5, 3]}]),
        (Send(2, FETCH), [{"event": "fetched", "offset": 7}]),
        (Send(2, VOTE), [{"event": "asked_for_vote", "epoch": 4, "end_offset": 7}]),
        (Send(2, VoteRequest("", 3, 1, 4, 3, 7, pre_vote=True)), []),
        (Send(2, BeginQuorumEpochRequest("", 3, 1, 4)), []),
        (Flush(), []),
        (SetTimer(("no-op",), 0), []),
    ],
)
def test_what_is_about_to_be_done_is_written(trace: RawTrace, path: Path, effect: object, says: list[Any]) -> None:
    trace.before(effect, voter())
    assert told(path) == says


def test_what_a_process_finds_on_its_disk_is_written(trace: RawTrace, path: Path) -> None:
    storage: QuorumStorage = opened(formatted(), 1 << 20)
    trace.started(storage)
    storage.persist(STATE)
    storage.append(DATA, 4)
    trace.started(storage)
    nothing = {"event": "started", "voters": list(VOTERS), "election": None, "start_offset": 0, "batches": []}
    assert told(path) == [nothing, nothing | {"election": ELECTION, "batches": [BATCH]}]


@pytest.mark.parametrize("effect", [Send(2, FETCH), Reply(1, CreateTopicResponse(ErrorCode.NONE))])
def test_what_is_committed_is_written_once_before_anybody_hears_of_it(
    trace: RawTrace, path: Path, effect: object
) -> None:
    trace.before(Flush(), voter(7))
    trace.before(effect, voter(7))
    trace.before(effect, voter(7))
    committed, *others = told(path)
    view = {"role": "Follower", "election": ELECTION, "ends": {}}
    assert committed == {"event": "committed", "end_offset": 7, "voter": view}
    assert all(other["event"] == "fetched" for other in others)


def test_a_voter_that_has_changed_is_written(trace: RawTrace, path: Path) -> None:
    one = voter()
    trace.saw(one)
    trace.saw(one)
    one.role = Leader(0, {3: 5, 2: 4}, {})
    trace.saw(one)
    trace.persisted(STATE)
    trace.flushed(5)
    first, second, *others = told(path)
    assert first["voter"]["role"] == "Follower" and second["voter"]["ends"] == {"2": 4, "3": 5}
    assert others == [{"event": "persisted", "election": ELECTION}, {"event": "flushed", "end_offset": 5}]


def test_what_a_leader_decides_is_written_with_what_it_decides_on(trace: RawTrace, path: Path) -> None:
    leader = voter(2)
    leader.role = Leader(0, {}, {})
    trace.handled(
        range(7, 8), (BrokerHeartbeatRequest(11, 3, 7, want_fence=False, want_shut_down=False),), decides=True
    )
    trace.before(AppendToLog(DATA, 4), leader)
    trace.before(Reply(7, BrokerHeartbeatResponse(ErrorCode.NONE)), leader)
    trace.saw(leader)
    trace.lapsed(11)
    trace.before(AppendToLog(DATA, 4), leader)
    handled, appended, committed, answered, _, lapsed, again = told(path)
    assert (handled["event"], handled["calls"], handled["api"]) == ("request_handled", [7], "BrokerHeartbeat")
    assert [(one["broker_id"], one["broker_epoch"]) for one in handled["requests"]] == [(11, 3)]
    assert (appended["calls"], appended["data"]) == ([7], b64encode(DATA).decode())
    assert committed["event"] == "committed", "before anybody hears of it"
    assert (answered["event"], answered["calls"]) == ("request_answered", [7])
    assert [one["error"] for one in answered["responses"]] == [0] and handled["responses"] == []
    assert lapsed == {"event": "lease_expired", "broker": 11}
    assert (again["event"], again["calls"], again["data"]) == ("appended", [], b64encode(DATA).decode())


def test_requests_of_one_sender_are_answered_once_all_are(trace: RawTrace, path: Path) -> None:
    leader = voter()
    leader.role = Leader(0, {}, {})
    request = AlterPartitionRequest(11, 3, UUID(int=5), 0, 1, 2, (IsrMember(11, 3),))
    fine, refused = AlterPartitionResponse(ErrorCode.NONE), AlterPartitionResponse(ErrorCode.FENCED_LEADER_EPOCH)
    trace.handled(range(7, 9), (request, request), decides=True)
    trace.before(Reply(8, refused), leader)
    trace.saw(leader)
    trace.before(Reply(7, fine), leader)
    handled, _, answered = told(path)
    assert (handled["calls"], handled["responses"]) == ([7, 8], [])
    assert [one["error"] for one in answered["responses"]] == [0, ErrorCode.FENCED_LEADER_EPOCH]


def test_what_is_answered_at_once_is_one_line(trace: RawTrace, path: Path) -> None:
    trace.handled(
        range(7, 8), (BrokerHeartbeatRequest(11, 3, 7, want_fence=False, want_shut_down=False),), decides=True
    )
    trace.before(Reply(7, BrokerHeartbeatResponse(ErrorCode.NONE)), voter())
    (handled,) = told(path)
    assert (handled["event"], len(handled["requests"]), len(handled["responses"])) == ("request_handled", 1, 1)


def test_who_comes_into_office_in_a_step_writes_no_secret(trace: RawTrace, path: Path) -> None:
    leader = voter()
    leader.role = Leader(0, {}, {})
    scram = UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096)
    heartbeat = BrokerHeartbeatRequest(11, 3, 7, want_fence=False, want_shut_down=False)
    trace.handled(range(7, 8), (heartbeat,), decides=False)
    trace.before(Reply(7, BrokerHeartbeatResponse(ErrorCode.NOT_CONTROLLER)), leader)
    trace.before(AppendToLog(encode(RecordBatch(2, 4, 0, (Record(MetadataCodec().encode(scram)),))), 4), leader)
    handled, appended = told(path)
    assert handled["responses"] and (appended["calls"], appended["records"]) == ([], [[]])
    assert "data" not in appended


def test_no_secret_is_written(trace: RawTrace, path: Path) -> None:
    leader = voter(2)
    leader.role = Leader(0, {}, {})
    scram = UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096)
    written = [MetadataCodec().encode(record) for record in (FenceBrokerRecord(11, 3), scram)]
    trace.handled(range(8, 9), (AlterUserScramCredentialsRequest("alice", ()),), decides=True)
    trace.before(AppendToLog(encode(RecordBatch(2, 4, 0, tuple(Record(value) for value in written))), 4), leader)
    trace.before(Reply(8, AlterUserScramCredentialsResponse(ErrorCode.NONE)), leader)
    appended, _ = told(path)
    assert (appended["calls"], appended["records"]) == ([], [[b64encode(written[0]).decode()]])
    assert "data" not in appended


def test_another_process_goes_on_in_the_file(trace: RawTrace, path: Path) -> None:
    trace.flushed(1)
    trace.close()
    RawTrace(path, 1, VOTERS).flushed(2)
    assert [json.loads(line)["end_offset"] for line in path.read_text().splitlines()] == [1, 2]
