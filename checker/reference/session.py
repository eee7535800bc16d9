"""Stepping through a model by hand, from a step of a trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from checker.lang.ir import EventKind
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lang.values import RuntimeViolation
from checker.reference.replay import Replay, difference
from checker.reference.step import Reference
from checker.reference.trace import actor, line_of
from checker.verdicts import ExitCode
from traces import Trace
from traces.values import show

HELP = "a number takes that step, b goes back, s shows the state, q ends"


@dataclass(frozen=True)
class Choice:
    """An enabled step as text, and the state after it (None: it is cut, or breaks down)."""

    text: str
    after: Any


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
    walk = _Walk(model, replayed.states[:index], say)
    click.echo(HELP)
    walk.describe()
    try:
        while (line := _asked()) not in ("", "q"):
            walk.answer(line)
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


class _Walk:
    """The states that were come through, and what can be done in the last one."""

    def __init__(self, model: BoundModel, states: list[Any], say: Callable[[str], None]) -> None:
        self.model, self.say = model, say
        self.reference = Reference(model)
        self.states = list(states)
        self.choices: list[Choice] = []

    def answer(self, line: str) -> None:
        """Do what was typed."""
        if line.isdecimal() and 1 <= int(line) <= len(self.choices):
            chosen = self.choices[int(line) - 1]
            if chosen.after is None:
                self.say("that step leads to no state")
                return
            self.states.append(chosen.after)
        elif line == "b" and len(self.states) > 1:
            self.states.pop()
        elif line == "s":
            self._show()
            return
        else:
            self.say("this is the first state" if line == "b" else f"{line!r} is none of them: {HELP}")
            return
        self.describe()

    def describe(self) -> None:
        """Print the properties that the state breaks, and the steps that are enabled in it."""
        self.choices = [c for i in range(len(self.reference.instances)) if (c := self._choice(i)) is not None]
        self.say(f"\nstep {len(self.states)}, {len(self.choices) or 'nothing'} enabled")
        for text in self._broken():
            self.say(f"  ✗ {text}")
        for number, choice in enumerate(self.choices, 1):
            self.say(f"  {number:>3}  {choice.text}")

    def _choice(self, instance: int) -> Choice | None:
        """The step of one instance of an action here, None where it is not enabled."""
        before = self.states[-1]
        arguments = self.reference.arguments(before, instance)
        if arguments is None:
            return None
        result = self.reference.step(before, instance)
        if result.ended is EventKind.REQUIRE:
            return None
        number, _ = self.reference.instances[instance]
        action = self.reference.actions[number]
        named = dict(zip((p.name for p in self.reference.parameters[number]), arguments, strict=True))
        shown = ", ".join(f"{name}={show(to_itf(value))}" for name, value in named.items())
        what = f"{actor(action, named)}: {action.name}" + (f"({shown})" if shown else "")
        if result.ended is not None:
            how = "is cut by" if result.ended is EventKind.CUT else f"breaks down ({result.reason}) in"
            return Choice(f"{what} {how} {line_of(result)}", None)
        changes = difference(self.model, before, result.state, between=" →") if before != result.state else "no change"
        return Choice(f"{what}: {changes}", result.state)

    def _broken(self) -> list[str]:
        """The invariants that the last state, or the step to it, breaks."""
        found = []
        for declared in self.model.model.properties:
            if declared.span and len(self.states) >= declared.span:
                try:
                    if not self.reference.evaluate(declared, *self.states[-declared.span :]):
                        found.append(f"{declared.name} is violated")
                except RuntimeViolation as error:
                    found.append(str(error))
        return found

    def _show(self) -> None:
        for name, value in self.model.state_type.itf(self.states[-1]).items():
            self.say(f"  {name}: {show(value)}")
