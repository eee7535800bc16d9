"""A process that is controller and broker (process.roles=broker,controller): one id, one log of metadata for both."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from impl.kraft.config.configuration import Configuration
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Applied, BrokerEffects, HostedBroker
from impl.kraft.server.broker_server import BrokerRuntime, broker_of, logs_of, require_served
from impl.kraft.server.server import ControllerServer, clock
from impl.kraft.storage.directories import ids_of
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.sizes import SnapshotId
from impl.kraft.storage.snapshots import Snapshots


class HostedBrokerServer(BrokerRuntime):
    """Its broker. What is committed the controller's node says; it asks the active controller as any broker does."""

    _node: HostedBroker

    def __init__(self, configuration: Configuration, disk: RealDisk, host: ControllerServer) -> None:
        """Raises ConfigError, StorageError."""
        require_served(configuration)
        self._host = host
        logs = logs_of(configuration, disk)
        log_dirs = ids_of(host.identities, configuration.log_dirs)
        broker = broker_of(configuration, host.cluster_id, logs, log_dirs)
        node = HostedBroker(host.raft, broker, MetadataCodec())
        super().__init__(configuration, node, logs, host.cluster_id, host.bootstrap, clock(), log_dirs)
        self.has_begun = asyncio.Event()
        host.tell(self)

    def close(self) -> None:
        """Of one that never ran."""
        self._logs.close(flushed=False)

    def apply(self, applied: Applied) -> None:
        """What is committed."""
        self._loop.post(lambda now_ms: self._node.apply(applied, now_ms))

    def load(self, snapshot_id: SnapshotId) -> None:
        """The controller has this snapshot in place of a log."""
        stored = list(self._snapshots.read(snapshot_id))
        self._loop.post(lambda now_ms: self._node.load(snapshot_id, stored, now_ms))

    @property
    def _snapshots(self) -> Snapshots:
        return self._host.storage.snapshots

    def _begin(self, now_ms: int) -> BrokerEffects:
        effects = super()._begin(now_ms)
        self.has_begun.set()
        return effects

    def _serve_metrics(self, until_end: ExitStack) -> None:
        """With the controller's, which serves them."""
        self._measure(self._host.registry)


class CombinedServer:
    """Both, from their start to their stop. The one does not outlive the other."""

    def __init__(self, configuration: Configuration, disk: RealDisk) -> None:
        """Raises ConfigError, StorageError, BitRotError."""
        self._controller = ControllerServer(configuration, disk)
        try:
            self._broker = HostedBrokerServer(configuration, disk, self._controller)
        except BaseException:
            self._controller.close()
            raise

    def stop(self) -> None:
        """The broker first: the controller moves what it leads."""
        self._broker.stop()

    def close(self) -> None:
        """Of one that never ran."""
        self._broker.close()
        self._controller.close()

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where an address is taken, StorageError, BrokerEndedError."""
        broker = asyncio.create_task(self._broker.run())
        begun = asyncio.create_task(self._broker.has_begun.wait())
        await asyncio.wait((broker, begun), return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if broker.done():
            self._controller.close()
            return await broker
        controller = asyncio.create_task(self._controller.run())
        await asyncio.wait((broker, controller), return_when=asyncio.FIRST_COMPLETED)
        if broker.done():
            self._controller.stop()
        else:
            broker.cancel()  # there is no metadata any more
        results = await asyncio.gather(broker, controller, return_exceptions=True)
        failures = [one for one in results if isinstance(one, Exception)]
        if failures:
            raise failures[0]
        return None
