"""Rules that several designs have alike for fields of cores: what keys are derived by (`checker/conform/graph.py`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from checker.conform.graph import Elsewhere, Fields, Graph, LeftOut
from checker.conform.system import Structure

OF_CORE = Elsewhere("the core, whose parts share it")
TOLD = LeftOut("the log, the metrics and answers to operators have it, and nothing is decided by it")


def of_core(*names: str) -> Fields:
    """Fields of a part that are parts of its core themselves."""
    return dict.fromkeys(names, OF_CORE)


def in_any_order(value: Collection[Any], _: Any, graph: Graph) -> Structure:
    """The host says what comes first; no item is in it twice."""
    return frozenset(map(graph.of, value)), len(value)
