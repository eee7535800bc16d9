"""The key of a model: the same in every run, so that what was kept under it is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PRINT = "from checker.lang.loader import load; print(load('kraft/lossy').key())"


def test_a_key_is_the_same_in_every_run() -> None:
    keys = {
        subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(keys) == 1


MODEL = """
from typing import Annotated
from checker.lang import Model, Range, action, init, state
{imports}

@state
class Count:
    n: Annotated[int, Range(0, 9)]

@init
def zero() -> Count:
    return Count(n=0)

@action(who="counter", source="here")
def step(s: Count) -> None:
    s.n = min(s.n + {step}, 9)

MODELS = [Model(name="{name}", doc="Counts.", init=zero, actions=[step], properties=[])]
"""


def test_a_key_depends_on_what_any_module_of_models_sees(tmp_path: Path) -> None:
    """Also on what only one module of the package `models` imports."""
    folder = tmp_path / "counting"
    models = folder / "models"
    models.mkdir(parents=True)
    (folder / "__init__.py").touch()
    listed = "from counting.models import more, ones\n\nMODELS = [*ones.MODELS, *more.MODELS]\n"
    (models / "__init__.py").write_text(listed, encoding="utf-8")
    (models / "ones.py").write_text(MODEL.format(imports="", step="1", name="ones"), encoding="utf-8")
    more = MODEL.format(imports="from counting import rules", step="rules.step()", name="more")
    (models / "more.py").write_text(more, encoding="utf-8")
    show = "from checker.lang.loader import load; print(load('counting.models/more').key())"
    keys = set()
    for step in (1, 2):
        (folder / "rules.py").write_text(f"def step() -> int:\n    return {step}\n", encoding="utf-8")
        keys.add(
            subprocess.run([sys.executable, "-B", "-c", show], cwd=ROOT, capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}).stdout
        )  # fmt: skip
    assert len(keys) == 2
