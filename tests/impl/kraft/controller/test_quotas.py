"""Decisions about quotas of clients: the records that they take, and what is refused."""

from __future__ import annotations

import math

import pytest

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.quotas import alter_quotas
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import AlterClientQuotasRequest, QuotaChange
from impl.kraft.records import ClientQuotaRecord, QuotaEntity
from impl.kraft.snapshot import load_snapshot, write_snapshot

ANN, APP, ANY_USER = QuotaEntity("user", "ann"), QuotaEntity("client-id", "app"), QuotaEntity("user")
HOST = QuotaEntity("ip", "127.0.0.1")
PRODUCE, CONSUME, REQUESTS, CONNECTIONS = (
    "producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate",
)  # fmt: skip


def altered(image: Image, entity: tuple[QuotaEntity, ...], **values: float | None) -> Decision:
    decision = alter_quotas(
        image, AlterClientQuotasRequest(entity, tuple(QuotaChange(key, value) for key, value in values.items()))
    )
    for record in decision.records:
        image.replay_record(record)
    return decision


def test_quotas_are_set_changed_and_removed() -> None:
    image = Image()
    first = altered(image, (ANN,), producer_byte_rate=100.0, request_percentage=0.5)
    assert first.records == (ClientQuotaRecord((ANN,), PRODUCE, 100.0), ClientQuotaRecord((ANN,), REQUESTS, 0.5))
    second = altered(image, (ANN,), producer_byte_rate=200.0, request_percentage=0.5)
    assert second.records == (ClientQuotaRecord((ANN,), PRODUCE, 200.0),), "what is so is not written again"
    third = altered(image, (ANN,), producer_byte_rate=None, consumer_byte_rate=None)
    assert third.records == (ClientQuotaRecord((ANN,), PRODUCE, 0.0, remove=True),), "of what is there"
    assert list(image.quotas.values()) == [0.5]


def test_an_entity_is_the_same_whatever_the_order_of_its_parts() -> None:
    image = Image()
    altered(image, (ANN, APP), producer_byte_rate=1.0)
    assert altered(image, (APP, ANN), producer_byte_rate=1.0).records == ()
    assert altered(image, (ANY_USER, APP), producer_byte_rate=1.0).records != (), "a default is another"


def test_a_snapshot_has_all_quotas() -> None:
    image = Image()
    for entity in ((ANN,), (ANY_USER,), (ANN, APP), (QuotaEntity("client-id"), ANY_USER)):
        altered(image, entity, producer_byte_rate=10.0, consumer_byte_rate=20.0)
    altered(image, (HOST,), connection_creation_rate=3.0)
    assert load_snapshot(write_snapshot(image)).quotas == image.quotas and len(image.quotas) == 9


def test_nothing_is_changed_where_something_is_refused() -> None:
    decision = altered(Image(), (ANN,), producer_byte_rate=1.0, consumer_byte_rate=-1.0)
    assert (decision.response.error, decision.records) == (ErrorCode.INVALID_REQUEST, ())


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ((), PRODUCE, 1.0),
        ((QuotaEntity("host", "a"),), PRODUCE, 1.0),
        ((ANN, QuotaEntity("user", "bob")), PRODUCE, 1.0),
        ((QuotaEntity("user", ""),), PRODUCE, 1.0),
        ((HOST, ANN), CONNECTIONS, 1.0),
        ((QuotaEntity("ip", "not an address"),), CONNECTIONS, 1.0),
        ((ANN,), CONNECTIONS, 1.0),
        ((HOST,), PRODUCE, 1.0),
        ((ANN,), "unknown", 1.0),
        ((ANN,), PRODUCE, 0.0),
        ((ANN,), PRODUCE, 1.5),
        ((ANN,), PRODUCE, 1e30),
        ((HOST,), CONNECTIONS, float(1 << 31)),
        ((ANN,), REQUESTS, -0.1),
        ((ANN,), REQUESTS, math.nan),
    ],
)
def test_what_is_no_quota_is_refused(entity: tuple[QuotaEntity, ...], key: str, value: float) -> None:
    decision = altered(Image(), entity, **{key: value})
    assert (decision.response.error, decision.records) == (ErrorCode.INVALID_REQUEST, ())
    assert decision.response.message  # type: ignore[union-attr]  # of its request


def test_a_quota_is_changed_once() -> None:
    request = AlterClientQuotasRequest((ANN,), (QuotaChange(PRODUCE, 1.0), QuotaChange(PRODUCE, 2.0)))
    assert alter_quotas(Image(), request).response.error is ErrorCode.INVALID_REQUEST


def test_the_edges_of_values_are_allowed() -> None:
    image = Image()
    assert altered(image, (HOST,), connection_creation_rate=float((1 << 31) - 1)).records
    assert altered(image, (ANN,), producer_byte_rate=1.0, request_percentage=1e9).records
    assert altered(image, (QuotaEntity("ip"),), connection_creation_rate=1.0).records
    assert altered(image, (QuotaEntity("ip", "::1"),), connection_creation_rate=1.0).records
