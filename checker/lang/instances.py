"""One spec file, instantiated with other constants and types: what TLA+ says with `INSTANCE ... WITH`.

An instance is a module of its own, made by running the file again: its classes and its constants are not those of the
file itself or of another instance. So a spec can refine the same spec with other constants, and hold several at once.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.lang.declare import ConstantsInfo, InstanceInfo
from checker.lang.errors import Place, SpecError
from checker.lang.loader import broken_import, suggest
from checker.lang.marks import INSTANCE, MARK
from checker.lang.where import caller_place

_MADE = "__fencepost_instances__"  # in a module's globals: how many instances it has made so far
_being_made: list[Path] = []


def instance(target: str, /, **given: Any) -> Any:
    """The spec of a file, as a module, with other constants and definitions.

    target: a file (`"queue.py"`, beside the caller's own) or a module (`"specs.queue"`). given: for constants of the
    spec values, or functions without parameters (`capacity=lambda: Design.size + 1`), which are called whenever the
    constants of the model are put in force; for any other name that the file defines what stands in its place
    (`Value=Value`). What the file imports is shared with all that import it. Raises SpecError.
    """
    place = caller_place(1)
    scope = sys._getframe(1).f_globals
    file, package = _located(target, scope, place)
    if file in [*_being_made, Path(str(scope.get("__file__", ""))).resolve()]:
        raise SpecError(f"{file.name} makes an instance of itself", place=place,
                        hint="write what relates two of them in a file of its own")  # fmt: skip
    scope[_MADE] = scope.get(_MADE, 0) + 1
    module = ModuleType(f"{scope['__name__']}__{file.stem}_{scope[_MADE]}")
    module.__file__, module.__package__ = str(file), package
    sys.modules[module.__name__] = module
    _run(module, file, given, place)
    return module


def _located(target: str, scope: Mapping[str, Any], place: Place) -> tuple[Path, str]:
    """The file that is meant, and the package that its relative imports start from."""
    if target.endswith(".py"):
        own = Path(str(scope.get("__file__", "")))
        file = own.parent / target
        if not file.is_file():
            near = [p.name for p in own.parent.glob("*.py")]
            raise SpecError(f"there is no file {file}", place=place, hint=suggest(target, near, "files there"))
        return file.resolve(), str(scope.get("__package__") or "") if file.parent == own.parent else ""
    try:
        found = importlib.util.find_spec(target) if "." in target else None
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        raise SpecError(f"there is no spec {target!r}", place=place,
                        hint='name a file beside this one ("queue.py") or a module ("specs.queue")')  # fmt: skip
    return Path(found.origin).resolve(), found.parent or ""


def _run(module: ModuleType, file: Path, given: Mapping[str, Any], place: Place) -> None:
    """Run the file as `module`, with what is given in place of what it defines itself."""
    _being_made.append(file)
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        defined = {name for statement in tree.body for name in _names(statement)}
        replaced = {name: value for name, value in given.items() if name in defined}
        tree.body = [s for s in tree.body if not set(_names(s)) & set(replaced)]
        vars(module).update(replaced)
        exec(compile(tree, str(file), "exec", dont_inherit=True), vars(module))
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        raise broken_import(error, str(file)) from None
    finally:
        _being_made.pop()
    wanted = {name: value for name, value in given.items() if name not in defined}
    constants = _constants(module, wanted, defined, place)
    vars(module)[INSTANCE] = InstanceInfo(constants, _set(constants, wanted, place), dict(given), place)


def _names(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _constants(module: ModuleType, wanted: Mapping[str, Any], defined: set[str], place: Place) -> ConstantsInfo | None:
    """The instance's own class of constants, which has all that is `wanted`."""
    seen = [v.__dict__.get(MARK) for v in vars(module).values() if isinstance(v, type)]
    found = next((i for i in seen if isinstance(i, ConstantsInfo) and i.cls.__module__ == module.__name__), None)
    for name in wanted:
        if found is None or name not in found.defaults:
            known = [*(found.defaults if found else ()), *sorted(n for n in defined if not n.startswith("_"))]
            raise SpecError(f"{Path(str(module.__file__)).name} has no constant and no definition {name}", place=place,
                            hint=suggest(name, known, "names"))  # fmt: skip
    return found


def _set(constants: ConstantsInfo | None, wanted: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Make given values the defaults of an instance's constants. What is left: functions that give values later."""
    later = {}
    for name, value in wanted.items():
        assert constants is not None
        if callable(value):
            later[name] = value
        else:
            constants.give(name, value, place)
            constants.defaults[name] = value
    return later
