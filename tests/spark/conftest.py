"""A Spark on this machine that the tests of a module share, and one that does without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checker.spark import check as spark_check
from checker.spark.session import Cluster, cluster

ROOT = Path(__file__).parent.parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process of the suite runs all tests of this folder: Spark's Java is started once."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are named by paths from the root of the project."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def spark() -> Iterator[Cluster]:
    """Spark on two cores; `check` finds it and does not start another."""
    with cluster("local[2]", {}) as found:
        yield found


class NoCluster:
    """Stands in for a cluster where every level is small enough for the driver."""

    is_local = True

    def cores(self) -> int:
        return 2

    def broadcast(self, value: Any) -> None:
        return None


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver does all: the same code for every shard, without Spark around it."""

    @contextmanager
    def none(*arguments: object) -> Iterator[NoCluster]:
        yield NoCluster()

    monkeypatch.setattr(spark_check, "cluster", none)


Checks = Callable[..., Any]
