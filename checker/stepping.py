"""Stepping through a model by hand, from a step of a trace."""

from __future__ import annotations

import sys
from typing import Any

import click

from checker.explicit.reference import Reference
from checker.explicit.replay import Replay, difference
from checker.explicit.tracing import actor
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from traces import Trace
from traces.values import show


def step_on(model: BoundModel, recorded: Trace, replayed: Replay, index: int) -> int:
    """List what is enabled at step `index` of a trace, and take the steps that are chosen. Returns the exit code."""
    if index > len(replayed.states):
        departure = replayed.departure
        why = f"departs from the spec at step {departure.index}: {departure.reason}" if departure else "is shorter"
        click.echo(f"error: the trace of {len(recorded.steps)} steps {why}", err=True)
        return 2
    reference = Reference(model)
    state = replayed.states[index - 1]
    while True:
        steps = list(reference.successors(state))
        click.echo(f"\nstep {index}, {len(steps)} enabled:")
        for number, (instance, after) in enumerate(steps, 1):
            what = _described(reference, state, instance)
            click.echo(f"  {number:>3}  {what}: {difference_text(model, state, after)}")
        if not steps:
            click.echo("no action is enabled here")
            return 0
        chosen = _choice(len(steps))
        if chosen is None:
            return 0
        state = steps[chosen - 1][1]
        index += 1


def _choice(count: int) -> int | None:
    """The number typed, None for the end: q, an empty line or the end of the input."""
    while True:
        click.echo(f"take 1-{count}, or q: ", nl=False)
        line = sys.stdin.readline()
        text = line.strip()
        if not text or text == "q":
            click.echo()
            return None
        if text.isdigit() and 1 <= int(text) <= count:
            return int(text)
        click.echo(f"{text!r} is none of 1-{count}")


def _described(reference: Reference, state: Any, instance: int) -> str:
    action = reference.actions[reference.instances[instance][0]]
    arguments = reference.arguments(state, instance)
    assert arguments is not None
    named = dict(zip((p.name for p in reference.model.parameters(action)), arguments, strict=True))
    shown = ", ".join(f"{name}={show(to_itf(value))}" for name, value in named.items())
    return f"{actor(action, named)}: {action.name}({shown})"


def difference_text(model: BoundModel, before: Any, after: Any) -> str:
    """What a step changes, in a few words."""
    return difference(model, before, after, between=" →") if before != after else "nothing changes"
