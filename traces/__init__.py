"""Traces: what a checker found or a cluster did, step by step.

`trace` has the types, `files` reads and writes them (ITF JSON, NDJSON), `render` draws them in a terminal.
The renderer is not imported here, so that a program which only records does not load `rich`.
"""

from __future__ import annotations

from traces.files import load, save
from traces.trace import Column, Step, Trace, TraceError, Value, Violation

__all__ = ["Column", "Step", "Trace", "TraceError", "Value", "Violation", "load", "save"]
