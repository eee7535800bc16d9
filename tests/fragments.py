"""Changes to a function that are named by syntax, so that formatting, comments and other functions may change.

A fragment is text: an expression, one or several statements, or a keyword argument (`isr=rest`). It stands for the one
place in a function whose syntax tree is equal to its own. An empty text in its place leaves it out: statements, a
keyword argument, an operand of `and` or `or`.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slot:
    """Position of a fragment: from `index` on in a list of a node, or as a field of it."""

    parent: ast.AST
    field: str
    index: int | None
    length: int = 1

    def put(self, nodes: list[ast.AST]) -> None:
        if self.index is None:
            if len(nodes) != 1:
                raise ValueError(f"the {self.field} of a {type(self.parent).__name__} cannot be left out")
            setattr(self.parent, self.field, nodes[0])
        else:
            getattr(self.parent, self.field)[self.index : self.index + self.length] = nodes


def changed(function: ast.FunctionDef, old: str, new: str) -> ast.FunctionDef:
    """A copy of the function with `new` for `old`. Raises ValueError where `old` does not stand in it exactly once."""
    tree = copy.deepcopy(function)
    slots = list(places(tree, old))
    if len(slots) != 1:
        raise ValueError(f"{function.name} has {len(slots)} of the fragment: {old}")
    [slot] = slots
    line = _nodes(slot)[0]
    put = _parsed_like(slot, new)
    if isinstance(line, ast.stmt) and not put and len(getattr(slot.parent, slot.field)) == slot.length:
        put = [ast.Pass()]
    for node in put:
        for inner in ast.walk(node):
            ast.copy_location(inner, line)
    slot.put(put)
    _OneOperand().visit(tree)
    return tree


class _OneOperand(ast.NodeTransformer):
    """Replace an `and` or `or` that has only one operand left by that operand."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return node.values[0] if len(node.values) == 1 else node


def places(tree: ast.AST, fragment: str) -> Iterator[Slot]:
    """The places of a fragment: as statements, and where there are none as parts of one."""
    statements = _statements(fragment)
    found = list(_equal(tree, statements))
    if not found and (parts := _parts(statements)):
        found = list(_equal(tree, parts))
    yield from found


def _statements(fragment: str) -> list[ast.stmt]:
    """The statements of a text, among which `return` may be."""
    function = ast.parse(f"def _():\n{textwrap.indent(textwrap.dedent(fragment), '    ')}\n    ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.body[:-1]


def _parts(statements: list[ast.stmt]) -> list[ast.expr | ast.keyword]:
    """Expressions and keyword arguments, each written as a statement; none where one of them is something else."""
    parts: list[ast.expr | ast.keyword] = []
    for statement in statements:
        match statement:
            case ast.Expr(value=value):
                parts.append(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                parts.append(ast.keyword(name, value))
            case _:
                return []
    return parts


def _equal(tree: ast.AST, nodes: Sequence[ast.AST]) -> Iterator[Slot]:
    """Places of nodes in a row, or of a node by itself, that are equal to these."""
    wanted = [(type(node), ast.dump(node)) for node in nodes]
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for index in range(len(value) - len(wanted) + 1):
                    if all(map(_is, value[index:], wanted)):
                        yield Slot(parent, field, index, len(wanted))
            elif len(wanted) == 1 and _is(value, wanted[0]):
                yield Slot(parent, field, None)


def _is(value: Any, wanted: tuple[type, str]) -> bool:
    """A node of this type that is dumped like this. Dumping it takes long, and most are of another type."""
    return isinstance(value, ast.AST) and type(value) is wanted[0] and ast.dump(value) == wanted[1]


def _nodes(slot: Slot) -> list[ast.AST]:
    value = getattr(slot.parent, slot.field)
    return [value] if slot.index is None else value[slot.index : slot.index + slot.length]


def _parsed_like(slot: Slot, text: str) -> list[ast.AST]:
    """A text as statements or as parts of one, whatever stands in the place now."""
    statements = _statements(text)
    if isinstance(_nodes(slot)[0], ast.stmt):
        return [*statements]
    parts = _parts(statements)
    if len(parts) < len(statements):
        raise ValueError(f"neither an expression nor a keyword argument: {text}")
    return [*parts]
