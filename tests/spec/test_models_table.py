"""docs/models.md is what the specs and the pins say now; `make docs` rewrites it."""

from __future__ import annotations

import pytest

from checker.explicit.check import kernel_of
from checker.lang.loader import load
from tests.models_table import PAGE, page, words


@pytest.mark.long("every model is bound: 11 s of CPU")
def test_it_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_words_are_those_of_the_kernel() -> None:
    """Fields are laid out without compiling the actions, under the constants of a model that was not bound last."""
    model, larger = load("kraft/membership"), load("kraft/membership", {"brokers": "3"})
    assert (words(model), words(larger)) == (5, 7)
    for target in ("tests/models/async_isr.py", "tests/models/shapes.py/mail", "tests/models/ordinals.py/sessions"):
        model = load(target)
        assert words(model) == kernel_of(model).words
