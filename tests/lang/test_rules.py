"""Specs that each rule of docs/writing-a-spec.md refuses, and the messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.lang.errors import SpecError
from checker.lang.frontend import compile_model
from checker.lang.ir import EventKind
from checker.lang.loader import load
from tests.lang.bad_models import BAD_MODELS
from tests.lang.bad_names import BAD_NAMES
from tests.lang.bad_spec import HEADER, BadSpec
from tests.lang.bad_steps import BAD_STEPS
from tests.lang.bad_types import BAD_TYPES
from tests.lang.bad_values import BAD_VALUES


def refusal(file: Path, source: str) -> str:
    """The message with which a spec is refused."""
    file.write_text(source, encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        model = load(str(file))
        compile_model(model)
        model.initial_states()
    return str(refused.value)


def test_what_the_bad_specs_start_with_is_right(tmp_path: Path) -> None:
    file = tmp_path / "good.py"
    file.write_text(HEADER, encoding="utf-8")
    program = compile_model(load(str(file)))
    assert program.actions == ["tick"]


BAD = [*BAD_TYPES, *BAD_STEPS, *BAD_MODELS, *BAD_NAMES, *BAD_VALUES]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"rule {bad.rule}: {bad.name}")
def test_refused(bad: BadSpec, tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    number, line = next((i, t) for i, t in enumerate(bad.source.splitlines(), 1) if "«" in t)
    start, end = line.index("«"), line.index("»") - 1
    message = refusal(file, bad.source.replace("«", "").replace("»", ""))

    text = line.replace("«", "").replace("»", "")
    indent = len(text) - len(text.lstrip())
    place, shown, caret, *rest = message.split("\n")
    assert place == f"{file}:{number}"
    assert shown == "    " + text.strip()
    assert caret == "    " + " " * (start - indent) + "^" * (end - start)
    reason = next(r for r in rest if r.startswith("error: "))
    hint = next((r for r in rest if r.startswith("hint: ")), "hint: ")
    assert bad.reason in reason.lower()
    assert bad.hint in hint.lower()
    assert len(rest) <= 2


GUARDED = """

@action(who="controller", source="-")
def step(s: Cluster) -> None:
    '''A step with a guard that the design may lack.'''
    if Design.fencing:
        require(s.mode == Mode.ACTIVE)
    s.leader = None
"""


@pytest.mark.parametrize("fencing", ["true", "false"])
def test_a_branch_on_a_switch_that_is_off_gives_no_code(fencing: str, tmp_path: Path) -> None:
    file = tmp_path / "switch.py"
    file.write_text(HEADER + GUARDED, encoding="utf-8")
    program = compile_model(load(str(file), {"fencing": fencing}))
    guards = [site.text for site in program.sites if site.kind is EventKind.REQUIRE]
    assert guards == (["require(s.mode == Mode.ACTIVE)"] if fencing == "true" else [])


INLINE = """

@record
class Versioned:
    version: Annotated[int, Range(0, lambda: Design.brokers)]


@state
class Inherited(Versioned):
    mode: Mode


@init
def first() -> Inherited:
    return Inherited(version=0, mode=Mode.FENCED)


@action(who="controller", source="-")
def step(s: Inherited) -> None:
    '''A step.'''
    s.version = s.version


model = Model("inline", "-", first, [step], [])
"""


def test_a_bound_written_inline_knows_the_constants_and_a_state_inherits_fields(tmp_path: Path) -> None:
    file = tmp_path / "inline.py"
    file.write_text(HEADER + INLINE, encoding="utf-8")
    for brokers in (2, 5):
        program = compile_model(load(str(file), {"brokers": str(brokers)}))
        assert [(leaf.path, leaf.size) for leaf in program.leaves] == [(".version", brokers + 1), (".mode", 2)]
