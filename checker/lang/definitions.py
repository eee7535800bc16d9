"""Names that a spec's module defines: each once.

Python lets a later definition replace an earlier one without a word. Of two actions of one name the first would
vanish from the model, and what it breaks with it.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import WeakSet

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.where import parsed, place_of

_INSTALLED = sysconfig.get_path("purelib") + os.sep
_UNKNOWN = object()
_CHECKED = WeakSet[ModuleType]()
"""What was found in order: it is not looked at again for each model that is bound."""

Branch = tuple[tuple[int, int], ...]  # of each statement with branches around: (its number, which of its branches)


@dataclass(frozen=True)
class _Binding:
    """A statement that gives a name a meaning. value: what an import brings, where that is known."""

    name: str
    node: ast.stmt
    branch: Branch
    value: Any = _UNKNOWN

    @property
    def verb(self) -> str:
        return "imported" if isinstance(self.node, ast.Import | ast.ImportFrom) else "defined"

    @property
    def line(self) -> int:
        """The line of the name: below the decorators."""
        return self.node.lineno


def written(modules: Iterable[ModuleType]) -> Iterator[tuple[ModuleType, str]]:
    """Those that are written in a file, and not installed, with their files."""
    for module in modules:
        file = getattr(module, "__file__", None)
        if file is not None and file.endswith(".py") and not file.startswith(_INSTALLED):
            yield module, file


def check_definitions(modules: Iterable[ModuleType]) -> None:
    """Refuse a module in which a name means first one thing and then another. Raises SpecError."""
    for module, file in written(modules):
        if module in _CHECKED:
            continue
        tree = parsed(file)
        _check(list(_bindings(tree.body, module)), file, "")
        for node in _classes(tree):
            _check(list(_bindings(node.body, None)), file, f"{node.name}.")
        _CHECKED.add(module)


def _classes(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Those that stand in a module, at whatever depth. Expressions, most of a tree, have none and are not gone into."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt | ast.excepthandler | ast.match_case):
            if isinstance(part, ast.ClassDef):
                yield part
            yield from _classes(part)


def check_imported(module: ModuleType, declared: Iterable[Declared]) -> None:
    """Refuse what only `import *` would make part of a module's model: a property, say, that nothing in it names."""
    tree = parsed(module.__file__ or "")
    named = {b.name for b in _bindings(tree.body, module) if not _is_star(b.node)}
    for star in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and _is_star(n)):
        for name, value in _brought(star, module).items():
            if name not in named and any(value is d for d in declared):
                raise SpecError(
                    f"import * makes the {value.kind} {name} part of the model, and nothing here names it",
                    place=place_of(module.__file__ or "", star),
                    hint=f"from {'.' * star.level}{star.module or ''} import {name}, or list what counts in a Model",
                )


def _check(bindings: list[_Binding], file: str, owner: str) -> None:
    first: dict[str, list[_Binding]] = {}
    for binding in bindings:
        for earlier in first.setdefault(binding.name, []):
            if not _exclusive(earlier.branch, binding.branch) and not _harmless(earlier, binding):
                how = f"{earlier.verb} in line {earlier.line} and {binding.verb} in line {binding.line}"
                if earlier.verb == binding.verb:
                    how = f"{earlier.verb} twice, in lines {earlier.line} and {binding.line}"
                raise SpecError(
                    f"{owner}{binding.name} is {how}: the second replaces the first",
                    place=place_of(file, binding.node), hint="give one of them another name",
                )  # fmt: skip
        first[binding.name].append(binding)


def _exclusive(a: Branch, b: Branch) -> bool:
    """True if no run goes through both."""
    return any(x[0] == y[0] and x[1] != y[1] for x, y in zip(a, b, strict=False))


def _harmless(earlier: _Binding, later: _Binding) -> bool:
    """The same thing twice, or what the spec itself puts in place of a name of the language's `import *`."""
    if earlier.value is not _UNKNOWN and later.value is not _UNKNOWN:
        return bool(earlier.value is later.value)
    return isinstance(earlier.node, ast.ImportFrom) and earlier.node.module == "checker.lang" and _is_star(earlier.node)


def _bindings(body: Iterable[ast.stmt], module: ModuleType | None, branch: Branch = ()) -> Iterator[_Binding]:
    """The names that statements bind, in their order; a change of what a name stands for already is none."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield _Binding(node.name, node, branch)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (_Binding(name, node, branch, value) for name, value in _imported(node, module).items())
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {
                n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)} if node.value else set()
            yield from (_Binding(name, node, branch) for name in sorted(names - used - {"_"}))
        else:
            for number, part in enumerate(_branches(node)):
                yield from _bindings(part, module, (*branch, (id(node), number)))


def _branches(node: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a statement of which only one is run."""
    if isinstance(node, ast.If):
        return [node.body, node.orelse]
    if isinstance(node, ast.Try):
        return [[*node.body, *node.orelse], *[handler.body for handler in node.handlers]]
    return [node.body] if isinstance(node, ast.With) else []


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _imported(node: ast.Import | ast.ImportFrom, module: ModuleType | None) -> dict[str, Any]:
    """The names that an import binds, with what they stand for."""
    if isinstance(node, ast.Import):
        modules = {a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names}
        return {name: sys.modules.get(home, _UNKNOWN) for name, home in modules.items()}
    if module is None:
        return {a.asname or a.name: _UNKNOWN for a in node.names}
    if _is_star(node):
        return _brought(node, module)
    home = _home(node, module)
    return {a.asname or a.name: getattr(home, a.name, _UNKNOWN) for a in node.names}


def _brought(star: ast.ImportFrom, module: ModuleType) -> dict[str, Any]:
    """The names that an `import *` binds, with what they stand for."""
    home = _home(star, module)
    public = [name for name in vars(home) if not name.startswith("_")] if home else []
    return {name: getattr(home, name) for name in getattr(home, "__all__", public)}


def _home(node: ast.ImportFrom, module: ModuleType) -> ModuleType | None:
    """The module that names are imported from, if it is loaded."""
    name = node.module or ""
    if node.level:
        name = importlib.util.resolve_name("." * node.level + name, module.__package__)
    return sys.modules.get(name)
