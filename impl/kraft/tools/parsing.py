"""Parsers of command lines whose help is a text: that of the document, which no library lays out in the same way."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from impl.kraft.config.configuration import Configuration, load
from impl.runtime.properties import ConfigError

USAGE = 2
"""The exit code of a command line, or of a configuration, that cannot be."""


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
