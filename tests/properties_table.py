"""Writes docs/properties.md: the numbered statements of each design, and the properties that make them checkable.

usage: python -m tests.properties_table
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from checker.lang.declare import Declared
from checker.lang.loader import bugs_of, designs, load_spec
from tests.conftest import ROOT
from traces.files import write_whole
from traces.markdown import escaped

PAGE = ROOT / "docs" / "properties.md"
HEAD = """<!-- Written by `make docs` from the specs. -->

# The properties

What each design must guarantee, and the properties that make it checkable: where each is claimed, and which bugs of the
gallery break it. Each of them is shown to be breakable by a switch or by a mutant in the tests.
"""
_NUMBER = re.compile(r"\b((?:RL|[BGLPRSTV])\d+'?)(?!\w)")


def page() -> str:
    """The text of the page."""
    lines = [HEAD]
    for design in designs():
        if find_spec(f"spec.{design}.properties") is not None:
            statements = getattr(importlib.import_module(f"spec.{design}.properties"), "STATEMENTS", {})
            lines += [f"## {design}", "", *_catalogue(design, statements)]
    return "\n".join(lines)


def numbers_of(declared: Declared) -> list[str]:
    """The statements that a property is part of, by its source: "..., Broker Registration (S1)" is of S1."""
    return _NUMBER.findall(declared.source.rpartition("(")[2])


def _catalogue(design: str, statements: Mapping[str, str]) -> Iterator[str]:
    claimed = _claimed(design)
    broken: dict[str, list[str]] = {}
    for bug in bugs_of(design):
        broken.setdefault(bug.violates.name, []).append(f"[{bug.name}](gallery/{bug.name}.md)")
    for number, statement in statements.items():
        rows = [row for row in claimed if number in numbers_of(row[0])]
        yield from [f"### {number}", "", statement, "", *_table(rows, broken), ""]
    rest = [row for row in claimed if not numbers_of(row[0]) and row[0].kind != "witness"]
    yield from ["### Without a number", "", *_table(rest, broken), ""]


def _claimed(design: str) -> list[tuple[Declared, list[str]]]:
    """Every property of the design, with the models that claim it."""
    found: dict[str, tuple[Declared, list[str]]] = {}
    for model in load_spec(design).models:
        for declared in model.properties:
            found.setdefault(declared.name, (declared, []))[1].append(model.name)
    return list(found.values())


def _table(rows: list[tuple[Declared, list[str]]], broken: Mapping[str, list[str]]) -> Iterator[str]:
    yield "| property | kind | says | models | broken by |"
    yield "|---|---|---|---|---|"
    for declared, models in rows:
        says = escaped(declared.doc.split(". ")[0].rstrip("."))
        bugs = ", ".join(broken.get(declared.name, []))
        yield f"| `{declared.name}` | {declared.kind} | {says} | {', '.join(models)} | {bugs} |"


if __name__ == "__main__":
    write_whole(PAGE, page().encode())
