"""The outcome of a request: the records to write, all of them in one batch, and the response."""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.messages import Response
from impl.kraft.records import Record


@dataclass(frozen=True, slots=True)
class Decision:
    response: Response
    records: tuple[Record, ...] = ()
