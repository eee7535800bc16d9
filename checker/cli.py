"""The `fencepost` command. What is heavy (compiler, search, rendering) is imported by the command that needs it.

Exit codes: 0 holds (or did what was asked), 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from checker.lang.errors import SpecError

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 3, 141
COMMANDS = {
    "list": "explore:list_",
    "check": "explore:check",
    "simulate": "explore:simulate",
    "reach": "explore:reach",
    "prove": "prove:prove",
    "diff": "compare:diff",
    "gallery": "gallery:gallery",
    "conform": "conform:conform",
    "mutate": "mutate:mutate",
    "export": "graph:export",
    "trace": "trace:trace",
}
"""Each command, in the order of --help, and where it is: a module of `checker.commands`, and its name there."""


class _Group(click.Group):
    """A group of commands that turns every foreseeable error into one message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command. The modules of the others are left alone."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"checker.commands.{module}"), name)
        return command

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit. Does what click's own does, which would give 1 (violated!) for a broken pipe."""
        try:
            with self.make_context(prog_name, list(sys.argv[1:] if args is None else args), **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as end:  # --help, --version
            code = end.exit_code
        except (KeyboardInterrupt, click.exceptions.Abort):  # outside of a search, which would tell its counts
            click.echo("interrupted", err=True)
            code = INTERRUPTED
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = BROKEN_PIPE
        except click.ClickException as error:
            error.show()
            code = USAGE
        except Exception as error:
            click.echo(_message(error), err=True)
            code = USAGE
        sys.exit(code)


def _message(error: Exception) -> str:
    """One message for bad input; what is no bad input is raised on."""
    from checker.report import known_error

    if isinstance(error, SpecError):
        return str(error)
    if isinstance(error, OSError) and error.strerror is not None:
        return f"error: {error.filename or 'a file'}: {error.strerror}"
    if not known_error(error):
        raise error
    return f"error: {error}"


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Formal verification and conformance for Kafka's control plane.

    Exit codes: 0 holds, 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous.
    """


def main() -> None:
    """Run the command."""
    fencepost(prog_name="fencepost")
