"""The implementation with a fault in it: a fragment of one of its functions changed, loaded beside the right one."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests import fragments
from tests.conftest import ROOT


def packages(design: str, adapter: str | None = None) -> tuple[str, ...]:
    """Loaded again: the implementation of a design, and the adapter that holds its classes."""
    return f"impl.{design}.", f"impl.adapters.{adapter or design}."


@functools.cache
def _functions(design: str) -> list[tuple[Path, str]]:
    """The functions and methods of an implementation, each with its file."""
    files = sorted((ROOT / "impl" / design).rglob("*.py"))
    return [(file, name) for file in files for name in _defined_in(file)]


@functools.cache
def _defined_in(file: Path) -> dict[str, ast.FunctionDef]:
    """The functions and methods of a module by name. Not to be changed: they are read once."""
    found = {name: body[index] for name, (body, index) in _named(ast.parse(file.read_text())).items()}
    return {name: node for name, node in found.items() if isinstance(node, ast.FunctionDef)}


def _named(tree: ast.AST, prefix: str = "") -> dict[str, tuple[list[ast.stmt], int]]:
    """The functions and methods of a module by name, each as the list it stands in and its place there."""
    found: dict[str, tuple[list[ast.stmt], int]] = {}
    body: list[ast.stmt] = getattr(tree, "body", [])
    for index, node in enumerate(body):
        if isinstance(node, ast.ClassDef):
            found |= _named(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            found[f"{prefix}{node.name}"] = body, index
    return found


def defined(function: str, design: str = "kraft") -> tuple[Path, str]:
    """The file of a function and its name in there; `function` is that name, or the module's and that name."""
    [found] = [(file, name) for file, name in _functions(design) if function in (name, f"{file.stem}.{name}")]
    return found


class Patching(importlib.abc.MetaPathFinder):
    """Loads modules of the package again; in one function `new` stands for `old`."""

    def __init__(self, function: str, old: str, new: str, design: str, adapter: str | None = None) -> None:
        self.patched, self.function = defined(function, design)
        self.packages = packages(design, adapter)
        self.old, self.new = old, new

    def changed(self) -> ast.FunctionDef:
        """The function with the fault in it. Raises ValueError where the fragment does not stand in it once."""
        return fragments.changed(_defined_in(self.patched)[self.function], self.old, self.new)

    def tree(self) -> ast.Module:
        """The module with the fault in it."""
        tree = ast.parse(self.patched.read_text())
        body, index = _named(tree)[self.function]
        body[index] = self.changed()
        return tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not f"{fullname}.".startswith(self.packages):
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
        return compile(self.patching.tree(), self.path, "exec")


@contextmanager
def patched(function: str, old: str, new: str, design: str = "kraft", adapter: str | None = None) -> Iterator[Any]:
    """The adapter of a design's implementation with the fault, which is gone when this ends.

    adapter: its name, where it is not that of the design.
    """
    loaded, finder = packages(design, adapter), Patching(function, old, new, design, adapter)
    kept = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(loaded)}
    for name in kept:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(f"impl.adapters.{adapter or design}").SYSTEM
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if f"{name}.".startswith(loaded)]:
            del sys.modules[name]
        put_back(kept)


def put_back(kept: Mapping[str, ModuleType]) -> None:
    """Make modules those of their names again, for imports and as attributes of their packages."""
    sys.modules.update(kept)
    for name, module in kept.items():
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], last, module)
