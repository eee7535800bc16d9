"""The JSON of what the two formats share: all of a trace but its steps, and one step."""

from __future__ import annotations

from typing import Any

from traces.reading import Json, portable, portable_record
from traces.trace import Column, Step, Trace, TraceError, Violation

VERSION = 1
"""Version of what is written here; a reader refuses any other."""


def check_version(header: Json) -> None:
    """Raises `TraceError` unless `header` is of the version that is read here."""
    version = header.field("version").integer()
    if version != VERSION:
        raise TraceError(
            f"this is version {version}, and only version {VERSION} is read here",
            where=header.path,
            hint="Read it with the Fencepost that wrote it, or write it again with this one",
        )


def header_to_json(trace: Trace) -> dict[str, Any]:
    """Everything of `trace` but its steps."""
    return {
        "model": trace.model,
        "constants": portable_record(trace.constants),
        "violation": None if trace.violation is None else _violation_to_json(trace.violation),
        "head": list(trace.head),
        "tail": list(trace.tail),
        "columns": [
            {
                "title": column.title,
                "cells": [{"label": label, "path": portable(list(path))} for label, path in column.cells],
            }
            for column in trace.columns
        ],
        "loop": trace.loop,
    }


def trace_from_json(header: Json, steps: list[Step]) -> Trace:
    """The trace of a header as `header_to_json` wrote it, and steps."""
    violation = header.field("violation")
    loop = header.field("loop")
    return Trace(
        model=header.field("model").text(),
        constants=header.field("constants").record(),
        steps=tuple(steps),
        violation=None if violation.value is None else _violation_from_json(violation),
        head=header.field("head").texts(),
        tail=header.field("tail").texts(),
        columns=tuple(_column_from_json(column) for column in header.field("columns").items()),
        loop=None if loop.value is None else loop.integer(),
    )


def step_to_json(step: Step) -> dict[str, Any]:
    """All of one step."""
    return {
        "index": step.index,
        "action": step.action,
        "actor": step.actor,
        "parameters": portable_record(step.parameters),
        "state": None if step.state is None else portable_record(step.state),
        "notes": list(step.notes),
        "source": step.source,
    }


def step_from_json(step: Json) -> Step:
    """A step as `step_to_json` wrote it."""
    state = step.field("state")
    return Step(
        index=step.field("index").integer(),
        action=step.field("action").text(),
        actor=step.field("actor").text(),
        parameters=step.field("parameters").record(),
        state=None if state.value is None else state.record(),
        notes=step.field("notes").texts(),
        source=step.field("source").text(),
    )


def _violation_to_json(violation: Violation) -> dict[str, Any]:
    texts = ("property", "kind", "statement", "source", "conjunct", "location")
    return {
        **{name: getattr(violation, name) for name in texts},
        "values": [{"expression": text, "value": portable(value)} for text, value in violation.values],
    }


def _violation_from_json(violation: Json) -> Violation:
    return Violation(
        property=violation.field("property").text(),
        kind=violation.field("kind").text(),
        statement=violation.field("statement").text(),
        source=violation.field("source").text(),
        conjunct=violation.field("conjunct").text(),
        location=violation.field("location").text(),
        values=tuple(
            (item.field("expression").text(), item.field("value").data()) for item in violation.field("values").items()
        ),
    )


def _column_from_json(column: Json) -> Column:
    return Column(
        title=column.field("title").text(),
        cells=tuple(
            (cell.field("label").text(), tuple(part.data() for part in cell.field("path").items()))
            for cell in column.field("cells").items()
        ),
    )
