"""Which configs a broker tells of topics and of itself, and who has set each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from impl.kraft.config.configuration import parse
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigRecord
from impl.kraft.security.acls import CLUSTER_NAME, Operation, ResourceType
from impl.kraft.server.client_requests import DESCRIBE_CONFIGS
from impl.kraft.server.describe_configs import Source, own_configs
from tests.impl.kraft.config.test_configuration import BROKER, text
from tests.impl.kraft.server.one_broker import ID, TOPIC, OneBroker
from tests.impl.kraft.server.test_broker_rights import ANN, guarded, permitted

Told = dict[str, tuple[str | None, int]]


async def described(one: OneBroker, kind: int, name: str, **more: Any) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None, **more}
    asked = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    (result,) = (await one.ask(DESCRIBE_CONFIGS, 4, asked, ANN)).results
    return result


def told(result: Any) -> Told:
    assert result.error_code is ErrorCode.none, result.error_message
    return {one.name: (one.value, int(one.config_source)) for one in result.configs}


def test_of_a_topic_the_nearest_counts(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()
    of_file: Told = {"min.insync.replicas": ("2", Source.FILE), "max.message.bytes": ("1048588", Source.DEFAULT)}

    async def what() -> None:
        assert told(await described(one, TOPIC_RESOURCE, TOPIC)) == of_file
        one.replay(
            ConfigRecord(BROKER_RESOURCE, "", "min.insync.replicas", "3"),
            ConfigRecord(BROKER_RESOURCE, "", "num.io.threads", "4"),
            ConfigRecord(TOPIC_RESOURCE, TOPIC, "retention.ms", "5"),
        )
        found = await described(one, TOPIC_RESOURCE, TOPIC)
        assert told(found) == {
            **of_file, "min.insync.replicas": ("3", Source.ALL_BROKERS), "retention.ms": ("5", Source.TOPIC)
        }  # fmt: skip
        (isr,) = (config for config in found.configs if config.name == "min.insync.replicas")
        assert [(synonym.value, synonym.source) for synonym in isr.synonyms] == [
            ("3", Source.ALL_BROKERS), ("2", Source.FILE), ("1", Source.DEFAULT)
        ]  # fmt: skip
        some = await described(one, TOPIC_RESOURCE, TOPIC, configuration_keys=("retention.ms", "none.such"))
        assert told(some) == {"retention.ms": ("5", Source.TOPIC)}

    one.run(what)


def test_a_broker_tells_of_itself_and_of_all_and_no_secret(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.replay(
        ConfigRecord(BROKER_RESOURCE, "", "num.io.threads", "4"),
        ConfigRecord(BROKER_RESOURCE, str(ID), "num.io.threads", "5"),
        ConfigRecord(BROKER_RESOURCE, str(ID), "ssl.key.password", "hush"),
    )

    async def what() -> None:
        assert told(await described(one, BROKER_RESOURCE, "")) == {"num.io.threads": ("4", Source.ALL_BROKERS)}
        found = await described(one, BROKER_RESOURCE, str(ID))
        assert told(found) == {
            "num.io.threads": ("5", Source.BROKER), "min.insync.replicas": ("2", Source.FILE),
            "log.roll.ms": ("7", Source.DEFAULT), "ssl.key.password": (None, Source.BROKER),
        }  # fmt: skip
        assert "hush" not in str(found)
        assert {config.name for config in found.configs if config.is_sensitive} == {"ssl.key.password"}
        assert {config.name for config in found.configs if config.read_only} == {"log.roll.ms"}

    one.run(what)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)

    async def what() -> None:
        assert (await described(one, TOPIC_RESOURCE, TOPIC)).error_code is ErrorCode.unknown_topic_or_partition
        assert (await described(one, TOPIC_RESOURCE, "a b")).error_code is ErrorCode.invalid_topic_exception
        assert (await described(one, BROKER_RESOURCE, str(ID + 1))).error_code is ErrorCode.invalid_request
        assert (await described(one, 32, "group")).error_code is ErrorCode.invalid_request

    one.run(what)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_versions_say_less(tmp_path: Path, version: int) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()

    async def what() -> None:
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": TOPIC, "configuration_keys": None}
        asked = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        (result,) = (await one.ask(DESCRIBE_CONFIGS, version, asked)).results
        assert told(result)["min.insync.replicas"] == ("2", Source.FILE)
        assert not result.configs[0].synonyms

    one.run(what)


def test_who_may_see_them(tmp_path: Path) -> None:
    cluster = permitted(Operation.ALTER_CONFIGS, CLUSTER_NAME, ResourceType.CLUSTER)
    of_topic, of_cluster = (
        guarded(tmp_path / "1", permitted(Operation.DESCRIBE_CONFIGS)),
        guarded(tmp_path / "2", cluster),
    )

    async def topics() -> None:
        assert told(await described(of_topic, TOPIC_RESOURCE, TOPIC))
        refused = await described(of_topic, BROKER_RESOURCE, str(ID))
        assert refused.error_code is ErrorCode.cluster_authorization_failed and not refused.configs

    async def brokers() -> None:
        assert told(await described(of_cluster, BROKER_RESOURCE, str(ID)))
        refused = await described(of_cluster, TOPIC_RESOURCE, TOPIC)
        assert refused.error_code is ErrorCode.topic_authorization_failed and not refused.configs

    of_topic.run(topics)
    of_cluster.run(brokers)


def test_own_configs_are_what_a_file_says_and_the_defaults() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hush";'
    found, findings = parse(text(
        BROKER, **{"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false", "plain.sasl.jaas.config": login}
    ))  # fmt: skip
    assert found is not None, findings.problems
    own = own_configs(found)
    assert own.broker_id == 4
    assert own.given["min.insync.replicas"] == "2" and own.defaults["min.insync.replicas"] == "1"
    assert own.given["auto.leader.rebalance.enable"] == "false" and own.given["node.id"] == "4"
    assert own.defaults["broker.session.timeout.ms"] == "9000" and "broker.session.timeout.ms" not in own.given
    assert "hush" not in str(own)
