"""What the tools share: parsers whose help is a text, configurations that are named, output that nobody reads.

The help is that of the document, which no library lays out in the same way.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from impl.kraft.config.configuration import Configuration, load
from impl.runtime.properties import ConfigError

USAGE, NOBODY_READS = 2, 141
"""Exit codes: a command line or a configuration cannot be; nobody reads the output any more."""


class Parser(argparse.ArgumentParser):
    """text: its help, which begins with its usage, up to an empty line."""

    def __init__(self, prog: str, text: str, **others: Any) -> None:
        super().__init__(prog=prog, **others)
        self._text = text

    def format_help(self) -> str:
        return self._text

    def format_usage(self) -> str:
        return self._text.partition("\n\n")[0] + "\n"


def configuration_at(path: str) -> Configuration | None:
    """The configuration of a file; what is wrong with it goes to standard error, all at once."""
    try:
        configuration, findings = load(Path(path))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return None
    for warning in findings.warnings:
        print(f"warning: {warning.within(path)}", file=sys.stderr)
    for problem in findings.problems:
        print(problem.within(path), file=sys.stderr)
    return configuration


def until_nobody_reads(run: Callable[[], int]) -> int:
    """The exit code of a tool that prints, also where its output goes to something that has ended."""
    try:
        code = run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
