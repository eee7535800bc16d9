"""The raw trace of a broker: a line for each thing that it does to its replicas, which the rules of replicas take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from impl.kraft.broker import FetchRequest
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from impl.kraft.recorded.events import merged
from impl.kraft.server.replica_logs import StoredReplicaLogs, entry_of
from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.replayed import hold_replicas
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.storage.batches import Record, RecordBatch, encode, header_at
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.trace import main
from tests.impl.kraft.server.one_broker import ID, OTHER, TOPIC_ID, OneBroker

KEY = TOPIC_ID, 0
DATA = encode(RecordBatch(0, 0, 0, (Record(b"a"), Record(b"b"))))
BATCH = [2, 0, header_at(DATA).crc]
OF = {"topic_id": str(TOPIC_ID), "partition": 0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "raw.ndjson"


@pytest.fixture
def broker(tmp_path: Path, path: Path) -> OneBroker:
    """It leads a partition of two replicas, and has appended a batch."""
    (tmp_path / "logs").mkdir()
    found = OneBroker(tmp_path / "logs", trace=ReplicaTrace(path, ID))
    found.create_topic((ID, OTHER))
    look(found)
    assert found.broker.append(KEY, DATA)[1] == 2
    return found


def look(broker: OneBroker) -> None:
    assert broker.steps.trace is not None
    broker.steps.trace.look(broker.broker)


def told(path: Path) -> list[dict[str, Any]]:
    """What lines say, without their stamps and of metadata."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stamps = ("node", "process", "number", "mono_ns")
    said = [{name: value for name, value in line.items() if name not in stamps} for line in lines]
    return [one for one in said if one["event"] != "metadata_applied"]


def fetched(broker: OneBroker, offset: int) -> None:
    """The other replica fetches, as when `Fetching` serves it."""
    request = FetchRequest(OTHER, 1, TOPIC_ID, 0, 0, offset, 0 if offset else -1)
    broker.broker.on_fetch(request, 0)
    assert broker.steps.trace is not None
    broker.steps.trace.serve(KEY, 0, OTHER, broker.broker.leaders[KEY].followers[OTHER].log_end_offset)
    look(broker)


def test_what_a_leader_does_is_written(broker: OneBroker, path: Path) -> None:
    fetched(broker, 2)
    look(broker)
    assert told(path) == [
        {"event": "logs_found", "logs": []},
        {"event": "broker_state", "state": "RECOVERY"},
        {"event": "leads", **OF, "leader_epoch": 0, "is_recovering": False},
        {"event": "batch_written", **OF, "batches": [BATCH]},
        {"event": "fetch_served", **OF, "leader_epoch": 0, "follower": OTHER, "offset": 2},
        {"event": "high_watermark", **OF, "offset": 2, "isr": [ID, OTHER]},
    ]


def test_what_a_follower_does_is_written(broker: OneBroker, path: Path) -> None:
    before = len(told(path))
    broker.change(leader=OTHER)
    look(broker)
    broker.broker.logs[KEY].truncate(0)
    broker.broker.logs[KEY].high_watermark = 0
    broker.change(replicas=(OTHER,), isr=(OTHER,))
    look(broker)
    assert told(path)[before:] == [
        {"event": "follows", **OF, "leader_epoch": 1},
        {"event": "log_cut", **OF, "end_offset": 0},
        {"event": "log_deleted", **OF},
    ]


def test_what_a_process_finds_is_written(broker: OneBroker, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ndjson"
    StoredReplicaLogs(RealDisk(), (str(tmp_path / "logs"),), ReplicaTrace(other, ID)).load()
    assert told(other) == [{"event": "logs_found", "logs": [{**OF, "batches": [BATCH]}]}]
    hold_replicas(merged([("raw", path.read_bytes()), ("other", other.read_bytes())]), ReplicaRules())


def test_what_a_broker_asks_for_and_hears_is_written(tmp_path: Path) -> None:
    path = tmp_path / "raw.ndjson"
    trace = ReplicaTrace(path, ID)
    request = BrokerHeartbeatRequest(ID, 3, 7, want_fence=False, want_shut_down=True)
    first, second = trace.ask(request), trace.ask(request)
    trace.hear(first, None)
    trace.stop()
    trace.hear(second, BrokerHeartbeatResponse(ErrorCode.NONE, True, False, True))
    asked = {
        "broker_id": ID, "broker_epoch": 3, "current_metadata_offset": 7, "want_fence": False, "want_shut_down": True,
        "offline_log_dirs": [],
    }  # fmt: skip
    answer = {"error": 0, "is_caught_up": True, "is_fenced": False, "should_shut_down": True}
    assert told(path) == [
        {"event": "request_sent", "request_number": 1, "api": "BrokerHeartbeat", "request": asked},
        {"event": "request_sent", "request_number": 2, "api": "BrokerHeartbeat", "request": asked},
        {"event": "request_given_up", "request_number": 1},
        {"event": "sigterm"},
        {"event": "response_received", "request_number": 2, "response": answer},
    ]
    hold_replicas(merged([("raw", path.read_bytes())]), ReplicaRules())


def test_the_tool_holds_it_to_the_rules(
    broker: OneBroker, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    follower = ReplicaTrace(tmp_path / "raw2.ndjson", OTHER)
    follower.found({})
    follower.append(KEY, entry_of(header_at(DATA)))
    fetched(broker, 2)
    follower.close()
    assert main(["project", str(path), str(tmp_path / "raw2.ndjson")]) == 0
    assert capsys.readouterr().out == "9 events of 2 brokers: the rules are kept\n"
    lines = (tmp_path / "raw2.ndjson").read_text().splitlines(keepends=True)
    (tmp_path / "raw2.ndjson").write_text(lines[0])  # it says nothing of the batch
    assert main(["project", str(path), str(tmp_path / "raw2.ndjson")]) == 1
    assert "8 events of 2 brokers: a rule is broken\n" in capsys.readouterr().out
    with pytest.raises(BrokenRuleError, match=r"raw:\d+: D3: .*commits up to 2, and \[8\] lack it"):
        hold_replicas(merged([("raw", path.read_bytes())]), ReplicaRules())
