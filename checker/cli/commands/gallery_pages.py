"""The pages of the gallery, in Markdown: one for each bug, made from its run, and an index.

What moves without the run having changed is left out: line numbers, times, the machine.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from checker.explicit.gallery import Reproduction
from checker.lang.declare import Bug
from checker.reference.switches import Departed, Repair
from checker.reference.trace import location, usual
from traces import Trace, Violation
from traces.markdown import escaped, first_state, sequence_diagram, steps_table
from traces.values import plural, show

WIDTH = 120
INDEX = "README.md"


def index(bugs: Sequence[tuple[str, Bug]]) -> str:
    """The index of the pages: each bug with the design it belongs to."""
    rows = [
        f"| [{escaped(bug.title)}]({bug.name}.md) | {escaped(bug.label)} | `{design}/{bug.model.name}` "
        f"| `{bug.violates.name}` | {bug.states} |"
        for design, bug in bugs
    ]
    return _page(
        _note("the declarations in `spec/*/gallery.py`"),
        "# Gallery",
        _wrapped(
            "Bugs that Kafka had and holes that the design has, each shown by the checker: a guard of the model is "
            "switched off, and a shortest counterexample shows what it was there for. Every page is generated from "
            "the run that it describes; `fencepost gallery` runs them all again, and `fencepost gallery --check` "
            "says whether the pages are what the runs give now."
        ),
        "\n".join(["| what goes wrong | label | model | violates | states |", "|---|---|---|---|--:|", *rows]),
    )


def page(found: Reproduction) -> str:
    """The page of a bug that was found."""
    trace, bug = found.trace, found.bug
    assert trace is not None and trace.violation is not None, "there is a page only for what was found"
    return _page(
        _note("its run, and its story in the design's `gallery.py`"),
        f"# {escaped(bug.title)}",
        f"**{escaped(bug.label)}** · {escaped(bug.found_in)}",
        _wrapped(bug.story),
        f"```\nfencepost check {command(found)}\n```",
        _facts(found, trace),
        "## What happens",
        "Who acts when; an arrow leads to a process whose state the step changes. Each step in full is below.",
        f"```mermaid\n{sequence_diagram(trace)}\n```",
        f"<details><summary>The state that it starts from</summary>\n\n{first_state(trace)}\n\n</details>",
        steps_table(trace),
        "## What is violated",
        *_violated(trace, trace.violation),
        "## With the guard on",
        _wrapped(bug.guard),
        *[part for repair in found.repairs for part in _repaired(repair)],
    )


def command(found: Reproduction) -> str:
    """The arguments of `fencepost check` that show the same."""
    changes = " ".join(f"--set {name}={_value(value)}" for name, value in found.bug.constants.items())
    return f"{found.model.name} {changes} --property {found.bug.violates.name}"


def _page(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _note(origin: str) -> str:
    return f"<!-- Written by `fencepost gallery` from {origin}. -->"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "name", value))


def _facts(found: Reproduction, trace: Trace) -> str:
    """Facts that a reader needs first: switches, faults, length, and what the model leaves out."""
    bug, model = found.bug, found.model
    docs = model.info.docs if model.info else {}
    rows = [("the model", f"`{model.name}`: {escaped(bug.model.doc)}")]
    for name, value in bug.constants.items():
        is_guard = value is False and usual(model, name) is True
        rows.append(("switched off" if is_guard else "set", f"`{name}={_value(value)}`: {escaped(docs.get(name, ''))}"))
    rows += [
        ("faults allowed", escaped(bug.model.faults)),
        ("length", escaped(_length(trace))),
        ("not modelled", escaped(bug.model.not_modelled)),
    ]
    return "\n".join(["| | |", "|---|---|", *[f"| {name} | {text} |" for name, text in rows if text]])


def _length(trace: Trace) -> str:
    if trace.loop is None:
        return f"{plural(len(trace.steps), 'state')}, and no shorter trace does it"
    stays = trace.loop == len(trace.steps) - 1
    return f"{plural(len(trace.steps), 'state')}, " + (
        "in the last of which it stays" if stays else "the last of which closes a loop"
    )


def _violated(trace: Trace, broken: Violation) -> Iterator[str]:
    """The property as text, what of it does not hold, and the values that make it so."""
    yield f"`{broken.property}` ({broken.kind}, {escaped(broken.source)}): {escaped(broken.statement)}"
    if broken.conjunct:
        yield "This is false:" if trace.loop is None else "This never holds:"
        yield f"```python\n{broken.conjunct}\n```"
    if broken.values:
        rows = [f"| `{text}` | {escaped(show(value))} |" for text, value in broken.values]
        yield "\n".join(["| where | is |", "|---|---|", *rows])
    if trace.tail:  # the effects of the guards have their own section
        yield "\n".join(f"- {escaped(line)}" for line in trace.tail)


def _repaired(repair: Repair) -> Iterator[str]:
    """Lines on the same steps with one switch on, and the guard that it is."""
    if repair.departed is None:
        yield f"With `{repair.switch}` alone switched on, the same steps are taken."
        return
    yield from _departed(repair.switch, repair.departed)
    for guard in repair.guards:
        file = location(guard.file, guard.line).rpartition(":")[0]
        yield f"In `{file}`:"
        yield f"```python\n{guard.text}\n```"


def _departed(switch: str, departed: Departed) -> Iterator[str]:
    at = departed.step.index
    same = f"the same steps are taken up to step {at - 1}. Step {at}" if at > 2 else f"step {at}"
    how = f"With `{switch}` switched on, {same}, `{departed.step.action}`, {departed.how}"
    if not departed.changes:
        yield f"{how}." + (f" After that, {departed.rest}." if departed.rest else "")
        return
    yield f"{how}:"
    rows = [f"| `{place}` | {escaped(before)} | {escaped(now)} |" for place, now, before in departed.changes]
    yield "\n".join(["| after that step | guard off | guard on |", "|---|---|---|", *rows])
    if departed.rest:
        yield f"After that, {departed.rest}."
