"""docs/properties.md is what the specs say now, and every statement has a property; `make docs` writes the page."""

from __future__ import annotations

import pytest

from checker.lang.loader import load_spec
from spec.group import properties as group
from spec.heartbeat import properties as heartbeat
from spec.kraft import properties as kraft
from spec.pinning import properties as pinning
from spec.streams import properties as streams
from tests.properties_table import PAGE, numbers_of, page


def test_it_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


DESIGNS = {"group": group, "heartbeat": heartbeat, "kraft": kraft, "pinning": pinning, "streams": streams}
NUMBERS = [(design, number) for design, properties in DESIGNS.items() for number in properties.STATEMENTS]


@pytest.mark.parametrize(("design", "number"), NUMBERS)
def test_every_statement_has_a_property(design: str, number: str) -> None:
    claimed = [p for model in load_spec(design).models for p in model.properties if p.kind != "witness"]
    assert any(number in numbers_of(p) for p in claimed)
