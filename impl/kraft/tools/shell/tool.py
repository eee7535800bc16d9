"""`kafka-metadata-shell`: one command, or those that are typed, about the metadata of a snapshot.

Exit codes: 0 done, 1 a command failed or the snapshot is damaged, 2 usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from impl.kraft.tools.parsing import Parser, until_nobody_reads
from impl.kraft.tools.shell.commands import ExitShell, Shell
from impl.kraft.tools.shell.help_text import SHELL
from impl.kraft.tools.shell.tree import ShellError, read_snapshot

DONE, FAILED = 0, 1
PROMPT = ">> "


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, or the shell, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        shell = Shell(read_snapshot(options.snapshot))
    except ShellError as error:
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{options.snapshot}: {error.strerror}", file=sys.stderr)
        return FAILED
    return until_nobody_reads(lambda: run_one(shell, options.command) if options.command else interact(shell))


def parser() -> Parser:
    made = Parser("kafka-metadata-shell", SHELL)
    made.add_argument("--snapshot", "-s", type=Path, required=True)
    made.add_argument("command", nargs="*")
    return made


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
