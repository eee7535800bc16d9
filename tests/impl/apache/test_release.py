"""Jars of a release: fetched by Maven, whole or without what it does not have, and not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.apache import release

MAVEN = """#!/bin/sh
if grep -q '{lacking}' pom.xml; then echo '[ERROR] there is no {lacking}'; exit 1; fi
for word in "$@"; do
    case $word in -DoutputDirectory=*) mkdir -p "${{word#*=}}"; touch "${{word#*=}}/kafka_2.13-9.9.9.jar";; esac
done
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a Maven that is found first; the cache is empty."""
    monkeypatch.setenv("FENCEPOST_KAFKA", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "mvn"


def write(maven: Path, lacking: str) -> None:
    maven.write_text(MAVEN.format(lacking=lacking))
    maven.chmod(0o755)


def test_a_release_is_of_use_without_its_metadata_shell(maven: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(maven, "kafka-shell")
    release.main(["9.9.9"])
    told = capsys.readouterr()
    assert told.out.endswith("9.9.9: 1 jars\n") and "without kafka-shell" in told.err
    assert release.has_jars("9.9.9")


def test_a_release_that_is_not_there_gets_one_message(maven: Path) -> None:
    write(maven, "kafka_2.13")
    with pytest.raises(SystemExit, match=r"does not fetch kafka_2\.13, kafka-tools of Apache Kafka 9\.9\.9: \[ERR"):
        release.main(["9.9.9"])
    assert not release.has_jars("9.9.9")
