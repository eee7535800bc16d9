"""The key of a model: the same in every run, so that what was kept under it is found again."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

PRINT = "from checker.lang.loader import load; print(load('kraft/lossy').key())"


def test_a_key_is_the_same_in_every_run() -> None:
    keys = {
        subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(keys) == 1
