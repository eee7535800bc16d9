"""trace: recorded behaviours shown, run again, held against a model, made into tests."""

from __future__ import annotations

import click

from checker.cli.commands.trace.merge import merge
from checker.cli.commands.trace.record import record
from checker.cli.commands.trace.replay import replay
from checker.cli.commands.trace.show import show
from checker.cli.commands.trace.to_test import to_test
from checker.cli.commands.trace.validate import validate

trace = click.Group(
    "trace",
    commands=[show, replay, to_test, merge, validate, record],
    help="Show traces, run them again, and hold those of an implementation to a spec.",
)
