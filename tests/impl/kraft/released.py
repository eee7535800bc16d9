"""Apache Kafka's own classes beside ours: a test that wants them, and how they are run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from impl.apache.release import jars, missing

Test = TypeVar("Test", bound=Callable[..., object])
VERSION = "4.3.1"
_WHY = missing(VERSION, ("java",))


def released(test: Test) -> Test:
    """For a test: it is skipped where there is no JVM or no Kafka, and runs beside no other that has a JVM."""
    skipped = pytest.mark.skipif(bool(_WHY), reason=_WHY or "there is a JVM and Kafka")
    marked: Test = pytest.mark.xdist_group("apache")(skipped(test))
    return marked


def java(program: str | Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a class of Kafka's, or a Java file of ours, with its jars."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{jars(VERSION)}/*", str(program), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, encoding="utf-8")
