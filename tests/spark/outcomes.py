"""The outcome of a check that two engines must agree on: all of a report but times, memory and who shared the work."""

from __future__ import annotations

import time
from typing import Any

from checker.explicit.check import CheckOptions, Report
from checker.explicit.check import check as check_locally
from checker.lang.loader import BoundModel
from traces.itf import to_itf

THEIR_OWN = {"seconds", "threads", "partitions", "peak_memory_bytes"}


def outcome(report: Report) -> dict[str, Any]:
    """The report as JSON, its traces and levels of deadlock and errors too."""
    found = {name: value for name, value in report.to_json().items() if name not in THEIR_OWN}
    found["traces"] = [to_itf(trace) for trace in report.traces]
    found["errors"], found["deadlock"] = report.result.errors, report.result.deadlock
    return found


def locally(model: BoundModel, *, all_violations: bool = False) -> dict[str, Any]:
    """The outcome of the local engine for a model."""
    model.bind()
    options = CheckOptions(all_violations=all_violations)
    return outcome(check_locally(model, options, started=time.perf_counter()))
