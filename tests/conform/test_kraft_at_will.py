"""The controllers that closed models come to are among those that brokers bring about which ask at will."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest

from checker.conform.canonical import by_rank
from checker.conform.check import ConformOptions, conform
from checker.conform.system import Receiver
from checker.lang.loader import load
from impl.adapters.kraft.cluster import Cluster
from impl.adapters.kraft.core import PythonCore
from impl.adapters.kraft.probes import receivers
from impl.adapters.kraft.system import KraftUnderTest


class Noting(KraftUnderTest):
    """It notes all that decides what requests do at its controllers, wherever it comes to."""

    def __init__(self) -> None:
        super().__init__(PythonCore())
        self.met: set[Any] = set()

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        for one in receivers(system, before, classes, actions, asks_the_rest=False):
            key: Any = by_rank(one.key)
            shown, _, hidden = key  # but for what a producer knows of its record
            self.met.add(in_any_order((shown, hidden)))
        return ()


def in_any_order(key: Any) -> Any:
    """A key by rank, with incarnations in the order in which they stand there: no controller goes by another one."""
    found: dict[Any, Any] = {}

    def rename(node: Any) -> Any:
        if not isinstance(node, tuple):
            return node
        if len(node) == 2 and node[0] == "Incarnation":
            return found.setdefault(node, ("Incarnation", len(found)))
        return tuple(map(rename, node))

    return rename(key)


def met(model: str, changes: Mapping[str, str], depth: int | None = None) -> set[Any]:
    """All that decides anything at the controllers of a model."""
    noting = Noting()
    report = conform(load(f"kraft/{model}", dict(changes)), noting, "kraft", ConformOptions(max_depth=depth))
    assert report.divergence is None
    return noting.met


@pytest.mark.long("thousands of transitions are driven")
@pytest.mark.sample(1, verify=1)
@pytest.mark.parametrize(
    ("model", "changes", "depth", "least"),
    [
        ("membership", {}, 16, 23),
        ("late", {}, 10, 20),
        ("lossy", {"max_disk_losses": "0"}, 10, 20),
        ("zombie", {}, 10, 20),
    ],
)
def test_a_closed_model_comes_to_no_other_controller(
    model: str, changes: dict[str, str], depth: int, least: int
) -> None:
    """Images with all their epochs, sessions, leases, timers."""
    closed = met(model, changes, depth)
    assert len(closed) >= least
    assert closed <= met("open", {})


def test_one_whose_log_grows_is_not_among_them() -> None:
    assert not met("unfencing_ends", {}, 8) <= met("open", {})
