"""Breaking styled text into lines, and setting blocks of lines beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from rich.text import Text

Block = list[Text]

# where a line may end, best first: after spaces, after a sign within a value or dotted name, anywhere
_WORD = re.compile(r"\S*\s+|\S+")
_PART = re.compile(r"[^,.;:/=→(){}\[\]_-]*[,.;:/=→(){}\[\]_-]+\s*|[^,.;:/=→(){}\[\]_-]+")


def wrap(text: Text, width: int, indent: int = 0) -> Block:
    """`text` in lines of at most `width` cells (at least 4), indented by `indent` from the second on."""
    indent = min(indent, width // 2)
    lines: Block = []
    start = end = 0
    for piece in _pieces(text.plain, width - indent):
        room = width - (indent if lines else 0)
        if end > start and _length(text.plain[start:end] + piece) > room:
            lines.append(_cut(text, start, end, indent if lines else 0))
            start = end
        end += len(piece)
    return [*lines, _cut(text, start, end, indent if lines else 0)]


def beside(blocks: Sequence[Block], widths: Sequence[int], separator: Text) -> Block:
    """Blocks of lines as the columns of a table; each is filled up to its width in cells."""
    rows = []
    for parts in zip_longest(*blocks, fillvalue=Text()):
        cells = [part + Text(" " * (width - part.cell_len)) for part, width in zip(parts, widths, strict=True)]
        rows.append(separator.join(cells))
    return rows


def share(total: int, needs: Sequence[int], least: Sequence[int]) -> list[int] | None:
    """Widths for columns that would like `needs` cells and make do with `least`; None when they do not fit.

    What is left over goes to those that need more, in proportion to `least`.
    """
    widths = [min(pair) for pair in zip(needs, least, strict=True)]
    if sum(widths) > total:
        return None
    for _ in range(total - sum(widths)):
        wanting = [column for column, width in enumerate(widths) if width < needs[column]]
        if not wanting:
            break
        widths[min(wanting, key=lambda column: widths[column] / least[column])] += 1
    return widths


def _pieces(plain: str, width: int) -> Iterator[str]:
    for word in _WORD.findall(plain):
        if _length(word) <= width:
            yield word
            continue
        for part in _PART.findall(word):
            yield from [part] if _length(part) <= width else chop_cells(part, width)


def _length(text: str) -> int:
    return cell_len(text.rstrip())


def _cut(text: Text, start: int, end: int, indent: int) -> Text:
    line = text[start:end]
    line.rstrip()
    return Text(" " * indent) + line if indent else line
