"""The configuration: what upgrade.from stands for by release, and values that no process starts with."""

from __future__ import annotations

import pytest

from impl.streams.config import ConfigException, read_config
from impl.streams.versions import RELEASES, writers

APPLICATION = {"application.id": "app"}
OLD = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1")


def used(release: str, upgrade_from: str) -> int:
    return read_config({**APPLICATION, "release": release, "upgrade.from": upgrade_from}).first_used


@pytest.mark.parametrize("release", ["2.0", "2.3.1", "2.4", "3.9", "simulated", "repaired"])
def test_upgrade_from_holds_the_used_version(release: str) -> None:
    assert [used(release, value) for value in OLD] == [1, 2, 2, 2, 2, 2]
    assert used(release, "null") == used(release, "") == RELEASES[release].latest


def test_back_ports_take_one_value() -> None:
    assert used("1.1.1", "0.10.0") == 1
    with pytest.raises(ConfigException, match=r"upgrade\.from=0\.10\.1: 1\.1\.1 takes null, 0\.10\.0$"):
        used("1.1.1", "0.10.1")
    with pytest.raises(ConfigException, match=r"upgrade\.from=0\.10\.0: 1\.1\.0 takes null$"):
        used("1.1.0", "0.10.0")


def test_later_values_have_no_effect_on_versions() -> None:
    assert used("2.4", "2.3") == 5
    with pytest.raises(ConfigException, match=r"upgrade\.from=2\.0: 2\.3\.1 takes null, 0\.10\.0, .*1\.1$"):
        used("2.3.1", "2.0")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, r"application\.id is missing"),
        ({**APPLICATION, "release": "1.2"}, r"release=1\.2: known are 0\.10\.0, "),
        ({**APPLICATION, "application.server": "h"}, "application.server=h: HOST:PORT is expected"),
        ({**APPLICATION, "application.server": "h:0"}, "with a port from 1 to 65535"),
        ({**APPLICATION, "num.stream.threads": "0"}, "num.stream.threads=0: a whole number from 1 to 1024"),
        ({**APPLICATION, "num.standby.replicas": "-1"}, "num.standby.replicas=-1: a whole number from 0 to 1024"),
        ({**APPLICATION, "upgrade_from": "1.1"}, "upgrade_from is unknown; known are application.id, "),
    ],
)
def test_what_no_process_starts_with(values: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigException, match=why):
        read_config(values)


def test_every_version_has_a_release() -> None:
    assert [bool(writers(version)) for version in range(1, 12)] == [True] * 11
    assert writers(1) == ["0.10.0"] and writers(9) == ["2.8"]
    assert not writers(12)
