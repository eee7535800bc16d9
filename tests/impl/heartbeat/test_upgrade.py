"""Two rolling restarts to heartbeats, and back to the former protocol, while a real client produces and consumes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from impl.heartbeat.settings import HEARTBEAT_PROTOCOL, LEGACY_PROTOCOL
from impl.heartbeat.tool import main as tool
from tests.cluster.brokers import now_ms
from tests.cluster.recordings import below
from tests.cluster.schedules import Run, rejected
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.heartbeat.cluster import BROKERS, PARTITION, SETTLING_S, Cluster
from tests.impl.heartbeat.upgrade_history import UpgradeHistory

pytestmark = pytest.mark.xdist_group("zookeeper")
LIMIT_S = 30.0
MODEL = "tests/impl/heartbeat/upgraded.py"
ROLLED = (2, 0, 1)
"""In this order broker 0 leads again in the end, and was registered before broker 1: as models start."""


class Upgraded(Cluster):
    """A cluster whose brokers are restarted with another protocol version."""

    def __init__(self, ensemble: Ensemble, folder: Path) -> None:
        super().__init__(ensemble, "/upgraded", folder)
        self.ensemble = ensemble
        self.protocol = LEGACY_PROTOCOL

    def settings(self, broker: int) -> dict[str, str]:
        return {**super().settings(broker), "inter.broker.protocol.version": self.protocol}

    def begin_as_legacy(self) -> None:
        """As `begin`; the leader adds broker 1 itself, and the controller has not read that."""
        for broker, isr in ((2, []), (0, [0]), (1, [0, 1])):
            self._begin_one(broker, isr)
        time.sleep(SETTLING_S)

    def _begin_one(self, broker: int, isr: list[int]) -> None:
        self.start(broker)
        self._await(lambda: self.address(broker) is not None)
        self._await(lambda: self.isr() == isr)

    def roll(self, protocol: str) -> None:
        """Restart one after the other in good order, each once the one before is in the ISR again."""
        self.protocol = protocol
        for broker in ROLLED:
            self._restart(broker, protocol)

    def _restart(self, broker: int, protocol: str) -> None:
        former = self.current[broker]
        assert former is not None
        former.ask_to_stop()
        assert self.wait_for(lambda: not former.is_alive, LIMIT_S)
        process = self.start(broker)
        assert self.wait_for(lambda: self.address(broker) is not None, LIMIT_S)
        if protocol == HEARTBEAT_PROTOCOL:
            assert self.wait_for(lambda: process.has_recorded("unfenced"), LIMIT_S)
        assert self.wait_for(self.is_quiet, LIMIT_S)

    def leader(self) -> int | None:
        state = self.state()
        return None if state is None else state.leader


class Load:
    """A producer and a consumer of kafka-python, until they are stopped. acknowledged, consumed: payloads."""

    def __init__(self, bootstrap: list[str]) -> None:
        from kafka import KafkaConsumer, KafkaProducer  # it warns when it is loaded

        further: dict[str, Any] = {"enable_idempotence": False, "acks": "all", "retries": 50}
        self.acknowledged, self.consumed = set[bytes](), set[bytes]()
        self._is_over, self._is_all_sent = threading.Event(), threading.Event()
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, max_block_ms=30_000, request_timeout_ms=2_000, delivery_timeout_ms=30_000,
            **further,
        )  # fmt: skip
        self._consumer = KafkaConsumer(
            PARTITION.topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None
        )
        self._producing, self._consuming = (
            threading.Thread(target=work, daemon=True) for work in (self._produce, self._consume)
        )
        self._producing.start()
        self._consuming.start()

    def _produce(self) -> None:
        number = 0
        while not self._is_over.wait(0.05):
            number += 1
            record = b"record %d" % number
            with suppress(Exception):  # of unknown outcome: it may be there or not
                self._producer.send(PARTITION.topic, record, partition=PARTITION.partition).get(timeout=30)
                self.acknowledged.add(record)

    def _consume(self) -> None:
        while not self._is_all_sent.is_set() or not self.acknowledged <= self.consumed:
            for batch in self._consumer.poll(timeout_ms=200).values():
                self.consumed |= {message.value for message in batch}

    def stop(self) -> None:
        """Wait until all that was acknowledged is consumed."""
        self._is_over.set()
        self._producing.join(3 * LIMIT_S)
        self._is_all_sent.set()
        self._consuming.join(LIMIT_S)
        assert not self._producing.is_alive() and not self._consuming.is_alive()
        with suppress(Exception):
            self._producer.close(timeout=1)
        self._consumer.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Upgraded]:
    with zookeeper(1) as ensemble:
        found = Upgraded(ensemble, tmp_path)
        try:
            yield found
        finally:
            found.stop()


@pytest.mark.long("real time: half a minute of wall clock, for nine restarts")
@pytest.mark.filterwarnings("ignore")
def test_two_rolls_and_back_lose_nothing(cluster: Upgraded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And all of it, with a leader that is paused between the rolls, is a behaviour of the spec."""

    def all_are_legacy(expected: bool) -> bool:
        """To the controller, which hears of the last registration a moment later than ZooKeeper."""
        code = tool(["describe", "--bootstrap-server", cluster.doors[2].address, "--json"])
        out = capsys.readouterr().out
        return code == 0 and [one["is_legacy"] for one in json.loads(out)["brokers"]] == [expected] * BROKERS

    cluster.begin_as_legacy()
    began = cluster.last_zxid(), now_ms()
    load = Load([door.address for door in cluster.doors])
    cluster.roll(LEGACY_PROTOCOL)  # the new code
    assert cluster.wait_for(lambda: all_are_legacy(True), LIMIT_S)
    cluster.roll(HEARTBEAT_PROTOCOL)
    assert cluster.wait_for(lambda: all_are_legacy(False), LIMIT_S)
    time.sleep(SETTLING_S)
    leader = cluster.current[0]
    assert leader is not None
    leader.pause()
    assert cluster.wait_for(lambda: cluster.leader() == 1, LIMIT_S)
    leader.resume()
    assert cluster.wait_for(cluster.is_quiet, LIMIT_S)
    cluster.roll(LEGACY_PROTOCOL)
    assert cluster.wait_for(lambda: all_are_legacy(True), LIMIT_S)
    load.stop()
    assert len(load.acknowledged) > 20 and load.acknowledged <= load.consumed
    log = below(cluster.ensemble.transactions(), cluster.root)
    history = UpgradeHistory(log, cluster.lives(), began, now_ms())
    figures = history.figures()
    assert figures.leader_changes > 0 and figures.self_fenced > 0 and figures.double_serving_ms == 0
    trace = history.trace("seed 0", "upgraded")
    assert rejected([Run(0, trace, None)], MODEL, (), tmp_path / "traces") == {}
    lies = [Run(seed, "".join(lie), None) for seed, lie in enumerate(with_lies(trace.splitlines(keepends=True)))]
    assert len(lies) == 4
    assert sorted(rejected(lies, MODEL, (), tmp_path / "lies")) == [0, 1, 2, 3]


def with_lies(lines: list[str]) -> Iterator[list[str]]:
    """The same run, but for one thing, each time another: it never happened, or somebody else did it."""
    without_end = lines[:-1]
    for seed, action in enumerate(("configure", "shut_down", "write_isr", "handle_isr_change")):
        at = next(n for n, line in enumerate(without_end) if json.loads(line).get("action") == action)
        event = json.loads(without_end[at])
        own = {"process": event["parameters"].get("process"), "answered": True}
        by_itself = json.dumps({**event, "action": "write_isr", "parameters": own}) + "\n"
        header = without_end[0].replace("seed 0", f"seed {seed}")
        instead = [by_itself] if action == "handle_isr_change" else []
        yield [header, *without_end[1:at], *instead, *without_end[at + 1 :]]
