"""Choices: initial states under guards, and the values that parameters range over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker.lang.errors import SpecError
from checker.lang.loader import load
from checker.lang.order import order_key
from checker.lang.resolve import resolve
from tests.conftest import ROOT
from tests.lang.bad_spec import HEADER

CHOICES = str(ROOT / "tests" / "models" / "choices.py")


def test_every_value_once_and_in_order(tmp_path: Path) -> None:
    file = tmp_path / "types.py"
    file.write_text(HEADER + TYPES, encoding="utf-8")
    model = load(str(file))
    scope: dict[str, Any] = vars(model.spec.module)
    for name, size in SIZES.items():
        type_ = resolve(scope[name], name)
        values = list(type_.values())
        assert type_.count == len(values) == size, name
        keys = [order_key(value) for value in values]
        assert keys == sorted(set(keys)), name
        assert [type_.parse(type_.itf(value)) for value in values] == values
    for name in ("Network", "BrokerEpoch"):
        assert resolve(scope[name], name).count is None


TYPES = """

@message
class Vote:
    by: Broker
    seen: Annotated[Seq[bool], AtMost(1)]


Perhaps = Option[Set[Broker]]
Levels = Map[Mode, Level]
Lines = Annotated[Seq[Broker], AtMost(3)]
Cast = Option[Vote]
Either = Vote | Heartbeat
Votes = Map[Broker, Cast]
"""
SIZES = {"Perhaps": 5, "Levels": 16, "Lines": 15, "Cast": 7, "Either": 8, "Votes": 49}


def test_guards_leave_initial_states_out() -> None:
    states = load(CHOICES).initial_states()
    assert len(states) == 28
    assert all(state.up and sum(state.weights.values()) % 2 == 0 for state in states)


DEF = "def chosen(mode: Mode, levels: Map[Mode, Level]) -> Cluster:"
REFUSED = f"""

@init
{DEF}
    require(levels[mode] > 3)
    return start.function()


model = Model("odd", "-", chosen, [tick], [])
"""


def test_initial_states_that_are_all_refused(tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(HEADER + REFUSED, encoding="utf-8")
    with pytest.raises(SpecError, match="there is no initial state: the guards of @init refuse every") as refused:
        load(str(file)).initial_states()
    assert refused.value.place.line == (HEADER + REFUSED).splitlines().index(DEF) + 1


def test_more_initial_states_than_are_made(tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    many = REFUSED.replace("mode: Mode,", "mode: Mode, names: Annotated[Seq[Mode], AtMost(16)],")
    file.write_text(HEADER + many, encoding="utf-8")
    with pytest.raises(SpecError, match="4194272 bindings of its parameters, and at most 1000000"):
        load(str(file)).initial_states()
