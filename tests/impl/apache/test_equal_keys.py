"""Keys of released controllers hold all that decides: all with one key are driven in the spec states of the others.

No host stands for another here, for one may differ in what its key leaves out, which is what is tested.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from checker.conform.graph import LeftOut, Rules, plain
from checker.conform.loading import load_system
from checker.lang.loader import load
from impl.adapters.apache_kafka.system import ApacheCore, ApacheUnderTest
from impl.adapters.kraft.values import Comparable
from impl.apache.controller import ApacheController
from impl.apache.recording.record import setting_of
from impl.kraft.controller import ControllerSettings, Timer
from impl.kraft.effects import Effects
from impl.kraft.messages import BrokerHeartbeatRequest, Request
from impl.kraft.snapshot import Snapshot
from tests.conform.alike import Alike
from tests.impl.apache.jars import drives_a_release, skip_without
from tests.impl.apache.simulated import VERSION

pytestmark = drives_a_release("a JVM, and every implementation of a key in it")
MODELS = [
    ("refused", {"max_early_expiries": "0", "max_crashes": "0"}),
    ("lifecycle", {"max_crashes": "1", "max_failovers": "1"}),
    ("unregistration", {"max_crashes": "0"}),
]


@pytest.fixture(autouse=True)
def nobody_stands_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Comparable, "alike", lambda host: host)


def departures(model: str, changes: dict[str, str], system: Any, version: str = VERSION) -> list[str]:
    return Alike(load(f"kraft/{model}", changes, f"{setting_of(version)}_controller"), system).departures()


@pytest.mark.parametrize("version", [VERSION, "3.9.2"])
@pytest.mark.parametrize(("model", "changes"), MODELS, ids=[name for name, _ in MODELS])
def test_implementations_with_equal_keys_do_the_same(model: str, changes: dict[str, str], version: str) -> None:
    skip_without(version)
    assert departures(model, changes, load_system(f"apache-kafka:{version}"), version) == []


@pytest.mark.large("a JVM, and every implementation of a key in it, for minutes")
def test_implementations_with_equal_keys_do_the_same_with_snapshots() -> None:
    changes = {"max_crashes": "0"}
    assert departures("snapshot", changes, load_system(f"apache-kafka:{VERSION}")) == []


class Sulking(ApacheController):
    """It counts heartbeats, and once it looks for leases that have run out it shows whether there were two."""

    heartbeats = 0
    sulks = False

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        self.heartbeats += isinstance(request, BrokerHeartbeatRequest)
        return super().handle(call, request, now_ms)

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        self.sulks = self.heartbeats > 1
        return super().on_timer(timer, now_ms)


class SulkingCore(ApacheCore):
    rules: ClassVar[Rules] = {
        **ApacheCore.rules,
        Sulking: {**ApacheCore.rules[ApacheController], "heartbeats": LeftOut("a mistake"), "sulks": plain},
    }

    def controller(self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0) -> Any:
        return Sulking(VERSION, settings)


def test_a_key_that_lacks_what_decides_is_noticed() -> None:
    found = departures(*MODELS[1], ApacheUnderTest(SulkingCore(VERSION)))
    assert {call.split()[0] for call in found} == {"expire_lease", "fence_expired"}
