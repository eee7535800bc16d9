"""The verdicts of `fencepost trace validate` on traces in a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

_MOST_CANDIDATES = 300_000


def not_accepted(folder: Path, model: str, words: Sequence[str]) -> list[dict[str, Any]]:
    """Of each trace that is not accepted. words: further ones of the command.

    Raises RuntimeError where some were not looked at: that is not to accept them.
    """
    command = [
        sys.executable, "-m", "checker", "trace", "validate", str(folder), "--model", model, *words,
        "--json", "--quiet", "--max-candidates", str(_MOST_CANDIDATES),
    ]  # fmt: skip
    # In a group of its own: Ctrl-C is not for it.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, process_group=0)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"traces were not judged: {done.stderr}") from None
    if report["stopped"] is not None:
        raise RuntimeError(f"not all traces were judged: {report['stopped']}")
    return list(report["verdicts"])
