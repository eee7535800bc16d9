"""NDJSON: a header line, then a line per step. The header counts the steps, so that a cut file is noticed."""

from __future__ import annotations

import json

from traces.document import (
    VERSION,
    check_version,
    header_to_json,
    step_from_json,
    step_to_json,
    trace_from_json,
)
from traces.reading import Json, parse
from traces.trace import Trace, TraceError

FORMAT = "fencepost-trace"


def to_ndjson(trace: Trace) -> str:
    """`trace` as text: a header with format, version and number of steps, then a line per step."""
    header = {"format": FORMAT, "version": VERSION, "steps": len(trace.steps), **header_to_json(trace)}
    return "".join(json.dumps(line) + "\n" for line in [header, *map(step_to_json, trace.steps)])


def from_ndjson(text: str) -> Trace:
    """The trace that `to_ndjson` wrote. Raises `TraceError` with the line and the path in it."""
    first, *rest = text.rstrip().split("\n")
    header = _line(first, 1)
    try:
        if header.get("format", "").value != FORMAT:
            raise TraceError(
                f'the first line does not say "format": "{FORMAT}"',
                hint="Is it an ITF file? Then its name must end in .itf.json",
            )
        check_version(header)
        expected = header.field("steps").integer()
    except TraceError as error:
        raise error.within("line 1") from None
    steps = []
    for number, line in enumerate(rest, start=2):
        try:
            steps.append(step_from_json(_line(line, number)))
        except TraceError as error:
            raise (error if error.where.startswith("line") else error.within(f"line {number}")) from None
    if len(steps) != expected:
        raise TraceError(
            f"the header announces {expected} steps, and there are {len(steps)}",
            hint="The file was cut off or edited: write it again",
        )
    return trace_from_json(header, steps)


def _line(text: str, number: int) -> Json:
    try:
        return Json(parse(text))
    except TraceError as error:
        column = error.where.partition(", ")[2]  # the line that json counts is always the first
        where = f"line {number}, {column}" if column else f"line {number}"
        raise TraceError(error.what, where=where, hint=error.hint) from None
