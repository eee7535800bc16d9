"""Traces of quorums, judged by the spec of the quorum's log on one page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from checker.lang.loader import load
from checker.validate.corpus import CorpusOptions, Summary, validate

MODEL = str(Path(__file__).with_name("recorded.py"))
"""Of three voters."""


def judged(traces: Mapping[str, str]) -> Summary:
    """Traces by their names."""
    return validate(load(MODEL), [(name, text.encode()) for name, text in traces.items()], CorpusOptions())
