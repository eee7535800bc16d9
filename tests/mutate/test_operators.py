"""Every operator, on source that has just that to change; and what is left alone."""

from __future__ import annotations

import ast
import enum
import textwrap

import pytest

from checker.lang import Identity, constants, replace, require, require_some
from checker.mutate.operators import edits


class Mode(enum.Enum):
    FENCED = 1
    ACTIVE = 2
    STOPPED = 3


class Broker(Identity, size=2): ...


@constants
class Design:
    checks: bool = True
    most: int = 3


SCOPE = {f.__name__: f for f in (require, require_some, replace, Mode, Broker, Design)}


def function(body: str) -> ast.FunctionDef:
    tree = ast.parse("def step(s, a, b):\n" + textwrap.indent(textwrap.dedent(body), "    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


CASES = {
    "guard": ("require(s.on)", ["drop require(s.on)", "replace s.on by not s.on"]),
    "conjunct": ("require(s.on and s.up)", [
        "drop require(s.on and s.up)", "replace s.on and s.up by not (s.on and s.up)",
        "drop s.on", "replace s.on by not s.on", "drop s.up", "replace s.up by not s.up"]),
    "presence": ("x = require_some(s.one)", ["replace require_some(s.one) by s.one"]),
    "if": ("if s.on:\n    s.x = a\nelse:\n    s.x = b",
           ["replace s.on by not s.on", "drop s.x = a", "drop s.x = b"]),
    "conditional expression": ("s.x = a if s.on else b", [
        "drop s.x = a if s.on else b", "replace s.on by not s.on"]),
    "filter": ("s.x = {n for n in s.all if n.up}", [
        "drop s.x = {n for n in s.all if n.up}", "replace n.up by not n.up"]),
    "assignments": ("s.x = a\ns.y |= {b}\ns.z[a].w = b", ["drop s.x = a", "drop s.y |= {b}", "drop s.z[a].w = b"]),
    "local names": ("x = a\nx = b\nb = x", ["drop x = b", "drop b = x"]),
    "early return": ("if a:\n    return b\nreturn a", ["replace a by not a", "drop return b"]),
    "comparisons": ("return a < b <= s.x", ["replace a < b <= s.x by a <= b <= s.x",
                                            "replace a < b <= s.x by a < b < s.x"]),
    "equality": ("return a == b", ["replace a == b by a != b"]),
    "identity": ("return a is not None", ["replace a is not None by a is None"]),
    "membership": ("return a in s.all", ["replace a in s.all by a not in s.all"]),
    "order, as a condition": ("require(a < b)", [
        "drop require(a < b)", "replace a < b by not a < b", "replace a < b by a <= b"]),
    "negation": ("return not s.on", ["replace not s.on by s.on"]),
    "or": ("return s.on or s.up", ["drop s.on", "replace s.on by not s.on", "drop s.up", "replace s.up by not s.up"]),
    "enum value": ("return Mode.ACTIVE", ["replace Mode.ACTIVE by Mode.STOPPED"]),
    "last enum value": ("return Mode.STOPPED", ["replace Mode.STOPPED by Mode.FENCED"]),
    "identity of two": ("return Broker(1)", ["replace Broker(1) by Broker(0)"]),
    "match": ("match s.mode:\n    case Mode.FENCED if a:\n        s.x = b", [
        "replace Mode.FENCED by Mode.ACTIVE", "replace a by not a", "drop s.x = b"]),
    "constants": ("return f(True, 2)", ["replace True by False", "replace 2 by 3"]),
    "union": ("return a | b", ["replace a | b by a", "replace a | b by b"]),
    "difference": ("return a - b", ["replace a - b by a"]),
    "fields": ("return replace(a, x=b, y=s.y)", ["drop x=b", "drop y=s.y"]),
    "quantifiers": ("return any(n.up for n in s.all)", [
        "replace any((n.up for n in s.all)) by all((n.up for n in s.all))"]),
    "loop": ("for n in s.all:\n    s.x |= {n}", ["drop s.x |= {n}"]),
    "twice": ("s.x = Mode.FENCED\ns.y = Mode.FENCED", [
        "drop s.x = Mode.FENCED", "replace Mode.FENCED by Mode.ACTIVE", "drop s.y = Mode.FENCED",
        "replace Mode.FENCED by Mode.ACTIVE"]),
    "a switch": ("if Design.checks:\n    s.x = a", ["drop s.x = a"]),
    "a condition on constants": ("require(Design.most < 3 or s.on)", [
        "drop require(Design.most < 3 or s.on)",
        "replace Design.most < 3 or s.on by not (Design.most < 3 or s.on)", "drop s.on", "replace s.on by not s.on"]),
    "an assertion": ("assert s.on", []),
    "types and texts": ('"""Says it."""\nreturn isinstance(a, Mode)', []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_changed(case: str) -> None:
    body, expected = CASES[case]
    found = list(edits(function(body), SCOPE))
    assert [edit.text for edit in found] == expected
    original = ast.unparse(function(body))
    changed = [ast.unparse(edit.tree) for edit in found]
    assert original not in changed
    assert len(set(changed)) == len(changed)


def test_an_edit_changes_one_place_and_leaves_the_tree() -> None:
    tree = function("require(s.on)\ns.x = a")
    before = ast.unparse(tree)
    first = next(edits(tree, SCOPE))
    assert ast.unparse(first.tree) == before.replace("require(s.on)", "pass")
    assert first.line == 2
    assert ast.unparse(tree) == before


def test_a_name_of_the_function_hides_an_enum() -> None:
    assert [e.text for e in edits(function("Mode = a\nreturn Mode.FENCED"), SCOPE)] == []
