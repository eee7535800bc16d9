"""The configuration of a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.pinning.settings import Settings, load, parse
from impl.runtime.properties import ConfigError, properties

LEAST = {"broker.id": "1", "zookeeper.connect": "localhost:2181/kafka"}


def test_the_defaults() -> None:
    settings = parse(LEAST)
    assert settings == Settings(1, "localhost:2181/kafka")
    assert settings.design.pinning and not settings.design.takeover


def test_a_broker_abstains_for_three_sessions_if_nothing_else_is_said() -> None:
    assert parse({**LEAST, "zookeeper.session.timeout.ms": "1000"}).abstain_timeout_ms == 3_000


def test_every_key_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "# a broker\nbroker.id = 3\nlisteners=PLAINTEXT://[::1]:9092\nzookeeper.connect=a:1,b:2\n"
        "zookeeper.session.timeout.ms=1000\ncontroller.pinning.enable=false\ncontroller.pinning.takeover=true\n"
        "controller.pinning.abstain.timeout.ms=5000\ncontroller.pinning.alter.clients=tool, ops\n\n"
    )
    settings = load(file)
    assert (settings.broker_id, settings.listener, settings.zookeeper_connect) == (3, ("::1", 9092), "a:1,b:2")
    assert (settings.session_timeout_ms, settings.abstain_timeout_ms) == (1_000, 5_000)
    assert not settings.design.pinning and settings.design.takeover
    assert settings.alter_clients == {"tool", "ops"}


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("broker.id", "-1", "a whole number from 0"),
        ("broker.id", "", "broker.id is missing"),
        ("broker.id", "9999999999", "a whole number from 0"),
        ("broker.id", "9" * 5_000, "a whole number from 0"),
        ("zookeeper.session.timeout.ms", "0", "a whole number from 1"),
        ("controller.pinning.enable", "yes", "true or false"),
        ("listeners", "9092", "HOST:PORT"),
        ("listeners", "PLAINTEXT://h:99999", "from 0 to 65535"),
        ("zookeeper.connect", "localhost:port", "a whole number from 0 to 65535"),
        ("zookeeper.connect", "a:1,,b:2", "HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", "::1/kafka", "HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", "a:1/../kafka", "a chroot without"),
        ("controller.pinning.setting", "shipped", "repaired or draft"),
        ("controller.pining.enable", "true", "controller.pining.enable is unknown; known are broker.id"),
    ],
)
def test_what_no_broker_starts_with(key: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse({**LEAST, key: value})


@pytest.mark.parametrize("connect", ["a", "a:1, b", "[::1]:2181,[::2]", "a:1/kafka/", "a:1/"])
def test_any_way_to_name_zookeeper(connect: str) -> None:
    assert parse({**LEAST, "zookeeper.connect": connect}).zookeeper_connect == connect


def test_the_draft_has_no_takeover() -> None:
    with pytest.raises(ConfigError, match=r"takeover=true: controller\.pinning\.setting=repaired is expected"):
        parse({**LEAST, "controller.pinning.takeover": "true", "controller.pinning.setting": "draft"})


def test_a_line_without_a_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"line 2: 'broker\.id' is not key=value"):
        properties("\nbroker.id\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.properties: No such file"):
        load(tmp_path / "none.properties")
