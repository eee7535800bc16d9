"""The mutants of impl/kraft: functions, tables and defaults of its modules with one thing changed, put in in place.

Nothing is imported again: a mutant is the code of a function, the entries of a table or the defaults of a constructor,
set where they are, so that all who have imported them have the mutant. Whoever applies one does not live long.
"""

from __future__ import annotations
import __future__

import ast
import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from checker.mutate.operators import Edit, at, edits
from tests.conftest import ROOT
from tests.impl_mutation.operators import Finder

PACKAGE = "impl.kraft"
CORE = (
    *(f"controller.{name}" for name in (
        "heartbeat", "registration", "fencing", "isr", "partitions", "directories", "reassignment", "topics",
        "placement", "configs", "limits", "producer_ids", "access", "balancing", "features", "quotas", "sessions",
        "settings", "controller",
    )),
    *(f"security.{name}" for name in ("acls", "authorizer", "principals", "sasl", "scram", "stored")),
    *(f"broker.{name}" for name in (
        "leader", "lifecycle", "core", "fetch", "replica_log", "states", "timers", "settings",
    )),
    "image", "replica_directories", "copy_on_write", "snapshot", "log", "fields", "continuity",
)  # fmt: skip
"""The modules that are mutated, in this order. What is not here holds values only, or drives the core under test."""
QUORUM = (
    *(f"raft.{name}" for name in (
        "elections", "follower", "leader", "log_ends", "raft", "roles", "settings", "voter",
    )),
    *(f"storage.{name}" for name in (
        "batches", "control", "election", "epochs", "flush_point", "log", "recovery", "segment", "sizes", "snapshots",
        "storage", "tail",
    )),
)  # fmt: skip
"""Those of the quorum's log, which simulated runs judge. What formats a directory and what a broker's log is, they do
not run."""
GIVE = "give"  # the name of functions that stand for tables and defaults


@dataclass(frozen=True)
class Mutant:
    """One edit of one function, table or default.

    key: names it for as long as the place keeps its name and the text that is changed, whatever changes around it.
    file, lines: the statement that is changed, from its begin to the change; None: of a table or a default, which
    whatever runs may look at.
    """

    key: str
    file: str
    lines: range | None
    edit: Edit
    apply: Callable[[], None]

    @property
    def place(self) -> str:
        return f"{Path(self.file).relative_to(ROOT)}:{self.edit.line}"


def all_mutants(modules: Sequence[str] = CORE) -> Iterator[Mutant]:
    for name in modules:
        yield from mutants_of(importlib.import_module(f"{PACKAGE}.{name}"))


def mutants_of(module: ModuleType) -> Iterator[Mutant]:
    """The mutants of a module, by source."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text())
    for name, place, put in _places(module, tree):
        counts: dict[str, int] = {}
        for edit in edits(place, vars(module), Finder):
            key = f"{module.__name__.removeprefix(f'{PACKAGE}.')}.{name}: {edit.text}"
            counts[key] = counts.get(key, 0) + 1
            numbered = key if counts[key] == 1 else f"{key} #{counts[key]}"
            lines = None if place.name == GIVE else range(at(place, edit.statement).lineno, edit.line + 1)
            yield Mutant(numbered, module.__file__, lines, edit, _applying(put, module, edit))


Put = Callable[[CodeType, dict[str, Any]], None]
Place = tuple[str, ast.FunctionDef, Put]


def _applying(put: Put, module: ModuleType, edit: Edit) -> Callable[[], None]:
    return lambda: put(_code(edit.tree, str(module.__file__)), vars(module))


def _code(tree: ast.FunctionDef, file: str) -> CodeType:
    bare = ast.FunctionDef(tree.name, tree.args, tree.body, [], tree.returns)
    module = ast.Module([ast.copy_location(bare, tree)], [])
    flags = __future__.annotations.compiler_flag
    code = compile(ast.fix_missing_locations(module), file, "exec", flags=flags, dont_inherit=True)
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def _places(module: ModuleType, tree: ast.Module) -> Iterator[Place]:
    """Places to change in a module: the name, a function that is or returns it, and a way to put the change in."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node, _put_code(getattr(module, node.name))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert isinstance(target, ast.Name)
            yield target.id, _giving(node.value), _put_entries(getattr(module, target.id))
        elif isinstance(node, ast.ClassDef) and not any(ast.unparse(base) == "Protocol" for base in node.bases):
            yield from _places_of(getattr(module, node.name), node)


def _places_of(cls: type, node: ast.ClassDef) -> Iterator[Place]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef):
            yield f"{node.name}.{member.name}", member, _put_code(_function(vars(cls)[member.name]))
        elif isinstance(member, ast.AnnAssign) and member.value is not None and dataclasses.is_dataclass(cls):
            assert isinstance(member.target, ast.Name)
            if not isinstance(member.value, ast.Call):
                yield f"{node.name}.{member.target.id}", _giving(member.value), _put_default(cls, member.target.id)


def _function(member: Any) -> FunctionType:
    if isinstance(member, property):
        member = member.fget
    function = getattr(member, "__func__", member)
    assert isinstance(function, FunctionType)
    return function


def _giving(value: ast.expr) -> ast.FunctionDef:
    """A function that gives a value."""
    arguments = ast.arguments([], [], None, [], [], None, [])
    statement = ast.copy_location(ast.Return(value), value)
    function = ast.FunctionDef(GIVE, arguments, [statement], [], None)
    return ast.copy_location(function, value)


def _put_code(function: FunctionType) -> Put:
    def put(code: CodeType, scope: dict[str, Any]) -> None:
        function.__code__ = code

    return put


def _put_entries(table: dict[Any, Any]) -> Put:
    def put(code: CodeType, scope: dict[str, Any]) -> None:
        entries = FunctionType(code, scope)()
        table.clear()
        table.update(entries)

    return put


def _put_default(cls: Any, name: str) -> Put:
    def put(code: CodeType, scope: dict[str, Any]) -> None:
        defaults = {
            parameter.name: parameter.default
            for parameter in inspect.signature(cls.__init__).parameters.values()
            if parameter.default is not parameter.empty
        }
        cls.__init__.__defaults__ = tuple({**defaults, name: FunctionType(code, scope)()}.values())

    return put
