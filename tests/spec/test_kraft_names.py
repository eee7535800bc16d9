"""Names of the kraft design: each is defined in one file, so that an expression over its state means one function."""

from __future__ import annotations

import ast
from collections import Counter

from tests.conftest import ROOT


def test_every_name_is_defined_once() -> None:
    defined = Counter(
        node.name
        for file in (ROOT / "spec" / "kraft").rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    assert [name for name, times in defined.items() if times > 1] == []
