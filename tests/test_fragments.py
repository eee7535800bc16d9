"""Fragments are found by their syntax, however the function is written, and never guessed."""

from __future__ import annotations

import ast

import pytest

from tests.fragments import changed

FUNCTION = """
def decide(s, request):
    # Comments and line breaks are no syntax.
    if (request.epoch < s.epoch
            and not request.late):
        return Reply(Error.STALE,
                     epoch=s.epoch, isr=s.isr)
    for member in s.isr:
        s.log = s.log + (member,)
        s.seen = True
    s.done = True
    return Reply(Error.NONE, epoch=s.epoch)
"""


def after(old: str, new: str) -> str:
    [function] = ast.parse(FUNCTION).body
    assert isinstance(function, ast.FunctionDef)
    found = changed(function, old, new)
    compile(ast.Module([found], []), "<changed>", "exec")
    assert ast.unparse(function) == ast.unparse(ast.parse(FUNCTION))
    return ast.unparse(found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("request.epoch < s.epoch", "request.epoch <= s.epoch", "if request.epoch <= s.epoch and (not request.late):"),
        ("request.epoch<s.epoch", "", "if not request.late:"),
        ("Reply(Error.STALE, epoch=s.epoch, isr=s.isr)", "None", "return None"),
        ("isr=s.isr", "", "return Reply(Error.STALE, epoch=s.epoch)"),
        ("isr=s.isr", "isr=s.isr\nlate=True", "return Reply(Error.STALE, epoch=s.epoch, isr=s.isr, late=True)"),
        ("s.done = True", "", "s.seen = True\n    return"),
        ("s.done = True", "s.done = False\ns.over = True", "s.done = False\n    s.over = True\n    return"),
        ("s.log = s.log + (member,)\ns.seen = True", "", "for member in s.isr:\n        pass"),
        ("s.log", "()", "s.log = () + (member,)"),
        ("return Reply(Error.NONE, epoch=s.epoch)", "return None", "s.done = True\n    return None"),
    ],
)
def test_a_fragment_is_changed(old: str, new: str, said: str) -> None:
    assert said in after(old, new)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("s.epoch < request.epoch", "", "decide has 0 of the fragment: s.epoch < request.epoch"),
        ("s.epoch", "0", "decide has 3 of the fragment: s.epoch"),
        ("epoch=s.epoch", "epoch=0", "decide has 2 of the fragment"),
        ("Error.STALE", "return 0", "neither an expression nor a keyword argument: return 0"),
        ("s.isr", "", "decide has 2"),
        ("(member,)", "", "the right of a BinOp cannot be left out"),
    ],
)
def test_no_fragment_is_guessed(old: str, new: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        after(old, new)
