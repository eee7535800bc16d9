"""The mutants of the implementation: which there are, that they are put in, and that who is explained is one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from checker.mutate.summary import read_explained
from impl.kraft.broker import BrokerSettings, BrokerState, Event, next_state
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.image import Image
from impl.kraft.snapshot import Snapshot
from tests.conftest import ROOT
from tests.impl_mutation.judges import Seeds
from tests.impl_mutation.mutants import CORE, PACKAGE, QUORUM, Mutant, all_mutants
from tests.impl_mutation.pool import answers

pytestmark = pytest.mark.xdist_group("impl mutants")  # what its tests share is made once
KRAFT = ROOT.joinpath(*PACKAGE.split("."))
VALUES_ONLY = {
    *("effects", "errors", "levels", "messages", "records"),
    *("controller.decision", "controller.lists", "security.errors"),
}
"""Modules that decide nothing."""
BESIDE = {
    "storage", "node", "raft", "simulation", "metadata", "config", "tools", "server", "recorded", "recovered.py",
}  # fmt: skip
"""The quorum below the core: simulated runs judge its mutants (`python -m tests.impl_mutation.quorum`). And what files
hold, which Kafka's own tools read (`tests/impl/kraft/metadata`, `tests/impl/kraft/tools`), and traces, which the spec
judges."""


@pytest.fixture(scope="module")
def mutants() -> dict[str, Mutant]:
    """By key."""
    listed = list(all_mutants())
    by_key = {mutant.key: mutant for mutant in listed}
    assert len(by_key) == len(listed)
    return by_key


def test_every_explained_survivor_is_a_mutant(mutants: dict[str, Mutant]) -> None:
    assert read_explained(ROOT / "tests/impl_mutation/survivors.toml").keys() <= mutants.keys()


def test_every_explained_survivor_of_the_quorum_is_a_mutant() -> None:
    keys = {mutant.key for mutant in all_mutants(QUORUM)}
    assert read_explained(ROOT / "tests/impl_mutation/quorum_survivors.toml").keys() <= keys


def test_runs_object_by_the_first_seed_that_breaks_something_and_begin_with_the_one_that_did() -> None:
    asked = list[int]()

    def breaks(seed: int) -> str | None:
        asked.append(seed)
        return "wrong" if seed in broken else None

    broken = set[int]()
    judge = Seeds("runs", range(5), breaks)
    judge.prepare(())
    broken |= {2, 4}
    assert judge.objection("", None, None) == "2: wrong" and judge.objection("", None, "4: wrong") == "4: wrong"
    assert asked == [0, 1, 2, 3, 4, 0, 1, 2, 4]
    with pytest.raises(RuntimeError, match="seed 2 of runs"):
        judge.prepare(())


def test_every_module_of_the_core_is_mutated() -> None:
    paths = [path.relative_to(KRAFT) for path in KRAFT.rglob("*.py") if path.name != "__init__.py"]
    modules = {".".join(path.with_suffix("").parts) for path in paths if path.parts[0] not in BESIDE}
    assert modules - VALUES_ONLY == set(CORE)


class Looking:
    """A judge that objects to what it sees, whatever it is."""

    name, seconds = "looking", 0.0

    def __init__(self, look: Callable[[], Any]) -> None:
        self.look = look

    def prepare(self, files: Collection[str]) -> None:
        pass

    def runs(self, file: str, lines: range | None) -> bool:
        return True

    def objection(self, file: str, lines: range | None, last: str | None) -> str | None:
        return repr(self.look())


LOAD = "controller.committed = controller.speculative = load_snapshot(snapshot)"
PUT_IN: dict[str, tuple[Callable[[], Any], object]] = {
    "image.Image.__init__: replace 1 by 2": (lambda: Image().offset, -2),
    "controller.controller.Controller.is_active: replace self.epoch is not None by self.epoch is None": (
        lambda: Controller(ControllerSettings("c")).is_active,
        True,
    ),
    f"controller.controller.Controller.load: drop {LOAD}": (
        lambda: Controller.load(ControllerSettings("c"), Snapshot(7, 1, ())).committed.offset,
        -1,
    ),
    "broker.states.NEXT_STATE: drop (BrokerState.STARTING, Event.CAUGHT_UP)": (
        lambda: next_state(BrokerState.STARTING, Event.CAUGHT_UP),
        BrokerState.STARTING,
    ),
    "broker.settings.BrokerSettings.retry_backoff_ms: replace 100 by 101": (
        lambda: BrokerSettings(1, "c").retry_backoff_ms,
        101,
    ),
}
"""Of a method, a property, a class method, a table and a default: what is seen of it."""


@pytest.mark.parametrize("key", PUT_IN)
def test_a_mutant_is_put_in_where_it_is_judged_and_nowhere_else(mutants: dict[str, Mutant], key: str) -> None:
    look, seen = PUT_IN[key]
    before = look()
    [(_, objection)] = answers(Looking(look), [(mutants[key], None)], jobs=1)
    assert objection == repr(seen) and look() == before != seen
