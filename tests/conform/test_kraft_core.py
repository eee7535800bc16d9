"""The core that the adapter drives is an argument: another one stands in its place, everywhere."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.graph import LeftOut, Rules, plain
from checker.verdicts import DIVERGES
from impl.adapters.kraft import KraftUnderTest
from impl.adapters.kraft.core import PythonCore
from tests.conform.test_kraft_conforms import PINS

ALONE = next(pin for pin in PINS if pin.model == "unfencing_ends")
STUCK = next(pin for pin in PINS if pin.model == "stuck_reassignment")
QUORUM = next(pin for pin in PINS if pin.model == "failover_reassignment")


class Wrapped:
    """A controller or a broker behind another object, as one behind a bridge is; its copies are, too."""

    def __init__(self, inner: Any, used: Counter[str], silent: str) -> None:
        self._inner, self._used, self._silent = inner, used, silent

    def copy(self) -> Wrapped:
        return Wrapped(self._inner.copy(), self._used, self._silent)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._used[f"{type(self._inner).__name__}.{name}"] += 1
        return (lambda *_: []) if name == self._silent else getattr(self._inner, name)


class WrappedCore:
    """silent: a method that does nothing."""

    rules: ClassVar[Rules] = {Wrapped: {"_inner": plain, "_used": LeftOut("calls that are counted"), "_silent": plain}}

    def __init__(self, silent: str = "") -> None:
        self.used: Counter[str] = Counter()
        self._inner, self._silent = PythonCore(), silent

    def controller(self, *arguments: Any) -> Any:
        return Wrapped(self._inner.controller(*arguments), self.used, self._silent)

    def broker(self, *arguments: Any) -> Any:
        return Wrapped(self._inner.broker(*arguments), self.used, self._silent)


@pytest.mark.long("4 s of CPU each")
@pytest.mark.parametrize("pin", [STUCK, QUORUM], ids=str)
def test_a_wrapped_core_is_used_throughout(pin: Any) -> None:
    core = WrappedCore()
    system = KraftUnderTest(core)
    model = pin.load()
    cluster = system.begin(model.constants, model.initial_states()[0])
    cores: list[object] = [host.core for host in cluster.controllers]
    cores += [host.core for host in cluster.processes if host.core is not None]
    assert cores and all(isinstance(one, Wrapped) for one in cores)
    report = conform(model, system, "wrapped", ConformOptions())
    assert (report.divergence, report.pairs) == (None, pin.pairs)
    assert core.used["Controller.handle"] > 0 and core.used["Broker.on_response"] > 0


@pytest.mark.parametrize("silent", ["handle", "start", "claim"])
def test_a_core_that_does_otherwise_diverges(silent: str) -> None:
    model = ALONE.load()
    assert conform(model, KraftUnderTest(WrappedCore(silent)), "silent", ConformOptions()).verdict == DIVERGES


def test_a_snapshot_is_loaded_by_the_core() -> None:
    core = WrappedCore()
    model = QUORUM.load()
    shape = KraftUnderTest(core).begin(model.constants, model.initial_states()[0]).shape
    snapshot = shape.controller().snapshot()
    assert isinstance(shape.controller(snapshot), Wrapped)
