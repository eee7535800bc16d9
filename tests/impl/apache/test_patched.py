"""Faults inside Apache Kafka's own classes: a build whose bytecode is changed in one place diverges."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from checker.verdicts import DIVERGES
from impl.adapters import apache_kafka_lifecycle
from impl.adapters.apache_kafka import system
from impl.adapters.apache_kafka.system import ApacheUnderTest
from impl.apache import jvm as pipe
from impl.apache.release import classes, jars, missing
from tests.impl.apache.bytecode import ClassFile, build_with, negate

VERSION = "4.3.1"
WHY = missing(VERSION)


class Part(NamedTuple):
    """Classes that are patched, and what they are driven as."""

    package: str
    jar: str
    driven_by: Callable[[str], ApacheUnderTest]
    setting: str


CONTROLLER = Part(
    "org/apache/kafka/controller", f"kafka-metadata-{VERSION}.jar", system.system_of, "kafka_4_3_controller"
)
LIFECYCLE = Part(
    "org/apache/kafka/server", f"kafka-server-{VERSION}.jar", apache_kafka_lifecycle.system_of, "kafka_4_3_lifecycle"
)


@dataclass(frozen=True)
class Patch:
    """One instruction that is another one, and the model and the step by which that shows.

    number: of the condition in the method, from 0 on.
    """

    name: str
    change: Callable[[ClassFile, str, int], None]
    where: str
    number: int
    model: str
    steps: int
    part: Part = CONTROLLER


HEARD, REGISTERED = (f"BrokerLifecycleManager$Broker{name}ResponseEvent.run" for name in ("Heartbeat", "Registration"))
PATCHES = [
    Patch("another epoch of a broker will do", negate, "ClusterControlManager.checkBrokerEpoch", 1, "lossy", 1),
    *[Patch(f"condition {number} of a change of an ISR", negate, "ReplicationControlManager.validateAlterPartitionData",
            number, "lossy", 2) for number in range(1, 7)],
    Patch("condition 1 of who may join an ISR", negate, "ReplicationControlManager.ineligibleReplicasForIsr", 1,
          "lossy", 2),
    *[Patch(f"condition {number} of a heartbeat's response", negate, HEARD, number, "membership", 9, LIFECYCLE)
      for number in range(1, 6)],
    Patch("who has not caught up leaves STARTING", negate, HEARD, 6, "membership", 7, LIFECYCLE),
    Patch("who is unfenced goes on recovering", negate, HEARD, 7, "restarts", 1, LIFECYCLE),
    Patch("who is let go goes on, and others end", negate, HEARD, 8, "restarts", 4, LIFECYCLE),
    *[Patch(f"condition {number} of a registration's response", negate, REGISTERED, number, "membership", 5, LIFECYCLE)
      for number in range(1, 6)],
    Patch("who does not shut down asks to", negate, "BrokerLifecycleManager.sendBrokerHeartbeat", 1, "membership", 6,
          LIFECYCLE),
]  # fmt: skip


def driven(patch: Patch, libs: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The sources are compiled against the release once: what is changed is in no signature."""
    build_with(
        jars(VERSION), patch.part.jar, f"{patch.part.package}/{patch.where}",
        lambda found, method: patch.change(found, method, patch.number), libs,
    )  # fmt: skip
    for module in (pipe, system):
        monkeypatch.setattr(module, "classes", lambda _, *main: classes(VERSION, *main))
    bound = load(f"kraft/{patch.model}", {}, patch.part.setting)
    try:
        return conform(bound, patch.part.driven_by(str(libs)), patch.name, ConformOptions(max_depth=patch.steps))
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
