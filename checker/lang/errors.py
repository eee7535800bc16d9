"""Errors in a spec, described so that its author can fix them."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from checker.errors import FencepostError

SHOWN = 200  # characters of a value in a message
LINE = 1_000  # characters of a line of source in a message


def shortened(text: object) -> str:
    """A text fit for a message: an expression may be megabytes long, and so may what it evaluates to."""
    full = str(text)
    return full if len(full) <= SHOWN else f"{full[: SHOWN // 2]}… ({len(full):,} characters)"


@dataclass(frozen=True)
class Place:
    """A range of a source file. `line` counts from 1, `column` from 0; file "" is unknown."""

    file: str = ""
    line: int = 0
    column: int = 0
    end_column: int = 0


class SpecError(FencepostError):
    """A spec, a model or its constants cannot be used. The message is complete as it stands.

    reason: what is wrong; hint: how to put it right; place: where, shown with a caret.
    """

    def __init__(self, reason: str, *, place: Place | None = None, hint: str = "") -> None:
        self.reason = reason
        self.hint = hint
        self.place = place or Place()
        super().__init__(self._text())

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.reason, self.place, self.hint)  # between processes

    @property
    def message(self) -> str:
        return str(self)

    def _text(self) -> str:
        lines = []
        if self.place.file:
            lines.append(f"{self.place.file}:{self.place.line}")
            source = linecache.getline(self.place.file, self.place.line).rstrip()
            if source:
                text = source.lstrip()
                start = max(0, self.place.column - (len(source) - len(text)))
                width = max(1, min(self.place.end_column - self.place.column, len(text) - start))
                lines += _around(text, start, width)
        lines.append(f"error: {self.reason}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _around(text: str, start: int, width: int) -> list[str]:
    """A line of source with carets under a part of it; of a line that is very long only that part."""
    if len(text) > LINE:
        text, start = "…" + text[start : start + LINE] + "…", 1
        width = min(width, LINE)
    return [f"    {text}", "    " + " " * start + "^" * width]


def _again(cls: type[SpecError], reason: str, place: Place, hint: str) -> SpecError:
    return cls(reason, place=place, hint=hint)
