"""A constraint or terminal condition that cannot be evaluated is a violation with a trace, as a property is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

SPEC = '''"""A counter, and a sequence that stays empty."""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Nat, Seq, action, {kind}, init, require, state

Count = Annotated[int, Nat(3)]
Counts = Annotated[Seq[Count], AtMost(2)]


@state
class S:
    count: Count
    first: Counts


@action(who="counter", source="this file")
def count(s: S) -> None:
    """Count up to 3."""
    require(s.count < 3)
    s.count += 1


@{kind}
def looks_too_far(s: S) -> bool:
    """Looks at an element that is not there."""
    return s.count < 2 or s.first[0] < 2


@init
def nothing() -> S:
    return S(0, ())
'''


@pytest.mark.parametrize("kind", ["constraint", "terminal", "witness"])
def test_it_is_reported_with_its_trace(kind: str, run: Callable[..., Result], tmp_path: Path) -> None:
    file, trace = tmp_path / "spec.py", tmp_path / "trace.ndjson"
    file.write_text(SPEC.format(kind=kind))
    found = run("check", file, "--quiet", "--trace-out", trace)
    assert found.exit_code == 1
    assert "invariant looks_too_far can be evaluated is violated at step 3" in found.stdout
    assert "It cannot be evaluated here: tuple index out of range" in found.stdout
    replayed = run("trace", "replay", trace)
    assert replayed.exit_code == 0
    assert "looks_too_far cannot be evaluated" in replayed.stdout
