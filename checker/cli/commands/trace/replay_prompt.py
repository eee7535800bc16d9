"""The prompt of `fencepost trace replay --continue-from`: a person chooses which step is taken next."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from checker.lang.loader import BoundModel
from checker.reference.replay import Replay
from checker.reference.session import Session
from checker.verdicts import ExitCode
from traces import Trace

HELP = "a number takes that step, b goes back, s shows the state, q ends"


def step_on(model: BoundModel, recorded: Trace, replayed: Replay, index: int, say: Callable[[str], None]) -> int:
    """List what is enabled at step `index` of a trace, and take the steps that are chosen. Returns the exit code.

    say: prints a line, folded to the terminal.
    """
    departure = replayed.departure
    if index > len(recorded.steps):
        click.echo(f"error: there is no step {index}: the trace has {len(recorded.steps)}", err=True)
        return ExitCode.USAGE
    if index > len(replayed.states):
        why = f"departs from the spec at step {departure.index}: {departure.reason}" if departure else "broke there"
        click.echo(f"error: there is no state to continue from at step {index}: the trace {why}", err=True)
        return ExitCode.USAGE
    session = Session(model, replayed.states[:index])
    click.echo(HELP)
    _describe(session, say)
    try:
        while (line := _asked()) not in ("", "q"):
            _answer(session, line, say)
    except KeyboardInterrupt:
        click.echo()
    return ExitCode.HOLDS


def _asked() -> str:
    """The line that was typed, "q" at the end of the input."""
    click.echo("> ", nl=False)
    line = sys.stdin.readline()
    if not line:
        click.echo()
    return line.strip()


def _answer(session: Session, line: str, say: Callable[[str], None]) -> None:
    """Do what was typed."""
    if line == "s":
        for name, text in session.fields().items():
            say(f"  {name}: {text}")
    elif line.isdecimal() and 1 <= int(line) <= len(session.choices):
        if session.take(session.choices[int(line) - 1]):
            _describe(session, say)
        else:
            say("that step leads to no state")
    elif line != "b":
        say(f"{line!r} is none of them: {HELP}")
    elif session.back():
        _describe(session, say)
    else:
        say("this is the first state")


def _describe(session: Session, say: Callable[[str], None]) -> None:
    """Print the properties that the state breaks, and the steps that are enabled in it."""
    say(f"\nstep {len(session.states)}, {len(session.choices) or 'nothing'} enabled")
    for text in session.broken():
        say(f"  ✗ {text}")
    for number, choice in enumerate(session.choices, 1):
        say(f"  {number:>3}  {choice.text}")
