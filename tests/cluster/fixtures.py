"""One real ZooKeeper for all tests that ask for one: `zookeeper` as their xdist_group puts them into one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.zookeeper import Ensemble, zookeeper


@pytest.fixture(scope="session")
def server() -> Iterator[Ensemble]:
    """A ZooKeeper server. Tests keep apart by working below a chroot of their own."""
    with zookeeper() as ensemble:
        yield ensemble
