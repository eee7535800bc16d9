"""Quorums of released controllers and ours, driven through models: each replays what the others write."""

from __future__ import annotations

from typing import Any

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.loading import load_system
from checker.lang.loader import BoundModel, load
from checker.verdicts import DIVERGES
from impl.adapters.apache_kafka.system import ApacheUnderTest, MixedCore
from impl.adapters.kraft.initial import FIRST_EPOCH
from impl.apache.controller import ApacheController
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.records import Batch, NoOpRecord
from tests.impl.apache.jars import drives_a_release
from tests.impl.apache.simulated import VERSION

pytestmark = drives_a_release("a JVM, and thousands of steps in it")
CALM = {"max_early_expiries": "0"}
"""No lease runs out: of those of fenced brokers, the two kinds think differently."""


def bound(model: str) -> BoundModel:
    return load(f"kraft/{model}", CALM, "kafka_4_3_controller")


def driven(model: str, system: Any) -> Any:
    return conform(bound(model), system, "mixed", ConformOptions())


@pytest.mark.parametrize(("model", "transitions", "pairs"), [("creation", 3_159, 1_313), ("election", 4_815, 1_393)])
def test_what_conforms(model: str, transitions: int, pairs: int) -> None:
    report = driven(model, load_system(f"apache-kafka-mixed:{VERSION}"))
    assert (report.divergence, report.counts.transitions, report.pairs) == (None, transitions, pairs)
    assert report.transitions == transitions


def test_every_second_controller_is_a_released_one() -> None:
    model = bound("creation")
    cluster = load_system(f"apache-kafka-mixed:{VERSION}").begin(model.constants, model.initial_states()[0])
    assert [type(host.core) for host in cluster.controllers] == [Controller, ApacheController, Controller]


class Forgetful(ApacheController):
    """Of what is written once the cluster runs it replays no record."""

    def replay(self, batch: Batch) -> None:
        nothing = tuple(NoOpRecord() for _ in batch.records)
        super().replay(batch if batch.epoch < FIRST_EPOCH else Batch(batch.base_offset, batch.epoch, nothing))


class Forgetting(MixedCore):
    def controller(self, settings: ControllerSettings, snapshot: Any = None, voter: int = 0) -> Any:
        made = super().controller(settings, snapshot, voter)
        return Forgetful(VERSION, settings) if isinstance(made, ApacheController) else made


def test_one_that_forgets_what_another_kind_writes_is_found() -> None:
    assert driven("creation", ApacheUnderTest(Forgetting(VERSION))).verdict == DIVERGES
