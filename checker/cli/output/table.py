"""Text that fits the terminal: lines folded, cells aligned in columns."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

LEAST_COLUMN = 36  # the last column stands beside the others only if it has so much, or all that it needs
LEAST_NAME = 20  # another column of text is folded to no less


class _Pieces(textwrap.TextWrapper):
    """Breaks a word that is too long for a line: after a sign within it, where there is one."""

    wordsep_re = re.compile(r"(?<=[_.,/=:;(\[])(?=\S)")


def width() -> int:
    """Columns to keep to: of $COLUMNS or the terminal. What goes to a pipe or a file has whole lines."""
    known = os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty()
    return max(40, shutil.get_terminal_size().columns) if known else sys.maxsize


def fold(text: str, columns: int, indent: str = "") -> list[str]:
    """A line of text as lines of at most so many columns, those after the first indented. Blanks at its start stay."""
    if len(text) <= columns:
        return [text.rstrip()]
    start = _blanks(text)
    lines = textwrap.wrap(
        text.strip(), columns, initial_indent=start, subsequent_indent=start + indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [part for line in lines for part in _short(line, columns, start + indent)] or [""]


def _short(line: str, columns: int, indent: str) -> list[str]:
    """A line as it is; or, if it is one word that is too long, in pieces."""
    if len(line) <= columns:
        return [line]
    return _Pieces(columns, initial_indent=_blanks(line), subsequent_indent=indent).wrap(line.strip())


def _blanks(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def paragraphs(lines: Sequence[str]) -> str:
    """Lines, each folded to the terminal, as one text."""
    return "\n".join(part for line in lines for part in fold(line, width(), "  "))


def table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows of cells as aligned lines, without trailing blanks; right: the columns of numbers.

    Where they do not fit the terminal, the last column is folded, then the others; where it has no room beside them,
    it stands below them.
    """
    needs = [max(len(row[i]) for row in rows) for i in range(len(right))]
    room = width() - 2 * len(right)
    if sum(needs) <= room:
        return _aligned(rows, right, needs)
    last = len(right) - 1
    beside = room - sum(needs[:-1])
    if not right[last] and beside >= LEAST_COLUMN:
        return _aligned(rows, right, [*needs[:-1], beside])
    least = [
        max(len(word) for row in rows for word in row[i].split() or [""]) if is_right else min(needs[i], LEAST_NAME)
        for i, is_right in enumerate(right)
    ]
    least[last] = min(needs[last], max(least[last], LEAST_COLUMN * (not right[last])))
    if sum(least) <= room or right[last] or last == 0:
        return _aligned(rows, right, _shared(room, needs, least))
    widths = _shared(room + 2, needs[:-1], least[:-1])
    lines = []
    for *cells, below in rows:
        lines += _aligned([cells], right[:-1], widths)
        lines += [" " * 6 + line for line in fold(below, width() - 6) if line]
    return lines


def _aligned(rows: Sequence[Sequence[str]], right: Sequence[bool], widths: Sequence[int]) -> list[str]:
    lines = []
    for row in rows:
        cells = [fold(cell, columns) for cell, columns in zip(row, widths, strict=True)]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            filled = [p.rjust(w) if r else p.ljust(w) for p, w, r in zip(parts, widths, right, strict=True)]
            lines.append(("  " + "  ".join(filled)).rstrip())
    return lines


def _shared(room: int, needs: Sequence[int], least: Sequence[int]) -> list[int]:
    """Widths for columns: what each cannot do without, and the rest to the narrowest that needs more."""
    widths = list(least)
    while sum(widths) < room and (wanting := [i for i, w in enumerate(widths) if w < needs[i]]):
        widths[min(wanting, key=widths.__getitem__)] += 1
    return widths
