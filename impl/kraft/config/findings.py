"""What is found in a properties file: entries with their lines, problems that keep a node from starting, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from impl.runtime.properties import lines


class Entry(NamedTuple):
    """A value, and the line that it stands on, from 1."""

    value: str
    line: int


class Finding(NamedTuple):
    """What is wrong and how to mend it. line: None where it is about something that is not there."""

    line: int | None
    text: str

    def within(self, path: str) -> str:
        return f"{path}: {self.text}" if self.line is None else f"{path}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Findings:
    """Of one file, in the order in which they were found."""

    problems: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)


def entries(text: str, findings: Findings) -> Mapping[str, Entry]:
    """The entries of a file by name; of a name that is there twice the last, as in Java."""
    found: dict[str, Entry] = {}
    for number, line, name, value in lines(text):
        if value is None:
            findings.problems.append(Finding(number, f"{line[:60]!r} is not name=value"))
            continue
        if name in found:
            findings.warnings.append(
                Finding(number, f"{name} is on line {found[name].line}, too: this one counts, remove the other")
            )
        found[name] = Entry(value, number)
    return found
