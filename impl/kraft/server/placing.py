"""A broker says in which log directories its replicas are, where the metadata has it otherwise (KIP-858).

With one log directory the controller knows; with several the broker chooses. A broker that registered before the
cluster's level knew directories registers again, with those that it has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from uuid import UUID

from impl.kraft.broker import Broker
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AssignReplicasToDirsRequest, BrokerRegistrationRequest, ReplicaDirectory
from impl.kraft.server.controller_channel import LOST, ControllerChannel
from impl.kraft.server.replica_logs import StoredReplicaLogs
from impl.runtime.logs import log

_EVERY_S = 0.5
_MOST_REPLICAS = 2_250
"""Of one request (AssignmentsManager.MAX_ASSIGNMENTS_PER_REQUEST)."""

logger = logging.getLogger(__name__)


class Placing:
    """log_dirs: by path, the ids of log directories."""

    def __init__(
        self, broker: Broker, logs: StoredReplicaLogs, channel: ControllerChannel, log_dirs: Mapping[str, UUID]
    ) -> None:
        self._broker, self._logs, self._channel, self._log_dirs = broker, logs, channel, log_dirs
        self._looked_offset = -1

    async def run(self) -> None:
        """Look again and again whether there is something to say."""
        while True:
            await asyncio.sleep(_EVERY_S)
            if self._broker.applied_offset not in (-1, self._looked_offset):
                await self._look(self._broker.applied_offset)

    async def _look(self, offset: int) -> None:
        request = self.next_request()
        if request is None:
            self._looked_offset = offset
            return
        try:
            response = await self._channel.send(request)
        except LOST:
            return
        log(logger, "log directories", {"request": type(request).__name__, "answer": ErrorCode(response.error).name})

    def next_request(self) -> AssignReplicasToDirsRequest | BrokerRegistrationRequest | None:
        """What there is to say first; None where the metadata has all of it."""
        broker, image = self._broker, self._broker.image
        registration = image.registrations.get(broker.broker_id)
        if not image.knows_directories or registration is None or registration.broker_epoch != broker.broker_epoch:
            return None
        if not registration.log_dirs:
            return broker.lifecycle.registration()
        replicas = tuple(self._misplaced()[:_MOST_REPLICAS])
        return AssignReplicasToDirsRequest(broker.broker_id, broker.broker_epoch, replicas) if replicas else None

    def _misplaced(self) -> list[ReplicaDirectory]:
        """Replicas that the metadata has elsewhere than they are, by directory."""
        found = []
        for key in self._broker.logs:
            partition, path = self._broker.image.partitions.get(key), self._logs.directory_of(key)
            if partition is None or path is None or self._broker.broker_id not in partition.replicas:
                continue
            if partition.directory_of(self._broker.broker_id) != self._log_dirs[path]:
                found.append(ReplicaDirectory(self._log_dirs[path], *key))
        return sorted(found, key=lambda one: (one.directory.int, one.topic_id.int, one.partition_id))
