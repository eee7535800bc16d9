"""Running a tool within the process of the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest


class Tool:
    """main: of a tool."""

    def __init__(self, main: Callable[[Sequence[str]], int]) -> None:
        self._main = main

    def __call__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
        """Exit code, lines of the output, and what went to standard error."""
        try:
            code = self._main(arguments)
        except SystemExit as ended:  # argparse's
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err
