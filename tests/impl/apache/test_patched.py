"""Faults inside Apache Kafka's own classes: a build whose bytecode is changed in one place diverges."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from checker.verdicts import DIVERGES
from impl.adapters.apache_kafka import system
from impl.apache import jvm as pipe
from impl.apache.release import classes, jars, missing
from tests.impl.apache.bytecode import ClassFile, build_with, negate

VERSION = "4.3.1"
WHY = missing(VERSION)
PACKAGE = "org/apache/kafka/controller"
JAR = f"kafka-metadata-{VERSION}.jar"


@dataclass(frozen=True)
class Patch:
    """One instruction that is another one, and the model and the step by which that shows.

    number: of the condition in the method.
    """

    name: str
    change: Callable[[ClassFile, str, int], None]
    where: str
    number: int
    model: str
    steps: int


PATCHES = [
    Patch("another epoch of a broker will do", negate, "ClusterControlManager.checkBrokerEpoch", 1, "lossy", 1),
    *[Patch(f"condition {number} of a change of an ISR", negate, "ReplicationControlManager.validateAlterPartitionData",
            number, "lossy", 2) for number in range(1, 7)],
    Patch("condition 1 of who may join an ISR", negate, "ReplicationControlManager.ineligibleReplicasForIsr", 1,
          "lossy", 2),
]  # fmt: skip


def driven(patch: Patch, libs: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The sources are compiled against the release once: what is changed is in no signature."""
    build_with(
        jars(VERSION), JAR, f"{PACKAGE}/{patch.where}",
        lambda found, method: patch.change(found, method, patch.number), libs,
    )  # fmt: skip
    for module in (pipe, system):
        monkeypatch.setattr(module, "classes", lambda _: classes(VERSION))
    bound = load(f"kraft/{patch.model}", {}, "kafka_4_3_controller")
    try:
        return conform(bound, system.system_of(str(libs)), patch.name, ConformOptions(max_depth=patch.steps))
    finally:
        pipe.jvm_of(str(libs), os.getpid()).close()


@pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released controller")
@pytest.mark.large("a JVM for each patch")
@pytest.mark.xdist_group("apache")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_is_found(patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = driven(patch, tmp_path / "libs", monkeypatch)
    assert report.verdict == DIVERGES and report.divergence is not None
    assert len(report.divergence.trace.steps) == patch.steps
