"""Bad input to a controller and a leader gets its code, or one line in the log; nothing is written for it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from impl.heartbeat.client_requests import record_count
from impl.heartbeat.control_requests import ControlledShutdownRequest, ControlledShutdownResponse
from impl.heartbeat.design import REPAIRED
from impl.heartbeat.effects import RequestToController
from impl.heartbeat.messages import (
    ErrorCode,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    PartitionIsr,
    TopicIsr,
)
from impl.heartbeat.znodes import BROKER_IDS, TOPICS, assignment_bytes, state_path
from impl.runtime.wire import WireError
from impl.zookeeper import Create, SetData, Submit
from tests.impl.heartbeat.cluster import batch_of, with_checksum
from tests.impl.heartbeat.simulation import NOBODYS_LANE, TOPIC, Cluster, started


@pytest.fixture
def cluster() -> Cluster:
    return started(0, REPAIRED)


def in_office(cluster: Cluster) -> int:
    return next(host.number for host in cluster.hosts if host.node is not None and host.node.controller.office)


def answer(cluster: Cluster, request: RequestToController) -> object:
    """The controller's answer."""
    call, answers = next(cluster.calls), list[object]()
    cluster.replies[call] = answers.append
    cluster._do(
        in_office(cluster),
        lambda node: node.then(lambda: node.controller.on_request(call, request, cluster.now_ms), cluster.now_ms),
    )
    assert cluster.run_until(lambda: bool(answers), 2_000)
    return answers[0]


def incarnation(cluster: Cluster, broker: int) -> int:
    node = cluster.hosts[in_office(cluster)].node
    assert node is not None
    return node.controller.registry.brokers[broker].incarnation


def as_it_is(cluster: Cluster) -> tuple[int, PartitionIsr]:
    """The leader of the one partition, and the request to leave its ISR as it is."""
    (of,) = cluster.partitions
    state = cluster.state(of)
    replica = cluster.hosts[state.leader].node
    assert replica is not None
    version = replica.broker.replicas[of].version
    named = tuple(incarnation(cluster, member) for member in state.isr)
    return state.leader, PartitionIsr(of.partition, state.leader_epoch, state.isr, version, named)


def isr_codes(cluster: Cluster, broker: int, partitions: Sequence[PartitionIsr], topic: str = TOPIC) -> list[int]:
    """The codes of the results; of the whole where that is refused."""
    known = incarnation(cluster, broker) if 0 <= broker < len(cluster.hosts) else 1
    response = answer(cluster, IsrChangeRequest(broker, known, (TopicIsr(topic, tuple(partitions)),)))
    assert isinstance(response, IsrChangeResponse)
    return [one.error_code for one in response.results] or [response.top_level_error_code]


def test_an_isr_without_its_form_is_refused(cluster: Cluster) -> None:
    """Empty, without the leader, beyond the replicas, negative, with a member twice; the last two as they should be."""
    (of,) = cluster.partitions
    before, (leader, right) = cluster.state(of), as_it_is(cluster)
    other = next(member for member in right.isr if member != leader)
    for isr in ((), (other,), (*right.isr, 7), (*right.isr, -1), (leader, leader)):
        wrong = replace(right, isr=isr, incarnations=(1,) * len(isr))
        assert isr_codes(cluster, leader, [wrong]) == [ErrorCode.INVALID_REQUEST]
    assert cluster.state(of) == before
    assert isr_codes(cluster, leader, [right, right]) == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_an_isr_of_what_is_not_there_is_refused(cluster: Cluster) -> None:
    (of,) = cluster.partitions
    before, (leader, right) = cluster.state(of), as_it_is(cluster)
    other = next(member for member in right.isr if member != leader)
    unknown, elsewhere = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.NOT_LEADER_FOR_PARTITION]
    assert isr_codes(cluster, leader, [right], "nothing") == unknown
    assert isr_codes(cluster, leader, [replace(right, partition_index=-1)]) == unknown
    assert isr_codes(cluster, leader, [replace(right, partition_index=(1 << 31) - 1)]) == unknown
    assert isr_codes(cluster, other, [right]) == elsewhere
    for epoch in (-1, right.leader_epoch - 1, right.leader_epoch + 1):
        assert isr_codes(cluster, leader, [replace(right, leader_epoch=epoch)]) == elsewhere
    for version in (-1, right.version + 1):
        assert isr_codes(cluster, leader, [replace(right, version=version)]) == [ErrorCode.INVALID_UPDATE_VERSION]
    for broker in (-1, -(1 << 31), 99):
        assert isr_codes(cluster, broker, [right]) == [ErrorCode.INVALID_INCARNATION_ID]
    assert cluster.state(of) == before


@pytest.mark.parametrize(
    ("broker", "target", "code"),
    [
        (-1, 2, ErrorCode.INVALID_REQUEST),
        (-(1 << 31), 2, ErrorCode.INVALID_REQUEST),
        (99, 2, ErrorCode.INVALID_INCARNATION_ID),
        *((1, target, ErrorCode.INVALID_REQUEST) for target in (-128, -1, 0, 1, 4, 127)),
    ],
)
def test_a_heartbeat_of_nobody_or_for_nothing_is_refused(
    cluster: Cluster, broker: int, target: int, code: ErrorCode
) -> None:
    known = incarnation(cluster, 1)
    response = answer(cluster, MetadataHeartbeatRequest(broker, known, target))
    assert isinstance(response, MetadataHeartbeatResponse) and response.error_code == code
    assert incarnation(cluster, 1) == known


@pytest.mark.parametrize("broker", [-1, -(1 << 31), 99])
def test_a_controlled_shutdown_of_nobody_moves_nothing(cluster: Cluster, broker: int) -> None:
    (of,) = cluster.partitions
    before = cluster.state(of)
    assert answer(cluster, ControlledShutdownRequest(broker)) == ControlledShutdownResponse(ErrorCode.NONE)
    assert cluster.state(of) == before


LONG = "9" * 5_000
GARBAGE = (
    (f"{BROKER_IDS}/{LONG}", b""), (f"{BROKER_IDS}/99999999999", b""), (f"{BROKER_IDS}/-1", b""),
    (f"{BROKER_IDS}/7", b"\xff"), (f"{BROKER_IDS}/8", b'{"version":5,"host":"\\ud800","port":1}'),
    (f"{TOPICS}/a b", assignment_bytes({0: (0, 1, 2)})), (f"{TOPICS}/{'t' * 250}", assignment_bytes({0: (0, 1, 2)})),
    (f"{TOPICS}/huge", b'{"version":1,"partitions":{"%s":[1]}}' % LONG.encode()),
    (f"{TOPICS}/beyond", assignment_bytes({1 << 31: (0, 1)})),
    (f"{TOPICS}/nobody", assignment_bytes({0: (0, 1 << 31)})),
)  # fmt: skip


def test_garbage_in_znodes_costs_nobody_anything(cluster: Cluster) -> None:
    """Not what is there, and not the brokers, also where a controller reads it as it takes office."""
    (of,) = cluster.partitions
    cluster._carry_out(1, [Submit(NOBODYS_LANE, Create(path, data)) for path, data in GARBAGE])
    cluster.run(cluster.now_ms + 1_000)
    assert cluster.produce(b"beside garbage")
    cluster.crash(in_office(cluster))
    assert cluster.run_until(
        lambda: any(host.node and host.node.controller.has_begun for host in cluster.hosts), 20_000
    )
    assert cluster.run_until(lambda: len(cluster.serving(of)) == 1, 20_000)
    for path, data in GARBAGE:
        assert cluster.zookeeper.tree[path].data == data


def test_a_state_that_cannot_be_read_is_left_as_it_is(cluster: Cluster) -> None:
    (of,) = cluster.partitions
    garbage = b'{"version":1,"leader":1,"leader_epoch":0,"isr":[2147483648],"controller_epoch":0}'
    cluster._carry_out(1, [Submit(NOBODYS_LANE, SetData(state_path(of), garbage))])
    cluster.checks = False  # nobody can say who leads by that
    cluster.run(cluster.now_ms + 200)
    cluster.crash(in_office(cluster))
    assert cluster.run_until(
        lambda: any(host.node and host.node.controller.has_begun for host in cluster.hosts), 20_000
    )
    assert cluster.zookeeper.tree[state_path(of)].data == garbage


def test_records_are_one_batch_that_is_what_it_says() -> None:
    """Else offsets are given out that no batch has, or a log gets what it has no place for, which ended the process."""
    batch = batch_of(b"payload")
    assert record_count(batch) == 1
    three = with_checksum(batch[:23] + struct.pack(">i", 2) + batch[27:57] + struct.pack(">i", 3) + batch[61:])
    assert record_count(three) == 3
    for wrong in (b"", batch[:60], batch[:-1], batch + b"x", batch + batch):
        with pytest.raises(WireError, match="a batch of"):
            record_count(wrong)
    for delta, count in (((1 << 31) - 1, 1), (1, 1), (-1, 0), (0, 0), (-2, -1), ((1 << 31) - 1, -(1 << 31))):
        lying = batch[:23] + struct.pack(">i", delta) + batch[27:57] + struct.pack(">i", count) + batch[61:]
        with pytest.raises(WireError, match="the last one at"):
            record_count(with_checksum(lying))
    with pytest.raises(WireError, match="the checksum"):
        record_count(batch[:-1] + b"X")
