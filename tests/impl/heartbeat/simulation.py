"""Nodes on the ZooKeeper in memory, with a network and time of their own: deterministic, from a seed.

Every node is a controller that may be and a broker, with one session. Faults come between any two steps: crashes, nodes
cut off from the controller or from ZooKeeper, pauses, sessions that end under a live process, lost messages. What holds
at every moment is checked after every step.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from impl.heartbeat.broker import BrokerSettings
from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Ask, Effects, Exit, Produce, Reply, SetTimer, Tell, Timer
from impl.heartbeat.log import Log
from impl.heartbeat.messages import ErrorCode
from impl.heartbeat.node import Node
from impl.heartbeat.replica_fetch import ReplicaFetchRequest
from impl.heartbeat.znodes import (
    PERSISTENT,
    LeaderAndIsr,
    assignment_bytes,
    partition_znodes,
    read_state,
    state_path,
    topic_path,
)
from impl.runtime.effects import Did
from impl.zookeeper import Create, OutOfTouch, Submit
from impl.zookeeper.model import ZooKeeper

TOPIC = "t"
SESSION_MS = 3_000
NOBODYS_LANE = 3
_FETCH_MS = 25
_RETRY_MS = 60
_REQUEST_MS = 300


class Violation(AssertionError):
    """Something that must hold at every moment does not."""


@dataclass
class Host:
    """A place where a node runs. node: None while none does. logs: its disk. paused_until_ms: it sleeps until then."""

    number: int
    node: Node | None = None
    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    timers: dict[Timer, int] = field(default_factory=dict)
    life: int = 0
    paused_until_ms: int = 0
    postponed: list[Callable[[], None]] = field(default_factory=list)
    is_cut_from_controllers: bool = False
    is_cut_from_zookeeper: bool = False


class Cluster:
    """brokers: how many; partitions: of one topic, with a replica everywhere."""

    def __init__(
        self,
        seed: int,
        design: Design,
        *,
        brokers: int = 3,
        partitions: int = 1,
        legacy: frozenset[int] = frozenset(),
        min_insync: int = 1,
        broker_timeout_ms: int = 1_200,
        controller_timeout_ms: int = 1_800,
    ) -> None:
        self.random = random.Random(seed)
        self.design = design
        self.legacy = legacy
        self.min_insync = min_insync
        self.broker_timeout_ms, self.controller_timeout_ms = broker_timeout_ms, controller_timeout_ms
        replicas = {n: tuple((n + k) % brokers for k in range(brokers)) for n in range(partitions)}
        self.partitions = [TopicPartition(TOPIC, n) for n in range(partitions)]
        znodes = [*PERSISTENT, *partition_znodes(TOPIC, replicas, {})]
        self.zookeeper = ZooKeeper.begin(brokers, znodes)
        self.hosts = [Host(n) for n in range(brokers)]
        self.now_ms = 0
        self.steps = list[tuple[int, int, Callable[[], None]]]()
        self.sequence = itertools.count()
        self.calls = itertools.count(1)
        self.replies = dict[int, Callable[[object], None]]()
        self.produced = dict[int, bytes]()
        self.acknowledged = dict[bytes, TopicPartition]()
        self.did = list[tuple[int, int, Did]]()
        self.exited = set[int]()
        self.epochs = dict[TopicPartition, tuple[int, int]]()
        self.checks = True

    # Time.

    def at(self, delay_ms: int, step: Callable[[], None]) -> None:
        heapq.heappush(self.steps, (self.now_ms + max(0, delay_ms), next(self.sequence), step))

    def run(self, until_ms: int) -> None:
        """Take all steps up to a time."""
        while self.steps and self.steps[0][0] <= until_ms:
            self.now_ms, _, step = heapq.heappop(self.steps)
            step()
            if self.checks:
                self.check()
        self.now_ms = until_ms

    def run_until(self, holds: Callable[[], bool], limit_ms: int = 60_000) -> bool:
        end_ms = self.now_ms + limit_ms
        while not holds() and self.now_ms < end_ms:
            self.run(self.now_ms + 50)
        return holds()

    # Processes.

    def start(self, broker: int, *, is_legacy: bool | None = None) -> None:
        host = self.hosts[broker]
        assert host.node is None, "it runs"
        host.life += 1
        legacy = broker in self.legacy if is_legacy is None else is_legacy
        settings = BrokerSettings(
            broker, (f"host{broker}", host.life), legacy, 300, self.broker_timeout_ms, SESSION_MS, 900, self.min_insync
        )
        host.node = Node(settings, self.design, self.controller_timeout_ms, lambda of: host.logs.setdefault(of, Log()))
        host.timers, host.paused_until_ms, host.postponed = {}, 0, []
        self.exited.discard(broker)
        self.zookeeper = self.zookeeper.open_session(broker)
        self._deliver_later(broker)
        self._fetch_later(broker, host.life)

    def crash(self, broker: int) -> None:
        host = self.hosts[broker]
        session = self.zookeeper.clients[broker].session
        host.node, host.life = None, host.life + 1
        self.zookeeper = self.zookeeper.crash(broker)
        self.at(SESSION_MS, lambda: self._end(session))

    def stop(self, broker: int) -> None:
        """SIGTERM."""
        self._do(broker, lambda node: node.then(lambda: node.broker.stop(self.now_ms), self.now_ms))

    def expire(self, broker: int) -> None:
        """The session of a live process ends."""
        self._end(self.zookeeper.clients[broker].session)
        self.lose_connection(broker)

    def _end(self, session: int) -> None:
        if session in self.zookeeper.sessions:
            self.zookeeper = self.zookeeper.expire(session)
            for broker in range(len(self.hosts)):
                self._deliver_later(broker)

    def pause(self, broker: int, for_ms: int) -> None:
        host = self.hosts[broker]
        host.paused_until_ms = self.now_ms + for_ms
        session = self.zookeeper.clients[broker].session
        if for_ms > SESSION_MS:
            self.at(SESSION_MS, lambda: self._end(session))
            self.at(for_ms, lambda: self.lose_connection(broker))
        self.at(for_ms, lambda: self._wake(broker))

    def _wake(self, broker: int) -> None:
        host = self.hosts[broker]
        if host.paused_until_ms > self.now_ms:
            return
        for timer, at_ms in sorted(host.timers.items(), key=lambda one: one[1]):
            if at_ms <= self.now_ms:
                self._fire(broker, host.life, timer, at_ms)
        postponed, host.postponed = host.postponed, []
        for step in postponed:
            step()

    def cut_from_zookeeper(self, broker: int, for_ms: int) -> None:
        host, session = self.hosts[broker], self.zookeeper.clients[broker].session
        host.is_cut_from_zookeeper = True
        self.lose_connection(broker, reconnects=False)
        life = host.life
        self.at(SESSION_MS * 2 // 3, lambda: self._out_of_touch(broker, life, session))
        if for_ms >= SESSION_MS:
            self.at(SESSION_MS, lambda: self._end(session))
        self.at(for_ms, lambda: self._heal(broker))

    def _out_of_touch(self, broker: int, life: int, session: int) -> None:
        client = self.zookeeper.clients[broker]
        if self.hosts[broker].life == life and client.session == session and not client.is_connected:
            self._do(broker, lambda node: node.on_event(OutOfTouch(), self.now_ms))

    def _heal(self, broker: int) -> None:
        self.hosts[broker].is_cut_from_zookeeper = False
        self._reconnect(broker)

    def lose_connection(self, broker: int, *, reconnects: bool = True) -> None:
        client = self.zookeeper.clients[broker]
        if not client.session:
            return
        if client.is_connected:
            lives = client.session in self.zookeeper.sessions
            done = self.random.randint(0, len(client.sent)) if lives else 0
            self.zookeeper = self.zookeeper.disconnect(broker, done=done)
            self._deliver_later(broker)
        if reconnects:
            self.at(self.random.randint(1, 100), lambda: self._reconnect(broker))

    def _reconnect(self, broker: int) -> None:
        client = self.zookeeper.clients[broker]
        host = self.hosts[broker]
        if host.node is None or host.is_cut_from_zookeeper:
            return
        if client.session and not client.is_connected:
            self.zookeeper = self.zookeeper.reconnect(broker)
        if not self.zookeeper.clients[broker].session:
            self.zookeeper = self.zookeeper.open_session(broker)
        self._deliver_later(broker)
        if self.zookeeper.clients[broker].sent:
            self._serve_later(broker)

    # Effects.

    def _do(self, broker: int, step: Callable[[Node], Effects]) -> None:
        """A step of a node, and what it asks for; a node that is paused takes it when it wakes."""
        host = self.hosts[broker]
        life = host.life
        if host.node is None:
            return
        if host.paused_until_ms > self.now_ms:
            host.postponed.append(lambda: self._do(broker, step) if host.life == life else None)
            return
        self._carry_out(broker, step(host.node))

    def _carry_out(self, broker: int, effects: Effects) -> None:
        host = self.hosts[broker]
        for effect in effects:
            match effect:
                case Submit():
                    self.zookeeper = self.zookeeper.submit(broker, effect)
                    self._serve_later(broker)
                case SetTimer(timer=timer, at_ms=at_ms):
                    host.timers[timer] = at_ms
                    self.at(at_ms - self.now_ms, partial(self._fire, broker, host.life, timer, at_ms))
                case Ask():
                    self._ask(broker, effect)
                case Tell():
                    self._tell(broker, host.life, effect)
                case Reply(call=call, response=response):
                    answer = self.replies.pop(call, None)
                    if answer is not None:
                        answer(response)
                case Produce(call=call, error_code=code):
                    data = self.produced.pop(call, None)
                    if data is not None and code == ErrorCode.NONE:
                        self.acknowledged[data] = self.partitions[0]
                case Did():
                    self.did.append((self.now_ms, broker, effect))
                case Exit():
                    self.exited.add(broker)
                    self.at(0, lambda: self._exit(broker))

    def _exit(self, broker: int) -> None:
        host = self.hosts[broker]
        if host.node is None:
            return
        session = self.zookeeper.clients[broker].session
        serves = [of for of in self.partitions if broker in self.serving(of)]
        if self.checks and serves:
            raise Violation(f"S9: broker {broker} exits and serves {serves}")
        host.node, host.life = None, host.life + 1
        self.zookeeper = self.zookeeper.crash(broker)
        self._end(session)

    def _fire(self, broker: int, life: int, timer: Timer, at_ms: int) -> None:
        host = self.hosts[broker]
        if host.life == life and host.timers.get(timer) == at_ms and host.paused_until_ms <= self.now_ms:
            del host.timers[timer]
            self._do(broker, lambda node: node.on_timer(timer, self.now_ms))

    # ZooKeeper.

    def _serve_later(self, broker: int) -> None:
        self.at(self.random.randint(1, 3), lambda: self._serve(broker))

    def _serve(self, broker: int) -> None:
        client = self.zookeeper.clients[broker]
        if client.is_connected and client.sent and client.session in self.zookeeper.sessions:
            self.zookeeper = self.zookeeper.serve(broker)
            for other in range(len(self.hosts)):
                if self.zookeeper.clients[other].arriving:
                    self._deliver_later(other)

    def _deliver_later(self, broker: int) -> None:
        self.at(self.random.randint(0, 2), lambda: self._deliver(broker))

    def _deliver(self, broker: int) -> None:
        host = self.hosts[broker]
        if host.node is None or host.paused_until_ms > self.now_ms:
            if host.node is not None:
                host.postponed.append(lambda: self._deliver(broker))
            return
        while self.zookeeper.clients[broker].arriving:
            event, self.zookeeper = self.zookeeper.deliver(broker)
            self._do(broker, lambda node, event=event: node.on_event(event, self.now_ms))  # type: ignore[misc]  # a default has no type
        if not self.zookeeper.clients[broker].session:
            self.at(self.random.randint(1, 50), lambda: self._reconnect(broker))

    # Network.

    def reaches(self, one: int, other: int) -> bool:
        """Messages between a controller and a broker pass."""
        return one == other or not (
            self.hosts[one].is_cut_from_controllers or self.hosts[other].is_cut_from_controllers
        )

    def _ask(self, broker: int, ask: Ask) -> None:
        life, to = self.hosts[broker].life, ask.controller
        is_open = True

        def answered(response: object) -> None:
            if to is not None and not self.reaches(broker, to):
                response = None
            self.at(self.random.randint(1, 4), lambda: take(response))

        def take(response: object) -> None:
            nonlocal is_open
            if self.hosts[broker].life != life or not is_open:
                return
            is_open = False
            if response is None:
                self._do(broker, lambda node: node.then(
                    lambda: node.broker.on_failure(ask.number, self.now_ms), self.now_ms))  # fmt: skip
            else:
                self._do(broker, lambda node: node.then(
                    lambda: node.broker.on_response(ask.number, response, self.now_ms), self.now_ms))  # type: ignore[arg-type]  # not None here  # fmt: skip

        def arrive() -> None:
            if to is None or not self.reaches(broker, to) or self.hosts[to].node is None or self.random.random() < 0.01:
                return
            call = next(self.calls)
            self.replies[call] = answered
            self._do(to, lambda node: node.then(
                lambda: node.controller.on_request(call, ask.request, self.now_ms), self.now_ms))  # fmt: skip

        self.at(self.random.randint(1, 4), arrive)
        self.at(_REQUEST_MS, lambda: take(None))

    def _tell(self, controller: int, life: int, tell: Tell) -> None:
        def arrive() -> None:
            sender, target = self.hosts[controller], self.hosts[tell.to.broker]
            if sender.node is None or sender.life != life:
                return
            request = sender.node.controller.control_request(tell)
            if request is None:
                return
            is_there = target.node is not None and target.life == tell.to.port
            if not is_there or not self.reaches(controller, tell.to.broker) or target.paused_until_ms > self.now_ms:
                self.at(_RETRY_MS, arrive)
                return
            assert target.node is not None
            response, effects = target.node.on_control_request(request, self.now_ms)
            self._carry_out(tell.to.broker, effects)
            if response.error_code == ErrorCode.NONE:
                self.at(self.random.randint(1, 4), acknowledge)

        def acknowledge() -> None:
            if not self.reaches(controller, tell.to.broker):
                self.at(_RETRY_MS, arrive)
                return
            if self.hosts[controller].life == life:
                self._do(controller, lambda node: node.then(lambda: node.controller.on_acknowledged(
                    tell.to.broker, tell.incarnation, tell.number, self.now_ms), self.now_ms))  # fmt: skip

        self.at(self.random.randint(1, 4), arrive)

    def _fetch_later(self, broker: int, life: int) -> None:
        def fetch() -> None:
            host = self.hosts[broker]
            if host.life != life or host.node is None:
                return
            if host.paused_until_ms <= self.now_ms:
                for leader, request in host.node.broker.fetch_requests().items():
                    self._fetch(broker, life, leader, request)
            self.at(_FETCH_MS, fetch)

        self.at(_FETCH_MS, fetch)

    def _fetch(self, broker: int, life: int, leader: int, request: ReplicaFetchRequest) -> None:
        def arrive() -> None:
            target = self.hosts[leader]
            if target.node is None or target.paused_until_ms > self.now_ms:
                return
            response, effects = target.node.broker.on_replica_fetch(request, self.now_ms)
            self._carry_out(leader, effects + target.node.broker.complete(self.now_ms))

            def answer() -> None:
                if self.hosts[broker].life == life:
                    self._do(broker, lambda node: node.broker.on_fetched(request, response, self.now_ms))

            self.at(self.random.randint(1, 4), answer)

        self.at(self.random.randint(1, 4), arrive)

    # Clients.

    def produce(self, data: bytes, acks: int = -1) -> bool:
        """Hand a record to whoever serves the first partition. Returns whether somebody does."""
        of = self.partitions[0]
        for host in self.hosts:
            if host.node is not None and host.paused_until_ms <= self.now_ms:
                host.node.broker.context.now_ms = self.now_ms
                if host.node.broker.serves(of):
                    call = next(self.calls)
                    self.produced[call] = data
                    effects = host.node.broker.on_produce(call, of, 1, data, acks, self.now_ms)
                    effects += host.node.broker.complete(self.now_ms)
                    self._carry_out(host.number, effects)
                    return True
        return False

    def create_topic(self, topic: str, replicas: dict[int, tuple[int, ...]]) -> None:
        """As an operator does: only the assignment is written."""
        self.partitions += [TopicPartition(topic, n) for n in replicas]
        self._carry_out(0, [Submit(NOBODYS_LANE, Create(topic_path(topic), assignment_bytes(replicas)))])

    # What must hold.

    def state(self, of: TopicPartition) -> LeaderAndIsr:
        znode = self.zookeeper.tree.get(state_path(of))
        return LeaderAndIsr(-1, -1, ()) if znode is None else read_state("", znode.data)

    def serving(self, of: TopicPartition) -> list[int]:
        found = []
        for host in self.hosts:
            if host.node is not None and host.paused_until_ms <= self.now_ms:
                broker = host.node.broker
                fenced = broker.fence.is_fenced or (broker.sends_heartbeats and broker.fence.end_ms <= self.now_ms)
                replica = broker.replicas.get(of)
                if replica is not None and replica.leads and not fenced:
                    found.append(host.number)
        return found

    def check(self) -> None:
        for of in self.partitions:
            serving = self.serving(of)
            if len(serving) > 1:
                raise Violation(f"S2 at {self.now_ms} ms: {serving} serve {of}")
            znode = self.zookeeper.tree.get(state_path(of))
            if znode is None:
                continue
            state = read_state("", znode.data)
            if not state.isr or (state.leader >= 0 and state.leader not in state.isr):
                raise Violation(f"S4: {of} has {state}")
            epoch, leader = self.epochs.get(of, (-1, -1))
            if state.leader_epoch < epoch or (state.leader_epoch == epoch and state.leader != leader):
                raise Violation(f"S7: {of} went from leader {leader}, epoch {epoch} to {state}")
            self.epochs[of] = state.leader_epoch, state.leader

    def check_records(self) -> None:
        """S5: what was acknowledged is on the disk of every member of the ISR."""
        for data, of in self.acknowledged.items():
            for member in self.state(of).isr:
                log = self.hosts[member].logs.get(of, Log())
                if not any(batch.data == data for batch in log.batches):
                    raise Violation(f"S5: broker {member} lacks {data!r}")


def started(seed: int, design: Design, brokers: int = 3, **further: object) -> Cluster:
    """A cluster in which everybody is active, and leads what is its own."""
    cluster = Cluster(seed, design, brokers=brokers, **further)  # type: ignore[arg-type]  # passed on
    for broker in range(brokers):
        cluster.at(broker * 5, lambda broker=broker: cluster.start(broker))  # type: ignore[misc]  # as above
    everybody = tuple(range(brokers))

    def is_up() -> bool:
        return all(
            len(cluster.serving(of)) == 1 and sorted(cluster.state(of).isr) == list(everybody)
            for of in cluster.partitions
        )

    assert cluster.run_until(is_up), f"the cluster does not come up: {[cluster.state(of) for of in cluster.partitions]}"
    return cluster
