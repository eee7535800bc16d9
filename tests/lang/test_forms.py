"""Every form of the files `forms` means the same to the kernel as to plain Python."""

from __future__ import annotations

import random
import textwrap

import pytest

from checker.lang.loader import load
from tests.differential import Pair
from tests.lang import forms, forms_of_messages, forms_of_sequences
from tests.lang.forms_of_parameters import PARAMETERS
from tests.lang.forms_state import STATE

pytestmark = pytest.mark.xdist_group("forms")  # what its tests share is made once
STATES = 24  # of the 6,400 initial ones, drawn with a fixed seed


def source() -> str:
    """The spec in which each form is an action of its own."""
    parts = [STATE]
    texts = (forms.BODIES, forms_of_sequences.BODIES, forms_of_messages.BODIES)
    for number, body in enumerate(body for text in texts for body in text.strip().split("\n---\n")):
        head = f'@action(who="x", source="-")\ndef form_{number}(s: S) -> None:\n    """A form."""\n'
        parts.append(head + textwrap.indent(body, "    "))
    return "\n\n\n".join([*parts, PARAMETERS])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    file = tmp_path_factory.mktemp("forms") / "forms.py"
    file.write_text(source(), encoding="utf-8")
    return Pair(load(str(file)))


@pytest.mark.long("18 s of CPU")
def test_forms(pair: Pair) -> None:
    """Compared in states drawn from the initial ones, and in some of those one step away."""
    chance = random.Random(1)
    for state in chance.sample(pair.model.initial_states(), STATES):
        after = pair.compare(pair.words(state))
        if chance.random() < 0.2:
            pair.compare(chance.choice(after))
