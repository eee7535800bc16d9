"""A broker's process: an asyncio loop around a node that observes the quorum, its logs and its listeners."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from prometheus_client import CollectorRegistry

from impl.kraft.broker import Broker, BrokerSettings, BrokerState
from impl.kraft.broker.core import BrokerRequest
from impl.kraft.config.configuration import Configuration
from impl.kraft.effects import Send as SendToController
from impl.kraft.effects import SetTimer as SetBrokerTimer
from impl.kraft.fields import InvalidFieldError
from impl.kraft.levels import SUPPORTED
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import BrokerEffect, BrokerEffects, BrokerNode, HostedBroker
from impl.kraft.raft import Raft
from impl.kraft.raft.effects import Send, SetTimer, Timer
from impl.kraft.raft.messages import Request, Response
from impl.kraft.records import BootstrapRecord, Endpoint
from impl.kraft.recovered import recovered_broker_node, recovered_ends
from impl.kraft.server.access import Credentials, Doors, access_of, access_to_brokers, authorizer_of
from impl.kraft.server.bootstrap import read_bootstrap_records
from impl.kraft.server.broker_measures import BrokerMeasures, Gauge, gauges
from impl.kraft.server.client_requests import ClientRequests
from impl.kraft.server.cluster_told import ClusterTold
from impl.kraft.server.controller_channel import LOST, ControllerChannel
from impl.kraft.server.describe_configs import own_configs
from impl.kraft.server.disk_work import DiskWork
from impl.kraft.server.following import Following
from impl.kraft.server.peers import Peers
from impl.kraft.server.placing import Placing
from impl.kraft.server.replica_logs import StoredReplicaLogs
from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.server.server import SCRAPE_S, clock
from impl.kraft.server.settings import addresses_of, raft_settings, registered, snapshot_settings, storage_settings
from impl.kraft.server.steps import Steps
from impl.kraft.storage.directories import ids_of, lock_directories, read_directories
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.snapshots import Snapshots
from impl.kraft.storage.storage import QuorumStorage
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop
from impl.runtime.metrics import served
from impl.runtime.properties import ConfigError

MOST_ANSWER_BYTES = 101 << 20
"""Of a controller or leader, which answers with a batch at least, of whatever size."""

logger = logging.getLogger(__name__)


class BrokerEndedError(Exception):
    """The broker is none any more, without being told to stop. The message says why."""


def require_served(configuration: Configuration) -> None:
    """Raises ConfigError for what a broker cannot do yet."""
    for endpoint in configuration.broker_listeners:
        if not endpoint.port:
            raise ConfigError(f"listeners: {endpoint.name} needs a port, as others are told it")


def broker_of(
    configuration: Configuration, cluster_id: str, logs: StoredReplicaLogs, log_dirs: Mapping[str, UUID]
) -> Broker:
    """The core, by the logs that there are. log_dirs: by path, the ids of their directories. Raises StorageError."""
    settings = BrokerSettings(
        configuration.node_id, cluster_id,
        listeners=endpoints_of(configuration),
        features=SUPPORTED,
        log_dirs=tuple(log_dirs.values()),
        heartbeat_interval_ms=configuration.broker_heartbeat_interval_ms,
        initial_registration_timeout_ms=configuration.initial_broker_registration_timeout_ms,
        retry_backoff_max_ms=configuration.broker_session_timeout_ms // 2,
        replica_lag_time_max_ms=configuration.replica_lag_time_max_ms,
        min_insync_replicas=configuration.min_insync_replicas,
    )  # fmt: skip
    return Broker(settings, uuid4(), logs.load(), logs)


def logs_of(configuration: Configuration, disk: RealDisk) -> StoredReplicaLogs:
    """Raises OSError where its trace cannot be written."""
    path = configuration.trace_file
    trace = None if path is None else ReplicaTrace(Path(path), configuration.node_id)
    return StoredReplicaLogs(disk, configuration.log_dirs, trace)


def endpoints_of(configuration: Configuration) -> tuple[Endpoint, ...]:
    """Where others find a broker, as it registers: each of its listeners, as it is advertised if it is."""
    advertised = {one.name: one for one in configuration.advertised_listeners}
    return registered(configuration, (advertised.get(one.name, one) for one in configuration.broker_listeners))


class BrokerRuntime:
    """A broker in an asyncio loop: a core, its logs, its listeners. A subclass says where metadata comes from."""

    def __init__(
        self, configuration: Configuration, node: BrokerNode | HostedBroker, logs: StoredReplicaLogs, cluster_id: str,
        bootstrap: tuple[BootstrapRecord, ...], clock_ms: Callable[[], int], log_dirs: Mapping[str, UUID],
    ) -> None:  # fmt: skip
        """log_dirs: by path, the ids of the directories of logs. Raises ConfigError."""
        self._configuration, self._node, self._logs = configuration, node, logs
        access, between_brokers = access_of(configuration), access_to_brokers(configuration)
        self._loop: CoreLoop[BrokerEffect] = CoreLoop(
            self._on_timer, self._carry_out, before_each=self._look, clock_ms=clock_ms
        )
        self._channel = ControllerChannel(
            addresses_of(configuration), f"broker-{configuration.node_id}",
            configuration.controller_quorum_request_timeout_ms, MOST_ANSWER_BYTES, lambda: node.leader, access,
        )  # fmt: skip
        self._placing = Placing(node.broker, logs, self._channel, log_dirs)
        self._steps = Steps(node, self._loop, logs.trace)
        told = ClusterTold(self._steps, cluster_id)
        name = configuration.inter_broker_listener
        self._following = Following(
            self._steps, self._loop, lambda broker: told.address_of(broker, name), MOST_ANSWER_BYTES, between_brokers
        )
        requests = ClientRequests(
            self._steps, self._channel, told, own_configs(configuration), authorizer_of(configuration)
        )
        credentials = Credentials(lambda: node.broker.image, bootstrap)
        self._doors = Doors(
            configuration, configuration.broker_listeners, credentials, requests.handle,
            configuration.socket_request_max_bytes, logger,
        )  # fmt: skip
        self._is_told = self._is_recovered = False
        self._applied_offset = -1
        self._said: dict[str, object] = {}

    def stop(self) -> None:
        """SIGTERM: a controlled shutdown, in which the controller moves what this broker leads."""
        self._is_told = True
        self._loop.post(self._shut_down)

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where the address is taken, StorageError, BrokerEndedError."""
        is_orderly = False
        try:
            with ExitStack() as until_end:
                await self._doors.open()
                self._serve_metrics(until_end)
                ports = [endpoint.port for endpoint in self._configuration.broker_listeners]
                log(logger, "started", {"ports": ports, "logs": len(self._node.broker.logs)})
                self._loop.post(self._begin)
                await self._loop.run()
                is_orderly = True
        finally:
            await self._doors.close()
            self._channel.close()
            await self._close_metadata()
            self._logs.close(flushed=is_orderly)
            self._unlock()
        self._node.broker.stopped()
        log(logger, "stopped")
        if not self._is_told:
            raise BrokerEndedError(self._reason())

    async def _close_metadata(self) -> None:
        """Nothing comes from there any more."""

    def _unlock(self) -> None:
        """Others may have the directories."""

    @property
    def _snapshots(self) -> Snapshots:
        """Of the metadata."""
        raise NotImplementedError

    def _begin(self, now_ms: int) -> BrokerEffects:
        """The first step."""
        self._loop.begin(self._placing.run())
        latest = self._snapshots.latest
        effects = self._node.start(now_ms)
        if latest is not None:
            effects += self._node.load(latest, self._snapshots.read(latest), now_ms)
        if self._is_told:  # before the first step
            effects += self._shut_down(now_ms)
        return effects

    def _shut_down(self, now_ms: int) -> BrokerEffects:
        if self._logs.trace is not None:
            self._logs.trace.stop()
        return self._node.shut_down(now_ms)

    def _serve_metrics(self, until_end: ExitStack) -> None:
        """Raises OSError where the address is taken."""
        port = self._configuration.metrics_port
        if port is not None:
            registry, host = CollectorRegistry(), self._configuration.broker_listeners[0].host or "0.0.0.0"
            self._measure(registry)
            log(logger, "metrics", {"address": until_end.enter_context(served(registry, host, port))})

    def _measure(self, registry: CollectorRegistry) -> None:
        running = asyncio.get_running_loop()

        async def seen() -> list[Gauge]:
            return gauges(self._node)

        def seen_elsewhere() -> list[Gauge]:
            """Raises TimeoutError where the loop has no time, or ends."""
            return asyncio.run_coroutine_threadsafe(seen(), running).result(SCRAPE_S)

        BrokerMeasures(registry, seen_elsewhere)

    def _reason(self) -> str:
        broker = self._node.broker
        if broker.broker_epoch is None:
            return (
                f"no controller has registered this broker in {broker.settings.initial_registration_timeout_ms} ms "
                "(initial.broker.registration.timeout.ms): is another with its node.id there, or no controller active?"
            )
        return f"broker epoch {broker.broker_epoch} is not this process's any more: another has the id, or nobody"

    def _look(self) -> None:
        """Between two steps: what the last one has made possible, or necessary."""
        broker = self._node.broker
        if self._logs.trace is not None:
            self._logs.trace.look(broker)
        if not self._is_recovered and broker.state is BrokerState.RECOVERY and broker.broker_epoch is not None:
            self._is_recovered = True  # the logs were, before the first step
            self._loop.post(self._node.recovered, first=True)
        if broker.applied_offset != self._applied_offset:
            self._applied_offset = broker.applied_offset
            self._following.look()
        self._steps.waiting.look()
        if broker.state is BrokerState.SHUTTING_DOWN:
            self._loop.stop()
        self._say("broker", {"state": broker.state.name, "broker_epoch": broker.broker_epoch})
        self._say("replicas", {"leads": len(broker.leaders), "follows": len(broker.followers)})

    def _say(self, event: str, facts: dict[str, object]) -> None:
        """A line where it is another one."""
        if self._said.get(event) != facts:
            self._said[event] = facts
            log(logger, event, facts)

    # Effects.

    def _on_timer(self, timer: Any, now_ms: int) -> BrokerEffects:
        return self._node.on_timer(timer, now_ms)

    def _carry_out(self, effect: BrokerEffect) -> None:
        match effect:
            case SendToController(request=asked):
                self._loop.begin(self._ask(asked))  # type: ignore[arg-type]
            case SetBrokerTimer(timer=of_broker, at_ms=at_ms):
                self._loop.set_timer(of_broker, at_ms)
            case _:
                raise AssertionError(f"no effect of a broker: {effect}")

    async def _ask(self, request: BrokerRequest) -> None:
        """What the broker wants of the active controller."""
        trace = self._logs.trace
        number = 0 if trace is None else trace.ask(request)
        try:
            response = await self._channel.send(request)
        except LOST:
            response = None

        def answered(now_ms: int) -> BrokerEffects:
            if trace is not None:
                trace.hear(number, response)
            try:
                return self._node.on_controller_response(request, response, now_ms)
            except InvalidFieldError as error:
                log(logger, "answer refused", {"why": str(error)})
                return self._node.on_controller_response(request, None, now_ms)

        self._loop.post(answered)


class BrokerServer(BrokerRuntime):
    """One broker, from its start to its stop: an observer of the quorum, with a copy of its log."""

    _node: BrokerNode

    def __init__(self, configuration: Configuration, disk: RealDisk) -> None:
        """Raises ConfigError, StorageError, BitRotError."""
        require_served(configuration)
        self._random = random.Random()
        clock_ms = clock()
        with ExitStack() as undone:
            self._locks = lock_directories(disk, configuration.all_directories)
            for lock in self._locks:
                undone.callback(lock.close)
            identities = read_directories(disk, configuration.all_directories, configuration.node_id)
            cluster_id = identities[configuration.metadata_log_dir].cluster_id
            self._storage = QuorumStorage.open(disk, configuration.metadata_log_dir, storage_settings(configuration))
            undone.callback(self._storage.close)
            bootstrap = read_bootstrap_records(disk, configuration.metadata_log_dir)
            logs = logs_of(configuration, disk)
            log_dirs = ids_of(identities, configuration.log_dirs)
            node = self._made(configuration, cluster_id, logs, log_dirs)
            super().__init__(configuration, node, logs, cluster_id, bootstrap, clock_ms, log_dirs)
            undone.pop_all()
        self._disk_work = DiskWork(self._storage, node, self._loop, clock_ms, lambda took_s: None)
        self._peers = Peers(
            addresses_of(configuration), f"broker-{configuration.node_id}",
            configuration.controller_quorum_request_timeout_ms, MOST_ANSWER_BYTES, self._loop.begin,
            self._on_quorum_response, access_of(configuration),
        )  # fmt: skip

    def _made(
        self, configuration: Configuration, cluster_id: str, logs: StoredReplicaLogs, log_dirs: Mapping[str, UUID]
    ) -> BrokerNode:
        """The node, by what its directories have. Raises StorageError."""
        broker = broker_of(configuration, cluster_id, logs, log_dirs)
        raft = Raft(raft_settings(configuration, cluster_id), self._storage.election, recovered_ends(self._storage))
        return recovered_broker_node(raft, broker, self._storage, MetadataCodec(), snapshot_settings(configuration))

    async def _close_metadata(self) -> None:
        self._peers.close()
        await self._disk_work.ended()

    def _unlock(self) -> None:
        self._storage.close()
        for lock in self._locks:
            lock.close()

    @property
    def _snapshots(self) -> Snapshots:
        return self._storage.snapshots

    def _look(self) -> None:
        self._say("quorum", {"epoch": self._node.raft.voter.epoch, "leader": self._node.leader})
        super()._look()

    def _on_timer(self, timer: Any, now_ms: int) -> BrokerEffects:
        match timer:
            case (Timer() as of_quorum, peer):
                return self._node.on_timer(of_quorum, now_ms, peer)
        return self._node.on_timer(timer, now_ms)

    def _carry_out(self, effect: BrokerEffect) -> None:
        match effect:
            case Send(to=to, request=request):
                self._peers.send(to, request)
            case SendToController() | SetBrokerTimer():
                super()._carry_out(effect)
            case SetTimer(timer=timer, at_ms=at_ms, spread_ms=spread_ms, peer=peer):
                self._loop.set_timer((timer, peer), at_ms + self._random.randint(0, spread_ms))
            case _:
                self._disk_work.carry_out(effect)  # type: ignore[arg-type]

    def _on_quorum_response(self, to: int, request: Request, response: Response | None) -> None:
        self._loop.post(lambda now_ms: self._node.on_response(to, request, response, now_ms))
