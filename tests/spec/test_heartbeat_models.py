"""The models of KIP-343 close with the pinned counts and hold; a switch that is off breaks what is pinned."""

from __future__ import annotations

import pytest

from checker.lang.loader import load_spec
from tests.conftest import Pin
from tests.spec.pinned import assert_as_pinned


@pytest.mark.sample(8)
@pytest.mark.pins("heartbeat/")
def test_pinned(pin: Pin) -> None:
    assert_as_pinned("heartbeat", pin)


def test_leases_are_the_default() -> None:
    assert load_spec("heartbeat").models[0].name == "leases"
