"""Quotas of clients on the wire: what operators alter, and what a broker describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kio.schema.alter_client_quotas.v1 import request as alter_request
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse as WireResponse
from kio.schema.errors import ErrorCode as WireErrorCode
from kio.static.primitive import f64

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import AlterClientQuotasRequest, AlterClientQuotasResponse, QuotaChange
from impl.kraft.records import ClientQuotaRecord, QuotaEntity
from impl.kraft.server.admin_wire import read_parts
from impl.kraft.server.client_requests import DESCRIBE_QUOTAS
from impl.kraft.server.quotas_wire import ANY, DEFAULT, EXACT
from impl.runtime.entities import entity_bytes, read_entity
from tests.impl.kraft.server.one_broker import OneBroker

ALTER = 49
ANN, APP, ANYBODY = QuotaEntity("user", "ann"), QuotaEntity("client-id", "app"), QuotaEntity("user")
HELD = [((ANN,), 1.0), ((ANYBODY,), 2.0), ((ANN, APP), 3.0), ((APP,), 4.0), ((QuotaEntity("ip", "::1"),), 5.0)]


def alteration(*entries: tuple[QuotaEntity, Mapping[str, float | None]]) -> bytes:
    return entity_bytes(alter_request.AlterClientQuotasRequest(
        validate_only=False,
        entries=tuple(
            alter_request.EntryData(
                entity=(alter_request.EntityData(entity_type=one.entity_type, entity_name=one.entity_name),),
                ops=tuple(
                    alter_request.OpData(key=key, value=f64(value or 0.0), remove=value is None)
                    for key, value in changes.items()
                ),
            )
            for one, changes in entries
        ),
    ))  # fmt: skip


def test_each_entity_is_altered_by_itself() -> None:
    parts = read_parts(ALTER, alteration((ANN, {"a": 1.5, "b": None}), (ANYBODY, {"a": 2.0})), Image())
    assert parts.requests == (
        AlterClientQuotasRequest((ANN,), (QuotaChange("a", 1.5), QuotaChange("b"))),
        AlterClientQuotasRequest((ANYBODY,), (QuotaChange("a", 2.0),)),
    )
    replies = AlterClientQuotasResponse(ErrorCode.NONE), AlterClientQuotasResponse(ErrorCode.INVALID_REQUEST, "no")
    answer: Any = read_entity(WireResponse, parts.response_bytes(replies))
    assert [(one.entity[0].entity_name, int(one.error_code), one.error_message) for one in answer.entries] == [
        ("ann", 0, None), (None, 42, "no")
    ]  # fmt: skip


def test_an_entity_that_is_named_twice_is_altered_by_neither() -> None:
    parts = read_parts(ALTER, alteration((ANN, {"a": 1.0}), (ANN, {"b": 2.0})), Image())
    answer: Any = read_entity(WireResponse, parts.response_bytes(()))
    assert parts.requests == () and [int(one.error_code) for one in answer.entries] == [42]


Component = tuple[str, int, str | None]


def described(folder: Path, *components: Component, strict: bool = False, version: int = 1) -> Any:
    """What a broker answers that has HELD in its image."""
    folder.mkdir(exist_ok=True)
    one, answers = OneBroker(folder), []
    one.replay(*(ClientQuotaRecord(entity, "producer_byte_rate", value) for entity, value in HELD))
    asked = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in components]

    async def ask() -> None:
        answers.append(await one.ask(DESCRIBE_QUOTAS, version, {"components": asked, "strict": strict}))

    one.run(ask)
    return answers[0]


@pytest.mark.parametrize(
    ("components", "strict", "values"),
    [
        ((), False, {1.0, 2.0, 3.0, 4.0, 5.0}),
        ((("user", EXACT, "ann"),), False, {1.0, 3.0}),
        ((("user", EXACT, "ann"),), True, {1.0}),
        ((("user", DEFAULT, None),), False, {2.0}),
        ((("user", ANY, None),), False, {1.0, 2.0, 3.0}),
        ((("user", ANY, None), ("client-id", EXACT, "app")), False, {3.0}),
        ((("ip", EXACT, "::1"),), True, {5.0}),
        ((("ip", EXACT, "::2"),), True, set()),
        ((), True, set()),
    ],
)
def test_a_broker_describes_what_a_filter_means(
    tmp_path: Path, components: tuple[Component, ...], strict: bool, values: set[float]
) -> None:
    for version in (0, 1):
        answer = described(tmp_path / str(version), *components, strict=strict, version=version)
        assert answer.error_code == WireErrorCode.none
        assert {one.value for entry in answer.entries for one in entry.values} == values


def test_quotas_of_one_entity_are_described_together(tmp_path: Path) -> None:
    (entry,) = described(tmp_path, ("user", EXACT, "ann"), ("client-id", EXACT, "app")).entries
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("client-id", "app"), ("user", "ann")]
    assert [(one.key, one.value) for one in entry.values] == [("producer_byte_rate", 3.0)]


@pytest.mark.parametrize(
    "components",
    [
        (("", EXACT, "ann"),),
        (("user", EXACT, "ann"), ("user", DEFAULT, None)),
        (("user", EXACT, "ann"), ("ip", DEFAULT, None)),
        (("user", EXACT, None),),
        (("user", DEFAULT, "ann"),),
        (("user", ANY, "ann"),),
        (("user", 3, None),),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, components: tuple[Component, ...]) -> None:
    answer = described(tmp_path, *components)
    assert (answer.error_code, answer.entries) == (WireErrorCode.invalid_request, None) and answer.error_message
