"""What a process shows of itself: its log, its metrics, its trace."""

from __future__ import annotations

import io
import json
import logging
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter

from impl.runtime.logs import log, log_to
from impl.runtime.metrics import served
from impl.runtime.recorder import Recorder


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    stream = io.StringIO()
    log_to(stream, broker=3)
    return stream


def test_each_line_of_the_log_is_an_object(logged: io.StringIO) -> None:
    log(logging.getLogger("pinning"), "the controller moves %s", {"from": 1, "to": 2, "cause": "request"})
    try:
        raise ValueError("disk")
    except ValueError:
        logging.getLogger("other").exception("it broke")
    first, second = map(json.loads, logged.getvalue().splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "INFO", "logger": "pinning", "event": "the controller moves %s", "broker": 3, "from": 1, "to": 2,
        "cause": "request",
    }  # fmt: skip
    assert second["event"] == "it broke" and second["exception"].endswith("ValueError: disk")


def test_metrics_are_served_as_prometheus_reads_them() -> None:
    registry = CollectorRegistry()
    Counter("controller_moves", "Moves of the controller", ["cause"], registry=registry).labels("request").inc()
    with served(registry, "127.0.0.1", 0) as address:
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read()
        assert b'controller_moves_total{cause="request"} 1.0' in text.splitlines()
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{address}/metrics", timeout=10)


def test_a_recorded_event_is_in_the_file_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "b0.ndjson", "pinning/pin", "broker0", constants={"brokers": 3})
    recorder.record("send", {"to": "broker1"}, sends=["b0-1"], at={"zxid": 7})
    lines = [json.loads(line) for line in (tmp_path / "b0.ndjson").read_text().splitlines()]
    assert lines[0]["process"] == "broker0" and lines[0]["constants"] == {"brokers": 3}
    assert lines[1].pop("time_ms") > 0
    assert lines[1] == {"action": "send", "parameters": {"to": "broker1"}, "sends": ["b0-1"], "at": {"zxid": 7}}
    recorder.seen({"controller": None}, receives=["b1-1"])
    recorder.close()
    assert json.loads((tmp_path / "b0.ndjson").read_text().splitlines()[-1]) == {"end": 2}
    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "b0.ndjson", "pinning/pin", "broker0")
