"""A broker process looks at its own loop: it says how late it is, and does not run on without the look."""

from __future__ import annotations

import asyncio
import logging

import pytest

from impl.group.process import Process
from impl.group.settings import BrokerSettings
from impl.runtime.lag import Lag

NOWHERE = "127.0.0.1:1"
"""No ZooKeeper is there: the process runs, and is no broker of any cluster."""


def test_a_process_says_how_late_it_is_while_it_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(BrokerSettings(0, NOWHERE))
    measured = process._measures.lagged

    def looked(lag: Lag) -> None:
        measured(lag)
        process.stop()

    monkeypatch.setattr(process._measures, "lagged", looked)
    monkeypatch.setattr("impl.group.process._LATE_MS", 0)
    with caplog.at_level(logging.WARNING, "impl.group"):
        asyncio.run(asyncio.wait_for(process.run(), 60))
    assert process._registry.get_sample_value("LoopLagMs_count") == 1
    assert "this process is late" in caplog.text


def test_a_process_whose_look_at_the_loop_fails_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(BrokerSettings(0, NOWHERE))

    def fails(lag: Lag) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(process._measures, "lagged", fails)
    with pytest.raises(RuntimeError, match="a fault"):
        asyncio.run(asyncio.wait_for(process.run(), 60))
