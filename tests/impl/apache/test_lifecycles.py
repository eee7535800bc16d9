"""The released `BrokerLifecycleManager` beside the released controller, driven through models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.loading import load_system
from checker.lang.loader import load
from checker.verdicts import DIVERGES, INCOMPLETE, VACUOUS
from impl.adapters.apache_kafka.system import ApacheUnderTest, WithLifecycles
from impl.apache.lifecycle import BrokerOfKafkas, KeptLifecycle
from impl.apache.recording.record import setting_of
from impl.apache.release import missing
from impl.kraft.broker import BrokerSettings, BrokerState
from impl.kraft.broker.timers import Due
from impl.kraft.effects import Effects, Send
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationResponse
from tests.impl.apache.jars import skip_without

VERSION = "4.3.1"
OLDER = ("3.9.2", "4.0.2", "4.1.2", "4.2.1")
"""In which it is in Scala."""
OTHERS = (*OLDER, "4.4.0")
WHY = missing(VERSION)
pytestmark = [
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released broker"),
    pytest.mark.xdist_group("apache"),
]
LONG = pytest.mark.long("a JVM, and thousands of steps in it")


def driven(
    model: str, changes: Mapping[str, object], max_depth: int | None = None, system: Any = None, version: str = VERSION
) -> Any:
    bound = load(
        f"kraft/{model}", {name: str(value) for name, value in changes.items()}, f"{setting_of(version)}_lifecycle"
    )
    released = f"apache-kafka-lifecycle:{version}"
    return conform(bound, system or load_system(released), released, ConformOptions(max_depth=max_depth))


@LONG
@pytest.mark.parametrize(
    ("model", "changes", "depth"),
    [
        ("membership", {}, 11),
        ("lifecycle", {}, 9),
        ("restarts", {}, 12),
        ("listed_shutdown", {}, 5),
        ("late", {}, 8),
    ],
    ids=str,
)
def test_what_conforms_as_far_as_it_is_driven(model: str, changes: dict[str, object], depth: int) -> None:
    report = driven(model, changes, depth)
    assert (report.divergence, report.verdict) == (None, INCOMPLETE)


@LONG
def test_a_model_is_driven_whole() -> None:
    """Some actions it never takes."""
    report = driven("stuck_reassignment", {"max_crashes": 0})
    assert (report.divergence, report.verdict) == (None, VACUOUS)
    assert (report.counts.transitions, report.pairs) == (427, 245)


@LONG
def test_a_broker_starts_by_a_reply_where_that_of_the_design_goes_by_its_image() -> None:
    report = driven("membership", {"own_image_ends_start": True}, 7)
    assert report.verdict == DIVERGES
    differs = [row for row in report.divergence.rows if row.differs]
    assert len(differs) == 1 and "processes[0].state" in str(differs)


@LONG
@pytest.mark.parametrize("version", OTHERS)
@pytest.mark.parametrize(("model", "depth"), [("membership", 11), ("lifecycle", 8), ("restarts", 11)], ids=str)
def test_those_of_other_releases_conform_as_far_as_they_are_driven(version: str, model: str, depth: int) -> None:
    skip_without(version)
    report = driven(model, {}, depth, version=version)
    assert (report.divergence, report.verdict) == (None, INCOMPLETE)


class Impatient(KeptLifecycle):
    """It shuts down as soon as it is asked to."""

    def shut_down(self, now_ms: int) -> Effects:
        effects = super().shut_down(now_ms)
        self.state = BrokerState.SHUTTING_DOWN
        return effects


class Eager(KeptLifecycle):
    """It asks to be unfenced before its log is recovered."""

    def on_timer(self, timer: Any, applied_offset: int) -> Effects:
        return [eager(one) for one in super().on_timer(timer, applied_offset)]


def eager(effect: Any) -> Any:
    if not isinstance(effect, Send) or not isinstance(effect.request, BrokerHeartbeatRequest):
        return effect
    return Send(replace(effect.request, want_fence=False))


class Boastful(KeptLifecycle):
    """It reports to have all metadata."""

    def on_timer(self, timer: Any, applied_offset: int) -> Effects:
        return super().on_timer(timer, 1 << 40)


@LONG
@pytest.mark.parametrize("version", [VERSION, OLDER[-1]])
@pytest.mark.parametrize(("kind", "model"), [(Impatient, "restarts"), (Eager, "membership"), (Boastful, "membership")])
def test_a_fault_is_found(kind: type[KeptLifecycle], model: str, version: str) -> None:
    skip_without(version)

    class Core(WithLifecycles):
        def broker(self, settings: BrokerSettings, incarnation_id: UUID, disk: Any = None) -> BrokerOfKafkas:
            broker = BrokerOfKafkas(version, settings, incarnation_id, disk)
            broker.lifecycle = kind(settings, incarnation_id, version=version)
            return broker

    report = driven(model, {}, 10, ApacheUnderTest(Core(version)), version)
    assert report.verdict == DIVERGES


def registered(answer: bool, version: str = VERSION) -> KeptLifecycle:
    """A lifecycle that is registered, and has asked once; and has the answer, if it shall have it."""
    lifecycle = KeptLifecycle(BrokerSettings(0, "c"), UUID(int=1), version=version)
    lifecycle.start(0)
    assert lifecycle.in_flight is not None
    lifecycle.on_response(lifecycle.in_flight, BrokerRegistrationResponse(ErrorCode.NONE, 7), 0)
    lifecycle.on_timer((Due.COMMUNICATION,), 7)
    if answer:
        told = BrokerHeartbeatResponse(ErrorCode.NONE, is_caught_up=False, is_fenced=True)
        lifecycle.on_response(lifecycle.in_flight, told, 0)
    return lifecycle


@pytest.mark.parametrize("version", [VERSION, *OTHERS])
def test_all_that_it_remembers_is_part_of_its_state(version: str) -> None:
    """That a request is under way, and when it asks next, is in fields that the harness does not name."""
    skip_without(version)
    waiting, answered = registered(answer=False, version=version), registered(answer=True, version=version)
    assert waiting.in_jvm is not None and answered.in_jvm is not None
    assert "communicationInFlight=true" in waiting.in_jvm.description()
    assert "communicationInFlight=false" in answered.in_jvm.description()
    assert waiting.in_jvm.digest != answered.in_jvm.digest
    assert [one.value for one in waiting.in_jvm.numbers] == [7]


@pytest.mark.parametrize("version", [VERSION, *OTHERS])
def test_a_step_leaves_the_state_before_it_as_it_is(version: str) -> None:
    skip_without(version)
    before = registered(answer=True, version=version).in_jvm
    assert before is not None
    digest = before.digest
    after = before.after({"kind": "ready", "nowMs": 5, "appliedOffset": 7})
    assert after.digest != digest
    assert "readyToUnfence=false" in before.description() and "readyToUnfence=true" in after.description()
