"""DescribeConfigs of a broker: what its image has of topics and brokers, over what its own file says (KIP-226).

Told of a topic are the configs that were set, and those that count here whoever has set them. Secrets are not told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from enum import IntEnum
from typing import Any, NamedTuple

from impl.kraft.config.configuration import Configuration
from impl.kraft.errors import ErrorCode
from impl.kraft.image import ALL_BROKERS, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, Image
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.producing import MOST_BYTES, MOST_BYTES_OF_TOPIC
from impl.runtime.topics import LEGAL_NAME

_SECRET = re.compile(r"password|secret|jaas\.config|keystore\.key|certificate")
_COUNTING = (MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION)
"""Configs of topics that brokers and controllers here go by."""


class Source(IntEnum):
    """Who has set a config (DescribeConfigsResponse.ConfigSource); the first that has counts."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    FILE = 4
    DEFAULT = 5


Layers = Sequence[tuple[Source, Mapping[str, str]]]


class OwnConfigs(NamedTuple):
    """What a broker was started with. given: where it is not the default."""

    broker_id: int
    given: Mapping[str, str]
    defaults: Mapping[str, str]


class _Refusal(NamedTuple):
    error: ErrorCode
    says: str = ""


def own_configs(configuration: Configuration) -> OwnConfigs:
    """Settings that are one number, one word, true or false; none of these is a secret."""
    given, defaults = dict[str, str](), dict[str, str]()
    for field in fields(Configuration):
        key, value = field.name.replace("_", "."), getattr(configuration, field.name)
        if not isinstance(value, int | str):
            continue
        if field.default is not MISSING and field.default is not None:
            defaults[key] = _text(field.default)
        if value != field.default:
            given[key] = _text(value)
    return OwnConfigs(configuration.node_id, given, defaults)


def describe_configs(request: Any, image: Image, own: OwnConfigs, rights: Rights) -> dict[str, Any]:
    """The response, by field. request: of any version."""
    synonyms = getattr(request, "include_synonyms", False)
    results = []
    for resource in request.resources:
        kind, name = int(resource.resource_type), str(resource.resource_name)
        found = _layers(kind, name, image, own, rights)
        refusal, layers = (found, ()) if isinstance(found, _Refusal) else (_Refusal(ErrorCode.NONE), found)
        names = sorted({key for _, configs in layers for key in configs})
        asked = resource.configuration_keys
        results.append({
            "error_code": wire_code(refusal.error), "error_message": refusal.says or None,
            "resource_type": resource.resource_type, "resource_name": resource.resource_name,
            "configs": [_config(key, layers, synonyms) for key in names if asked is None or key in asked],
        })  # fmt: skip
    return {"throttle_time": NO_TIME, "results": results}


def _layers(kind: int, name: str, image: Image, own: OwnConfigs, rights: Rights) -> Layers | _Refusal:
    """As ConfigHelper.describeConfigs of Kafka."""
    of_all = image.configs_of(BROKER_RESOURCE, ALL_BROKERS)
    if kind == TOPIC_RESOURCE:
        if not rights.of_topic(Operation.DESCRIBE_CONFIGS, name):
            return _Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if LEGAL_NAME.match(name) is None:
            return _Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name!r} is no name of a topic")
        if name not in image.topic_ids:
            return _Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return (
            (Source.TOPIC, image.configs_of(TOPIC_RESOURCE, name)), (Source.ALL_BROKERS, _counting(of_all)),
            (Source.FILE, _counting(own.given)),
            (Source.DEFAULT, {**_counting(own.defaults), MOST_BYTES_OF_TOPIC: str(MOST_BYTES)}),
        )  # fmt: skip
    if not rights.of_cluster(Operation.DESCRIBE_CONFIGS):
        return _Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if kind != BROKER_RESOURCE:
        return _Refusal(ErrorCode.INVALID_REQUEST, f"resources of type {kind} have no configs here")
    if name == ALL_BROKERS:
        return ((Source.ALL_BROKERS, of_all),)
    if name != str(own.broker_id):
        return _Refusal(ErrorCode.INVALID_REQUEST, f"ask broker {name} itself: this is broker {own.broker_id}")
    return (
        (Source.BROKER, image.configs_of(BROKER_RESOURCE, name)), (Source.ALL_BROKERS, of_all),
        (Source.FILE, own.given), (Source.DEFAULT, own.defaults),
    )  # fmt: skip


def _counting(configs: Mapping[str, str]) -> Mapping[str, str]:
    """What brokers say of topics that do not say it themselves."""
    return {key: value for key, value in configs.items() if key in _COUNTING}


def _config(key: str, layers: Layers, synonyms: bool) -> dict[str, Any]:
    is_secret = _SECRET.search(key) is not None
    said = [(source, None if is_secret else configs[key]) for source, configs in layers if key in configs]
    source, value = said[0]
    return {
        "name": key, "value": value, "config_source": source, "is_default": source is Source.DEFAULT,
        "read_only": source in (Source.FILE, Source.DEFAULT) and key not in (*_COUNTING, MOST_BYTES_OF_TOPIC),
        "is_sensitive": is_secret, "documentation": None,
        "synonyms": [{"name": key, "value": text, "source": by} for by, text in said] if synonyms else [],
    }  # fmt: skip


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
