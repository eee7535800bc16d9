"""The KIP-631 spec with one small change to an action: for tests that what is claimed can fail."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.lang.loader import BoundModel, load
from tests.conftest import ROOT


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands once in a file of spec/kraft, becomes `new`, and the model's property breaks."""

    breaks: str
    model: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.model} {self.breaks}"

    @contextmanager
    def applied(self, folder: Path, changes: dict[str, str] | None = None) -> Iterator[BoundModel]:
        """The changed model, from a copy of the spec below `folder`."""
        package = f"mutant_{abs(hash(self))}"
        shutil.copytree(ROOT / "spec" / "kraft", folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (folder / package).glob("*.py"):
            text = file.read_text()
            if file.name == self.file:
                assert text.count(self.old) == 1
                text = text.replace(self.old, self.new)
            file.write_text(text.replace("spec.kraft", package))
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            try:
                yield load(f"{package}.models/{self.model}", changes)
            finally:
                for name in [n for n in sys.modules if n.split(".")[0] == package]:
                    del sys.modules[name]
