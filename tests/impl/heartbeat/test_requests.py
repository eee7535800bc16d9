"""Requests that wait."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from impl.heartbeat import requests
from impl.heartbeat.broker import Broker, BrokerSettings
from impl.heartbeat.client_requests import FETCH, FETCH_VERSION, fetch_body
from impl.heartbeat.control_requests import ANY_INCARNATION, LeaderAndIsrRequest, PartitionState, TopicPartition
from impl.heartbeat.design import SHIPPED
from impl.heartbeat.messages import ErrorCode
from impl.runtime.wire import RequestHeader, array, int8, int32, int64, nullable_string

PARTITION = TopicPartition("t", 0)
LONGEST_INT32 = (1 << 31) - 1


def test_a_fetch_waits_no_longer_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client may be gone: a wait of 24 days is cut short by an answer that there is nothing."""
    monkeypatch.setattr(requests, "_LONGEST_WAIT_MS", 30)
    leader = Broker(BrokerSettings(0), SHIPPED)
    leader.on_leader_and_isr(
        LeaderAndIsrRequest(0, 1, (PartitionState(PARTITION, 1, 0, 0, (0,), 0, (0,)),), (), ANY_INCARNATION), 0
    )
    process = SimpleNamespace(node=SimpleNamespace(broker=leader), settings=SimpleNamespace(cluster_clients=()))
    part = int32(PARTITION.partition) + int64(0) + int32(1 << 20)
    topics = array([nullable_string(PARTITION.topic) + array([part])])
    body = int32(-1) + int32(LONGEST_INT32) + int32(1) + int32(1 << 20) + int8(0) + topics
    answer = requests.Requests(cast(Any, process)).answer(RequestHeader(FETCH, FETCH_VERSION, 1, "client"), body)
    found = asyncio.run(asyncio.wait_for(answer, 5))
    assert found == fetch_body([(PARTITION, ErrorCode.NONE, 0, b"")])
