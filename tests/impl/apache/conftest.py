"""The JVM of a released voter and of released brokers, one for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from impl.apache.jvm import Jvm
from impl.apache.voters import jvm_of_voters
from tests.impl.apache.simulated import VERSION


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    with closing(jvm_of_voters(VERSION)) as found:
        yield found
