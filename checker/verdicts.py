"""The verdicts of all commands: which one takes precedence, its exit code, its colour.

An exit code of 0, 1, 3 or 4 is a verdict. Whatever ends a command before there is one has another code.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of commands. BROKEN_PIPE is what a shell reports of a process that SIGPIPE killed."""

    HOLDS = 0
    VIOLATED = 1
    USAGE = 2
    INCOMPLETE = 3
    VACUOUS = 4
    INTERNAL = 5
    UNWRITABLE = 6
    BROKEN_PIPE = 141


HOLDS, WITHIN, VIOLATED, INCOMPLETE, VACUOUS = "holds", "holds within bounds", "violated", "incomplete", "vacuous"
PROVED, PROVED_WITHIN, NOT_PROVED = "proved", "proved within bounds", "not proved"
CONFORMS, DIVERGES = "conforms", "diverges"
SAME, DIFFERS = "same", "differs"
REACHED, NOT_REACHED = "reached", "not reached"
NONE_FOUND = "no violation found"
KNOWN = "only known violations"

INTERRUPTED = "interrupted"
"""Why an incomplete search was stopped: by Ctrl-C, or by a signal that asks a process to end."""

_TABLE = (
    (ExitCode.VIOLATED, "red", (VIOLATED, DIVERGES, DIFFERS)),
    (ExitCode.INCOMPLETE, "yellow", (INCOMPLETE, NOT_PROVED)),
    (ExitCode.VACUOUS, "yellow", (VACUOUS, NOT_REACHED)),
    (ExitCode.HOLDS, "yellow", (KNOWN,)),
    (ExitCode.HOLDS, "green", (WITHIN, PROVED_WITHIN, HOLDS, PROVED, CONFORMS, SAME, REACHED, NONE_FOUND)),
)
"""Exit code, colour and verdicts; a verdict takes precedence over those after it."""

_EXIT_CODES = {verdict: code for code, _, verdicts in _TABLE for verdict in verdicts}
_COLORS = {verdict: color for _, color, verdicts in _TABLE for verdict in verdicts}
_PRECEDENCE = {verdict: rank for rank, verdict in enumerate(_EXIT_CODES)}


def exit_code(verdict: str) -> ExitCode:
    """The exit code of a command with that verdict."""
    return _EXIT_CODES[verdict]


def color(verdict: str) -> str:
    """The colour a verdict is printed in; yellow for a word that is none."""
    return _COLORS.get(verdict, "yellow")


def strongest(verdicts: Iterable[str]) -> str:
    """The verdict that takes precedence over the others."""
    return min(verdicts, key=_PRECEDENCE.__getitem__)
