"""The implementation with a fault in it: a text of one of its files replaced, loaded beside the one that is right."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.conftest import ROOT

PACKAGES = ("impl.kraft.", "impl.adapters.kraft.")
"""Loaded anew: the implementation, and the adapter that holds its classes."""


class Patching(importlib.abc.MetaPathFinder):
    """Loads modules of the package anew; in `path`, which has `old` once, `new` stands for it."""

    def __init__(self, path: Path, old: str, new: str) -> None:
        self.patched, self.old, self.new = path, old, new

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not f"{fullname}.".startswith(PACKAGES):
            return None
        file = ROOT.joinpath(*fullname.split("."))
        place = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        loader = Patched(fullname, str(place), self) if place == self.patched else None
        return importlib.util.spec_from_file_location(fullname, place, loader=loader)


class Patched(importlib.machinery.SourceFileLoader):
    """Loads the one file that is patched. Nothing of it is kept on disk."""

    def __init__(self, fullname: str, path: str, patching: Patching) -> None:
        super().__init__(fullname, path)
        self.patching = patching

    def get_code(self, fullname: str) -> Any:
        text = Path(self.path).read_text()
        assert text.count(self.patching.old) == 1, f"{self.path} has {text.count(self.patching.old)} of what is to go"
        return compile(text.replace(self.patching.old, self.patching.new), self.path, "exec")


@contextmanager
def patched(path: Path, old: str, new: str) -> Iterator[Any]:
    """The adapter of the package with the fault, which is gone when this ends."""
    kept = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(PACKAGES)}
    for name in kept:
        del sys.modules[name]
    finder = Patching(path, old, new)
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module("impl.adapters.kraft").SYSTEM
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if f"{name}.".startswith(PACKAGES)]:
            del sys.modules[name]
        sys.modules.update(kept)
