"""Znodes of heartbeats: what Kafka writes is read, garbage is refused with one clear message."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.znodes import (
    BrokerInfo,
    LeaderAndIsr,
    assignment_bytes,
    broker_bytes,
    read_assignment,
    read_broker,
    read_state,
    state_bytes,
    state_path,
)
from impl.zookeeper.znodes import ZnodeError

ID = st.integers(0, (1 << 31) - 1)
IDS = st.lists(ID, max_size=4).map(tuple)
_STATE = b'{"version":1,"leader":1,"leader_epoch":0,"isr":[1,2],"controller_epoch":0,'


def test_what_kafka_wrote_is_read() -> None:
    broker = b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:9092"],'
    broker += b'"jmx_port":-1,"host":"h","timestamp":"1538000000000","port":9092,"version":4}'
    assert read_broker("/brokers/ids/1", broker) == BrokerInfo("h", 9092, 4)
    assert read_broker("/brokers/ids/1", broker).is_legacy
    state = b'{"controller_epoch":5,"leader":-1,"version":1,"leader_epoch":3,"isr":[2]}'
    assert read_state("/p", state) == LeaderAndIsr(-1, 3, (2,), 5)
    assert state_bytes(LeaderAndIsr(-1, 3, (2,), 5)) == state
    assert read_assignment("/t", b'{"version":1,"partitions":{"1":[2,3],"0":[1,2]}}') == {1: (2, 3), 0: (1, 2)}
    assert state_path(TopicPartition("t", 0)) == "/brokers/topics/t/partitions/0/state"


@given(state=st.builds(LeaderAndIsr, st.integers(-1, 9), ID, IDS, ID), named=st.data())
def test_a_state_that_was_written_is_read(state: LeaderAndIsr, named: st.DataObject) -> None:
    size = len(state.isr)
    incarnations = named.draw(st.lists(st.integers(0, (1 << 63) - 1), min_size=size, max_size=size))
    state = replace(state, incarnations=tuple(incarnations) if any(incarnations) else ())
    assert read_state("/p", state_bytes(state)) == state


@given(host=st.text(max_size=9), port=st.integers(0, 65_535), version=st.sampled_from([4, 5]))
def test_a_registration_that_was_written_is_read(host: str, port: int, version: int) -> None:
    info = BrokerInfo(host, port, version)
    assert read_broker("/b", broker_bytes(info)) == info


@given(replicas=st.dictionaries(ID, IDS, max_size=3))
def test_an_assignment_that_was_written_is_read(replicas: dict[int, tuple[int, ...]]) -> None:
    assert read_assignment("/t", assignment_bytes(replicas)) == replicas


@pytest.mark.parametrize(
    ("read", "data", "why"),
    [
        (read_broker, b"", "expected a JSON object of version 4 or 5"),
        (read_broker, b'{"version":6,"host":"h","port":1}', "of version 4 or 5"),
        (read_broker, b'{"version":5,"host":7,"port":1}', "'host' in it"),
        (read_broker, b'{"version":5,"host":"h","port":65536}', "'port' from 0 to 65535"),
        (read_state, b"\xff", "expected a JSON object of version 1"),
        (read_state, b'{"version":1,"leader":-2,"leader_epoch":0,"isr":[],"controller_epoch":0}', "'leader' from -1"),
        (read_state, b'{"version":1,"leader":1,"leader_epoch":0,"isr":[true],"controller_epoch":0}', "broker ids"),
        (read_state, b'{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":0}', "broker ids in it, not null"),
        (read_state, _STATE + b'"incarnations":[7]}', "as many incarnations as members"),
        (read_state, _STATE + b'"incarnations":[7,-1]}', "incarnations in it"),
        (read_assignment, b'{"version":1,"partitions":[1]}', "'partitions' in it"),
        (read_assignment, b'{"version":1,"partitions":{"x":[1]}}', "numbers of partitions"),
        (read_assignment, b'{"version":1,"partitions":{"0":[-1]}}', "broker ids"),
        (read_assignment, b'{"version":1,"partitions":{"0":[2147483648]}}', "broker ids"),
        (read_assignment, b'{"version":1,"partitions":{"2147483648":[1]}}', "numbers of partitions"),
        pytest.param(
            read_assignment,
            b'{"version":1,"partitions":{"%s":[1]}}' % (b"9" * 5_000),
            "numbers of partitions",
            id="5,000 digits",
        ),
        (read_broker, b'{"version":5,"host":"\\ud800","port":1}', "'host' in it"),
        (read_state, _STATE.replace(b"[1,2]", b"[1,2147483648]") + b'"x":0}', "broker ids"),
    ],
)
def test_garbage_is_refused(read: object, data: bytes, why: str) -> None:
    assert callable(read)
    with pytest.raises(ZnodeError, match=why):
        read("/znode", data)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_broker, read_state, read_assignment):
        try:
            read("/znode", data)
        except ZnodeError:
            continue
