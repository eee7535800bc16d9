"""Drawing a trace for a terminal.

Where the columns fit, a table with a column per process; else the changes are stacked under each step. Either
way the first step shows the whole state, and later ones what changed ("old → new").
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from traces.changes import Part, Row, rows
from traces.flow import Block, beside, share, wrap
from traces.trace import Step, Trace, Violation, printable
from traces.values import show, show_fields

LEAST_WIDTH = 40
"""A narrower terminal is drawn for as one of this width."""

_LABEL, _QUIET, _STRONG, _ACTOR = "dim", "dim", "bold", "cyan"
_CHANGED, _BAD, _GOOD = "bold yellow", "bold red", "bold green"
# styled runs are put together with `Text.assemble`: the style of a first run must not colour what follows it
_GAP = Text.assemble((" │ ", _QUIET))
_DEFINED = 24  # the longest label that is set in a column of its own
_ACTION, _COLUMN = 28, 22  # cells below which a column of the table is not worth having


def render(trace: Trace, width: int, color: bool) -> str:
    """`trace` as text for a terminal of `width` cells (at least 40), with ANSI colours or no escapes at all.

    No line is longer than `width`, and there is no newline at the end.
    """
    width = max(width, LEAST_WIDTH)
    drawn = rows(trace)
    table = _table(trace, drawn, width)
    blocks = [_head(trace, width), table if table is not None else _stack(trace, drawn, width)]
    if trace.loop is not None:
        stays = trace.loop == len(trace.steps) - 1
        onwards = "on it stays as it is," if stays else f"it goes back to step {trace.loop + 1}, and so on"
        blocks.append(wrap(Text(f"From here {onwards} forever."), width))
    if trace.violation is not None:
        blocks.append(_verdict(trace, trace.violation, width))
    if trace.tail:
        blocks.append(_lines(trace.tail, width))
    if sources := {step.action: step.source for step in trace.steps if step.source}:
        blocks.append([Text("Where the actions come from", style=_QUIET), *_define(sources, width, _QUIET)])
    return _to_text([line for block in blocks for line in (Text(), *block)][1:], width, color)


def _to_text(lines: Block, width: int, color: bool) -> str:
    # every choice that rich would take from the environment is made here: the same trace gives the same text
    console = Console(
        file=io.StringIO(),
        width=width,
        height=25,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    with console.capture() as capture:
        for line in lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
    return capture.get().rstrip("\n")


def _head(trace: Trace, width: int) -> Block:
    outcome: Text | str = f"a behaviour of {len(trace.steps)} steps"
    if trace.violation is not None:
        outcome = _outcome(trace, trace.violation)
    title = Text.assemble((printable(trace.model) or "a trace", _STRONG), "  ", outcome)
    constants = "  ".join(f"{printable(name)}={show(value)}" for name, value in trace.constants.items())
    has_constants = any(line.startswith("constants:") for line in trace.head)
    return [
        *wrap(title, width, 2),
        Text("─" * width, style=_QUIET),
        *_lines(([f"constants: {constants}"] if constants and not has_constants else []) + list(trace.head), width),
    ]


def _outcome(trace: Trace, violation: Violation) -> Text:
    last = len(trace.steps)
    kind, name = printable(violation.kind), printable(violation.property)
    if violation.kind == "witness":
        return Text(f"✓ witness {name} is reached at step {last}", style=_GOOD)
    if violation.kind == "deadlock":
        return Text(f"✗ deadlock after step {last}: no action can be taken", style=_BAD)
    if violation.kind == "runtime error":
        return Text(f"✗ runtime error in step {last}: {name}", style=_BAD)
    if violation.kind == "divergence":
        return Text(f"✗ {name} diverges from the spec at step {last}", style=_BAD)
    if trace.loop is not None:
        repeated = f"step {last}" if trace.loop == last - 1 else f"steps {trace.loop + 1} to {last}"
        return Text(f"✗ {kind} {name} is violated: {repeated} forever", style=_BAD)
    return Text(f"✗ {kind} {name} is violated at step {last}", style=_BAD)


def _verdict(trace: Trace, violation: Violation, width: int) -> Block:
    lines = [Text("─" * width, style=_QUIET), *wrap(_outcome(trace, violation), width, 2)]
    if violation.statement:
        lines += wrap(Text(printable(" ".join(violation.statement.split()))), width)
    if origin := " · ".join(printable(text) for text in (violation.source, violation.location) if text):
        lines += wrap(Text(origin, style=_QUIET), width)
    if violation.conjunct:
        label = "holds" if violation.kind == "witness" else "false" if trace.loop is None else "never"
        lines += [Text(), *_define({label: " ".join(violation.conjunct.split())}, width, _STRONG)]
    if violation.values:
        lines += [Text(), *_define({text: show(value) for text, value in violation.values}, width, _CHANGED)]
    return lines


def _lines(lines: Sequence[str], width: int) -> Block:
    """Lines of text; neighbours of the form "label: text" are set in two columns."""
    block: Block = []
    labelled: dict[str, str] = {}
    for line in lines:
        label, colon, text = line.partition(": ")
        if colon and len(label) <= _DEFINED and label not in labelled:
            labelled[label] = text
            continue
        block += _define(labelled, width)
        labelled = {}
        block += wrap(Text(printable(line)), width, 2)
    return block + _define(labelled, width)


def _define(texts: dict[str, str], width: int, style: str = "") -> Block:
    """Labels on the left, texts on the right; a label that is too long for that stands above its text."""
    most = max(_DEFINED, width // 3)
    column = max((cell_len(label) for label in texts if cell_len(label) <= most), default=0)
    block: Block = []
    for label, text in texts.items():
        name, body = Text("  " + printable(label), style=_LABEL), Text(printable(text), style=style)
        if cell_len(label) > column:
            block += wrap(name, width, 4)
            block += [Text("    ") + line for line in wrap(body, width - 4)]
        else:
            room = width - column - 4
            block += beside([[name], wrap(body, room)], [column + 2, room], Text("  "))
    return block


def _table(trace: Trace, drawn: Sequence[Row], width: int) -> Block | None:
    """A row per step and a column per process; None when `width` has no room for that."""
    titles = [printable(title) for title, _ in drawn[0].cells] if drawn else []
    actions = [_actor_and_call(step, row) + _notes(step) for step, row in zip(trace.steps, drawn, strict=True)]
    widths = _widths(titles, actions, drawn, width)
    if widths is None:
        return None
    names = zip(("  #", "step", *titles), widths, strict=True)
    heads = [wrap(Text(name, style=_STRONG), column) for name, column in names]
    rule = Text("─┼─".join("─" * column for column in widths), style=_QUIET)
    block = [*beside(heads, widths, _GAP), rule]
    for step, action, row in zip(trace.steps, actions, drawn, strict=True):
        if step.index > 1:
            block += beside([[Text()]] * len(widths), widths, _GAP)
        cells = [
            [line for part in parts for line in _fit(part, column)]
            for (_, parts), column in zip(row.cells, widths[2:], strict=True)
        ]
        wrapped = [line for text in action for line in wrap(text, widths[1], 2)]
        block += beside([[_number(trace, step, widths[0])], wrapped, *cells], widths, _GAP)
    return block


def _widths(titles: Sequence[str], actions: Sequence[Block], drawn: Sequence[Row], width: int) -> list[int] | None:
    """Cells for the columns of the table: number, action, then one per title; None when they do not fit."""
    number = max(3, len(str(len(drawn))) + 1)
    longest = max([4, *(line.cell_len for action in actions for line in action)])
    needs = [min(longest, max(_ACTION, width // 3))]  # its notes are prose, and are wrapped before a state is
    for position, title in enumerate(titles):
        parts = [part for row in drawn for part in row.cells[position][1]]
        needs.append(max([4, cell_len(title), *(_change(part).cell_len for part in parts)]))
    room = width - number - _GAP.cell_len * (len(titles) + 1)
    widths = share(room, needs, [_ACTION] + [_COLUMN] * len(titles))
    return None if widths is None else [number, *widths]


def _stack(trace: Trace, drawn: Sequence[Row], width: int) -> Block:
    """Each step with its changes under it."""
    number = max(3, len(str(len(drawn))) + 1)
    margin = number + 2
    titles = max((cell_len(printable(title)) for row in drawn for title, _ in row.cells), default=0)
    titles = min(titles, width // 4)
    block: Block = []
    for step, row in zip(trace.steps, drawn, strict=True):
        lines = wrap(Text("  ").join(_actor_and_call(step, row)), width - margin, 2)
        for note in _notes(step):
            lines += wrap(note, width - margin, 2)
        for title, parts in row.cells:
            if parts:
                room = width - margin - titles - 4
                name = wrap(Text(printable(title), style=_LABEL), titles)
                lines += beside([[], name, _flow(parts, room)], [0, titles, room], Text("  "))
        block += [Text()] if step.index > 1 else []
        block += beside([[_number(trace, step, number)], lines], [number, width - margin], Text("  "))
    return block


def _number(trace: Trace, step: Step, width: int) -> Text:
    last = step.index == len(trace.steps) and trace.violation is not None
    if not last or trace.violation is None:
        if step.index - 1 == trace.loop:
            return Text("↻" + str(step.index).rjust(width - 1), style=_STRONG)
        return Text(str(step.index).rjust(width), style=_QUIET)
    good = trace.violation.kind == "witness"
    return Text(("✓" if good else "✗") + str(step.index).rjust(width - 1), style=_GOOD if good else _BAD)


def _actor_and_call(step: Step, row: Row) -> Block:
    parameters = f"({show_fields(step.parameters)})" if step.parameters else ""
    replies = (f" → {', '.join(map(printable, row.errors))}" if row.errors else "", _CHANGED)
    call = Text.assemble((printable(step.action) or "(no action named)", _STRONG), parameters, replies)
    return [Text(printable(step.actor), style=_ACTOR), call] if step.actor else [call]


def _notes(step: Step) -> Block:
    notes = [Text.assemble(("· ", _QUIET), printable(note)) for note in step.notes]
    if step.state is None:
        notes.append(Text("· broke while it ran: there is no state after it", style=_BAD))
    return notes


def _change(part: Part) -> Text:
    """One part of a cell on one line: "label value", or "label old → new" where it changed."""
    label = (part.label + " " if part.label else "", _LABEL)
    if not part.changed:
        return Text.assemble(label, part.now)
    old = part.before + " " if part.before else ""
    return Text.assemble(label, (old + "→ ", _QUIET), (part.now, _CHANGED))


def _fit(part: Part, width: int) -> Block:
    """`_change` in a narrow column: lines are broken, best where the new value starts."""
    whole = _change(part)
    if whole.cell_len <= width:
        return [whole]
    if not part.before:
        return wrap(whole, width, 2)
    old = Text.assemble((part.label + " " if part.label else "", _LABEL), (part.before, _QUIET))
    new = Text.assemble(("→ ", _QUIET), (part.now, _CHANGED))
    *lines, end = wrap(old, width, 2)
    if lines and end.cell_len + 1 + new.cell_len <= width:
        return [*lines, Text.assemble(end, " ", new)]
    return [*lines, end, *(Text("  ") + line for line in wrap(new, width - 2, 2))]


def _flow(parts: Sequence[Part], width: int) -> Block:
    """Parts that changed on lines of their own, then the others one after the other."""
    block = [line for part in parts if part.changed for line in _fit(part, width)]
    line = Text()
    for part in parts:
        if part.changed:
            continue
        joined = Text.assemble(line, (" · ", _QUIET), _change(part)) if line else _change(part)
        if line and joined.cell_len > width:
            block += wrap(line, width, 2)
            joined = _change(part)
        line = joined
    return block + (wrap(line, width, 2) if line else [])
