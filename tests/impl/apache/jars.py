"""Tests that drive a release: skipped by name where its jars are not there, and all in one process where they are."""

from __future__ import annotations

import pytest

from impl.apache.release import missing
from tests.impl.apache.simulated import VERSION


def drives_a_release(why_long: str) -> list[pytest.MarkDecorator]:
    """The marks of a file of such tests."""
    why = missing(VERSION)
    return [
        pytest.mark.skipif(bool(why), reason=why or "there is a release"),
        pytest.mark.long(why_long),
        pytest.mark.xdist_group("apache"),
    ]


def skip_without(version: str) -> None:
    """End a test that drives another release than the others where its jars are not there."""
    if why := missing(version):
        pytest.skip(why)
