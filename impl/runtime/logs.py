"""Structured logs: each line is a JSON object with the time, the level, the event and its facts."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any, TextIO

_FACTS = "fencepost_facts"


class JsonLines(logging.Formatter):
    """A line for each record: {"time": "...", "level": "INFO", "event": "...", facts...}.

    facts: part of every line, such as the broker's id.
    """

    def __init__(self, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._facts = dict(facts or {})

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"), "level": record.levelname,
            "logger": record.name, "event": record.getMessage(), **self._facts, **getattr(record, _FACTS, {}),
        }  # fmt: skip
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to(stream: TextIO | None = None, *, level: int = logging.INFO, **facts: Any) -> None:
    """Let all of the process's logging go to a stream (default: standard error), each line with these facts."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(facts))
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(level)


def log(
    logger: logging.Logger, event: str, facts: Mapping[str, Any] | None = None, *, level: int = logging.INFO
) -> None:
    """Log an event with its facts."""
    logger.log(level, "%s", event, extra={_FACTS: dict(facts or {})})
