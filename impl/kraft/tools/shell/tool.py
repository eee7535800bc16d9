"""`kafka-metadata-shell`: one command, or those that are typed, about the metadata of a snapshot or of a quorum now.

Exit codes: 0 done, 1 a command failed, the snapshot is damaged or no quorum answers, 2 usage or configuration.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from impl.kraft.tools.connection import RefusedError, connection_of
from impl.kraft.tools.parsing import USAGE, Parser, until_nobody_reads
from impl.kraft.tools.shell.commands import ExitShell, Shell
from impl.kraft.tools.shell.help_text import SHELL
from impl.kraft.tools.shell.live import live_records
from impl.kraft.tools.shell.tree import ShellError, Tree, read_snapshot
from impl.runtime.properties import ConfigError

DONE, FAILED = 0, 1
PROMPT = ">> "


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, or the shell, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        tree = read_snapshot(options.snapshot) if options.controllers is None else tree_of_quorum(options)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    except (ShellError, RefusedError, ValueError) as error:  # WireError is one, and what no core can replay
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{options.snapshot or options.controllers}: {error.strerror or error}", file=sys.stderr)
        return FAILED
    shell = Shell(tree)
    return until_nobody_reads(lambda: run_one(shell, options.command) if options.command else interact(shell))


def parser() -> Parser:
    made = Parser("kafka-metadata-shell", SHELL)
    source = made.add_mutually_exclusive_group(required=True)
    source.add_argument("--controllers", "-C")
    source.add_argument("--snapshot", "-s", type=Path)
    made.add_argument("--config", "-c", type=Path)
    made.add_argument("command", nargs="*")
    return made


def tree_of_quorum(options: Namespace) -> Tree:
    """Voters are named as in a configuration, ID@HOST:PORT, or without their ids."""
    addresses = ",".join(one.rpartition("@")[2] for one in options.controllers.split(","))
    return Tree(live_records(connection_of("--controllers", addresses, options.config, "kafka-metadata-shell")))


def run_one(shell: Shell, words: Sequence[str]) -> int:
    try:
        for line in shell.run_words(words):
            print(line)
    except ExitShell:
        return DONE
    except ShellError as error:
        print(error, file=sys.stderr)
        return FAILED
    return DONE


def interact(shell: Shell) -> int:
    """Until `exit`, or the end of the input. A command that fails ends nothing."""
    while True:
        try:
            line = input(PROMPT if sys.stdin.isatty() else "").strip()
            for text in shell.run(line):
                print(text)
        except ShellError as error:
            print(error, file=sys.stderr)
        except (EOFError, KeyboardInterrupt, ExitShell):
            return DONE


if __name__ == "__main__":
    sys.exit(main())
