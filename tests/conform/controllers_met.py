"""All that decides anything at the controllers that a model comes to, with an implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from checker.conform.canonical import by_rank
from checker.conform.check import ConformOptions, conform
from checker.conform.system import Receiver
from checker.lang.loader import load
from impl.adapters.kraft.cluster import Cluster
from impl.adapters.kraft.core import Core
from impl.adapters.kraft.probes import receivers
from impl.adapters.kraft.system import KraftUnderTest


class Noting(KraftUnderTest):
    """It notes all that decides what requests do at its controllers, wherever it comes to."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
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


def met(
    core: Core, model: str, changes: Mapping[str, str], depth: int | None = None, setting: str | None = None
) -> set[Any]:
    """All that decides anything at the controllers of a model. core: whose they are."""
    noting = Noting(core)
    report = conform(load(f"kraft/{model}", dict(changes), setting), noting, "kraft", ConformOptions(max_depth=depth))
    assert report.divergence is None
    return noting.met
