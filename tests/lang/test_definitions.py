"""Names that come from other modules: what is refused because it would be replaced or added without a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.lang.errors import SpecError
from checker.lang.loader import load

RULES = '''
from typing import Annotated
from checker.lang import Range, action, deadlock_free, init, invariant, state

@state
class S:
    x: Annotated[int, Range(0, 3)]

@init
def start() -> S:
    return S(x=0)

@action(who="a", source="b")
def step(s: S) -> None:
    """A step."""
    s.x = 3

@invariant(source="z")
def small(s: S) -> bool:
    """Never 3."""
    return s.x < 3
'''
LOCAL = '''
@action(who="a", source="b")
def step(s: S) -> None:
    """Another step."""
    s.x = 1
'''


def names(folder: Path, rules: str, spec: str) -> list[str]:
    """The actions and properties of a spec that imports from a module of rules."""
    (folder / f"{rules}.py").write_text(RULES, encoding="utf-8")
    file = folder / "spec.py"
    file.write_text(spec.replace("RULES", rules), encoding="utf-8")
    model = load(str(file)).model
    return [d.name for d in (*model.actions, *model.properties)]


@pytest.mark.parametrize(
    ("number", "spec", "message"),
    [
        (1, "from RULES import S, start, step, deadlock_free\nfrom RULES import *",
         r"import \* makes the invariant small part of the model, .*hint: from RULES import small"),
        (2, "from RULES import S, start, step\nfrom RULES import *", "makes the deadlock deadlock_free part of the"),
        (3, f"from RULES import S, action, start, step\n{LOCAL}", "step is imported in line 1 and defined in line 4"),
        (4, f"from RULES import *\n{LOCAL}", "step is imported in line 1 and defined in line 4"),
        (5, f"from checker.lang import *\nfrom RULES import S, start\n{LOCAL}\nfrom RULES import *",
         "step is defined in line 5 and imported in line 9"),
        (6, f"from checker.lang import action\nfrom RULES import S, start\n{LOCAL}\nif S:\n    from RULES import step",
         "step is defined in line 5 and imported in line 10"),
        (7, "from RULES import S, start, step\nfrom checker.lang import *\nfrom re import match as step",
         "step is imported twice, in lines 1 and 3"),
    ],
)  # fmt: skip
def test_refused(number: int, spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    rules = f"rules_refused_{number}"  # a module of its own for each: Python keeps what it imported
    with pytest.raises(SpecError) as refused:
        names(tmp_path, rules, spec)
    text = str(refused.value).replace("\n", " ")
    assert re.search(message.replace("RULES", rules), text), text


@pytest.mark.parametrize(
    ("number", "spec", "expected"),
    [
        (1, "from checker.lang import *\nfrom RULES import S, start, step", ["step"]),
        (2, "from RULES import S, start, step, small, deadlock_free", ["step", "small", "deadlock_free"]),
        (3, "from checker.lang import *\nfrom checker.lang import action\nfrom RULES import *\n"
            "model = Model('m', 'd', start, [step], [small])", ["step", "small"]),
        (4, "from checker.lang import *\nfrom RULES import S, start, step\n\ndef witness(s: S) -> bool:\n"
            "    return s.x > 0", ["step"]),
        (5, "from RULES import S, start, step\nif S:\n    a = 1\nelse:\n    a = 2\n"
            "try:\n    import nothing_of_that_name as b\nexcept ImportError:\n    b = None", ["step"]),
        (6, "from checker.lang import replace\nfrom RULES import S, start, step\nstep = replace(step, fair='weak')\n"
            "PARTS = (1,)\nPARTS = (*PARTS, 2)\nPARTS += (3,)", ["step"]),
    ],
)  # fmt: skip
def test_accepted(number: int, spec: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`import *` of the language adds nothing to a model; of two exclusive branches each may define a name."""
    monkeypatch.syspath_prepend(tmp_path)
    assert names(tmp_path, f"rules_accepted_{number}", spec) == expected
