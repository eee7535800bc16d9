"""Figures of the core of impl/heartbeat: heartbeats and a large IsrChange, in seconds of processor time."""

from __future__ import annotations

import time

from impl.heartbeat.controller import Controller
from impl.heartbeat.design import REPAIRED
from impl.heartbeat.effects import Effects, Reply, Tell
from impl.heartbeat.messages import ErrorCode, IsrChangeRequest, MetadataHeartbeatRequest, PartitionIsr, TopicIsr
from impl.heartbeat.znodes import PERSISTENT, BrokerInfo, LeaderAndIsr, broker_bytes, id_path, partition_znodes
from impl.zookeeper import Submit
from impl.zookeeper.model import ZooKeeper
from tests.benchmarks.printing import line

BROKERS = 1_000
ROUNDS = 200
PARTITIONS = 10_000
_CONTROLLER_ID = 5_000


class Host:
    """A controller in office on a ZooKeeper in memory, in which these brokers are registered."""

    def __init__(self, brokers: int, partitions: int) -> None:
        registered = [(id_path(n), broker_bytes(BrokerInfo("h", n))) for n in range(brokers)]
        replicas = {n: (0, 1) for n in range(partitions)}
        states = {n: LeaderAndIsr(0, 0, (0, 1)) for n in range(partitions)}
        znodes = [*PERSISTENT, *partition_znodes("t", replicas, states), *registered]
        self.zookeeper = ZooKeeper.begin(1, znodes).open_session(0)
        self.core = Controller(_CONTROLLER_ID, REPAIRED)
        self.replies = list[Reply]()
        self.spent_s = 0.0
        """In the core, as far as that is not inside `heartbeats`: the ZooKeeper in memory is no part of it."""
        self.run([])
        self.incarnations = {n: one.incarnation for n, one in self.core.registry.brokers.items()}

    def run(self, effects: Effects) -> None:
        """Carry out what the core asks for; brokers acknowledge at once."""
        while effects or self.zookeeper.clients[0].arriving or self.core.can_advance:
            pending, effects = effects, []
            for effect in pending:
                match effect:
                    case Submit():
                        self.zookeeper = self.zookeeper.submit(0, effect).serve(0)
                    case Tell(to=to, incarnation=incarnation, number=number):
                        effects += self.core.on_acknowledged(to.broker, incarnation, number, 0)
                    case Reply():
                        self.replies.append(effect)
            while self.zookeeper.clients[0].arriving:
                event, self.zookeeper = self.zookeeper.deliver(0)
                started = time.process_time()
                effects += self.core.on_event(event, 0)
                self.spent_s += time.process_time() - started
            if self.core.can_advance:
                started = time.process_time()
                effects += self.core.advance(0)
                self.spent_s += time.process_time() - started

    def heartbeats(self, rounds: int) -> float:
        """Heartbeats a second, of processor time: all brokers' in each round."""
        requests = [MetadataHeartbeatRequest(n, one, 2, 1) for n, one in self.incarnations.items()]
        self.replies.clear()
        started = time.process_time()
        for _ in range(rounds):
            effects: Effects = []
            for number, request in enumerate(requests):
                effects += self.core.on_request(number, request, 0)
            self.run(effects)
        spent_s = time.process_time() - started
        assert len(self.replies) == rounds * len(requests), "everybody is answered"
        return len(self.replies) / spent_s


def heartbeats() -> None:
    """100,000 heartbeats a second through the core alone; 10,000 partitions in one IsrChange below a second."""
    line("heartbeats a second through the core", f"{Host(BROKERS, 0).heartbeats(ROUNDS):,.0f}", "100,000")
    host = Host(2, PARTITIONS)
    changes = tuple(
        PartitionIsr(of.partition, one.state.leader_epoch, (0,), one.version, (host.incarnations[0],))
        for of, one in host.core.partitions.known.items()
        if one.state is not None
    )
    request = IsrChangeRequest(0, host.incarnations[0], (TopicIsr("t", changes),))
    host.replies.clear()
    host.spent_s = 0.0
    host.run(host.core.on_request(1, request, 0))
    (reply,) = host.replies
    codes = {one.error_code for one in getattr(reply.response, "results", ())}
    assert codes == {ErrorCode.NONE}, "every change is made"
    line(f"an IsrChange of {PARTITIONS:,} partitions", f"{host.spent_s:.2f} s", "1 s")


if __name__ == "__main__":
    heartbeats()
