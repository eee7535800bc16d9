"""Brokers and consumers as processes on a real ZooKeeper: every record is consumed, whoever dies."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from impl.group.protocol import RegisterConsumerRequest, read_register_response, request_bytes
from impl.group.tool import main as tool
from impl.runtime.wire import Frames
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.group.cluster import LIMIT_S, Cluster, cluster

DATA = 2

pytestmark = [pytest.mark.xdist_group("zookeeper"), pytest.mark.long("real time: a minute of wall clock")]


@pytest.fixture(scope="module")
def server() -> Iterator[Ensemble]:
    with zookeeper() as ensemble:
        yield ensemble


@pytest.fixture
def two_brokers(server: Ensemble, tmp_path: Path) -> Iterator[Cluster]:
    with cluster(server, tmp_path) as started:
        yield started


def payloads_of(cluster: Cluster) -> set[str]:
    return {one.payload for one in cluster.consumed()}


def test_a_group_goes_on_through_joins_a_death_and_a_failover(two_brokers: Cluster) -> None:
    run = two_brokers
    run.start_consumer("a")
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    run.start_consumer("b")
    run.wait_for(lambda: run.are_fetched(4, {"a", "b"}))
    for broker in (0, 1):
        for partition in (0, 1):
            run.produce(broker, partition, [f"{broker}-{partition}-{n}" for n in range(20)])
    run.wait_for(lambda: len(payloads_of(run)) == 80)
    assert {one.consumer for one in run.consumed()} == {"a", "b"}
    run.consumers["b"].kill()
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    first = run.coordinator()
    assert first is not None
    run.brokers[first].kill()
    run.wait_for(lambda: run.coordinator() not in (None, first))
    run.wait_for(lambda: run.are_fetched(2, {"a"}))
    run.produce(1 - first, 0, ["after"])
    run.wait_for(lambda: "after" in payloads_of(run))


@pytest.mark.long("a cluster of its own, for a protocol that is an alternative")
def test_under_section_2_connections_are_closed_and_answers_bring_partitions(server: Ensemble, tmp_path: Path) -> None:
    with cluster(server, tmp_path, further={"group.setting": "section2"}) as run:
        run.start_consumer("a", group_setting="section2")
        run.wait_for(lambda: run.are_fetched(4, {"a"}))
        run.start_consumer("b", group_setting="section2")
        run.wait_for(lambda: run.are_fetched(4, {"a", "b"}))
        for broker in (0, 1):
            run.produce(broker, 0, [f"{broker}-{n}" for n in range(20)])
        run.wait_for(lambda: len(payloads_of(run)) == 40)
        run.consumers["b"].kill()
        run.wait_for(lambda: run.are_fetched(4, {"a"}))
        first = run.coordinator()
        assert first is not None
        run.brokers[first].kill()
        run.wait_for(lambda: run.coordinator() not in (None, first) and run.are_fetched(2, {"a"}))
        run.produce(1 - first, 0, ["after"])
        run.wait_for(lambda: "after" in payloads_of(run))


def test_who_shuts_down_in_order_leaves_nothing_to_be_consumed_again(two_brokers: Cluster) -> None:
    run = two_brokers
    run.start_consumer("a")
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    run.produce(0, 0, [f"{n}" for n in range(50)])
    run.wait_for(lambda: len(payloads_of(run)) == 50)
    run.consumers["a"].terminate()
    assert run.consumers["a"].wait(LIMIT_S) == 0
    run.start_consumer("b")
    run.wait_for(lambda: run.are_fetched(4, {"b"}))
    run.produce(0, 0, ["last"])
    run.wait_for(lambda: "last" in payloads_of(run))
    assert len(run.consumed()) == 51


def test_a_wildcard_group_with_threads_takes_what_matches(server: Ensemble, tmp_path: Path) -> None:
    with cluster(server, tmp_path, brokers=1, topics="orders:3,payments:1,other:1") as run:
        run.start_consumer("a", topic_count="*2*orders,pay.*", autocommit_enable="false", autooffset_reset="smallest")
        run.wait_for(lambda: run.are_fetched(4, {"a"}))
        owners = [owner for owner, _ in run.describe().values()]
        assert sorted(owners) == ["a-0", "a-0", "a-0", "a-1"]
        run.produce(0, 2, ["o"], "orders")
        run.wait_for(lambda: payloads_of(run) == {"o"})
        run.consumers["a"].terminate()
        assert run.consumers["a"].wait(LIMIT_S) == 0


def test_a_consumer_that_was_paused_for_too_long_consumes_nothing_on_waking(two_brokers: Cluster) -> None:
    run = two_brokers
    for consumer in ("a", "b"):
        run.start_consumer(consumer)
    run.wait_for(lambda: run.are_fetched(4, {"a", "b"}))
    run.consumers["b"].pause()
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    run.produce(1, 1, ["while it was away"])
    run.wait_for(lambda: "while it was away" in payloads_of(run))
    run.consumers["b"].resume()
    run.wait_for(lambda: run.are_fetched(4, {"a", "b"}))
    assert [one.consumer for one in run.consumed()] == ["a"]


def test_a_consumer_that_is_cut_off_from_the_data_only_is_not_suspected(server: Ensemble, tmp_path: Path) -> None:
    slow = {"consumer.max.session.timeout.ms": "6000", "zk.sessiontimeout.ms": "20000"}  # no busy machine ends them
    with cluster(server, tmp_path, brokers=0, topics="", is_linked=True, further=slow) as run:
        run.start_data_broker(DATA, "t:2")
        run.start_broker(0)
        run.start_consumer("a", session_timeout_ms="6000")
        run.wait_for(lambda: run.are_fetched(2, {"a"}))
        run.produce(DATA, 0, ["before"])
        run.wait_for(lambda: "before" in payloads_of(run))
        run.fronts[DATA].cut()
        run.produce(DATA, 0, ["meanwhile"])
        (trace,) = (trace for name, trace, _ in run.lives if name == "a")
        count = trace.read_text().count("take_ping")
        run.wait_for(lambda: trace.read_text().count("take_ping") > count + 5)  # who answers none of four is dead
        assert "meanwhile" not in payloads_of(run) and run.are_fetched(2, {"a"})
        run.fronts[DATA].heal()
        run.wait_for(lambda: "meanwhile" in payloads_of(run))
        assert len({(one.epoch, one.attempt) for one in run.consumed()}) == 1
        assert '"removed"' not in run.brokers[0].log.read_text()


def test_a_group_of_consumers_of_0_7_is_refused(two_brokers: Cluster) -> None:
    run = two_brokers
    run.addresses()
    run.wait_for(lambda: run.coordinator() is not None)
    run.admin.create(f"{run.root}/consumers/g/ids/old", ephemeral=True, makepath=True)
    run.start_consumer("a")
    log = run.brokers[run.coordinator() or 0].log
    run.wait_for(lambda: "the group has consumers of 0.7: old" in log.read_text())
    run.admin.delete(f"{run.root}/consumers/g/ids/old")
    run.wait_for(lambda: run.are_fetched(4, {"a"}))


def exchange(address: tuple[str, int], data: bytes) -> bytes:
    """The first answer, or nothing where the connection is closed."""
    with socket.create_connection(address, LIMIT_S) as connection:
        connection.sendall(data)
        frames = Frames()
        while received := connection.recv(1 << 16):
            for content in frames.feed(received):
                return content
    return b""


def test_bad_input_costs_the_connection_or_is_answered_with_a_code(two_brokers: Cluster) -> None:
    run = two_brokers
    run.start_consumer("a")
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    address = run.addresses()[run.coordinator() or 0]
    for garbage in ("00000002 0063", "7fffffff 0006", "ffffffff", "00000004 0010 0000", "00000001 00", "00000002 0002"):
        assert exchange(address, bytes.fromhex(garbage)) == b""
    for number, (group, consumer, topics, session_ms, code) in enumerate(
        [
            ("g", "a", '{"t": 1}', 1_000, 6),
            ("g", "c", '{"t": 1}', 1_000_000, 7),
            ("g", "c", "*1*(", 1_000, 9),
            ("g", "c", "[", 1_000, 9),
            ("coordinator", "c", '{"t": 1}', 1_000, 11),
            ("g", "../c", '{"t": 1}', 1_000, 11),
        ]
    ):
        request = RegisterConsumerRequest(group, consumer, topics, True, "smallest", session_ms)
        answer = exchange(address, request_bytes(request, repaired=True))
        assert read_register_response(answer, repaired=True).error_code == code, number
    assert run.are_fetched(4, {"a"})


def test_the_tool_lists_members_owners_and_offsets(two_brokers: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    run = two_brokers
    run.start_consumer("a")
    run.wait_for(lambda: run.are_fetched(4, {"a"}))
    bootstrap = ",".join(f"{host}:{port}" for host, port in run.addresses().values())
    assert tool(["--bootstrap-brokers", bootstrap]) == 0
    shown = capsys.readouterr().out
    assert f"coordinator {run.coordinator()}" in shown and "group g: 1 members, IDLE" in shown and "a-0" in shown
    assert tool(["--bootstrap-brokers", bootstrap, "--group", "g", "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert [one["consumer"] for one in group["members"]] == ["a"] and len(group["partitions"]) == 4
    assert tool(["--bootstrap-brokers", bootstrap, "--group", "none"]) == 1
    assert "there is no group none" in capsys.readouterr().err
    assert tool(["--bootstrap-brokers", "127.0.0.1:1"]) == 1
    assert tool(["--bootstrap-brokers", "nowhere"]) == 2
