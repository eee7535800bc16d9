"""The `fencepost` command. What is heavy (compiler, search, rendering) is imported by the command that needs it.

Exit codes: 0 holds (or did what was asked), 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous, 5 internal
error, 6 disk full.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from checker.cli.ending import finish, prepare
from checker.running.interrupts import end_as_by_ctrl_c

COMMANDS = (
    "list", "check", "simulate", "reach", "prove", "diff", "include", "gallery", "conform", "mutate", "export", "trace",
    "cluster",
)  # fmt: skip
"""The commands, in the order of --help; each is in the module of `checker.cli.commands` that has its name."""


class _Group(click.Group):
    """The commands by name. However one ends, `checker.cli.ending` says so and gives the exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command. The modules of the others are left alone."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"checker.cli.commands.{cmd_name}")
        command: click.Command = getattr(module, "list_" if cmd_name == "list" else cmd_name)
        return command

    def main(  # type: ignore[override]  # click's returns in standalone mode only
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit. Does what click's own does, which would give 1 (violated!) for a broken pipe."""
        arguments = list(sys.argv[1:] if args is None else args)
        plain = False if os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR") else None

        def command() -> int:
            with self.make_context(prog_name, list(arguments), color=plain, **extra) as context:
                code: int = self.invoke(context)
                return code

        sys.exit(finish(command, arguments))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Formal verification and conformance for Kafka's control plane.

    Exit codes: 0 holds, 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous, 5 internal error (a bug in
    Fencepost), 6 disk full. Only 0, 1, 3 and 4 are verdicts.
    """


def main() -> None:
    """Run the command."""
    end_as_by_ctrl_c()
    prepare()
    fencepost(prog_name="fencepost")
