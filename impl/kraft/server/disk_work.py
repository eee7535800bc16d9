"""What a node asks of its metadata directory, beside the steps: flushes in a thread, snapshots in slices."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import BrokerNode, Node, WriteSnapshot, snapshot_batches
from impl.kraft.raft.effects import LoadSnapshot
from impl.kraft.server.raw_trace import RawTrace
from impl.kraft.storage.effects import DiskEffect, Flush, carry_out
from impl.kraft.storage.log import PendingFlush
from impl.kraft.storage.sizes import SnapshotId, StoredSizes
from impl.kraft.storage.snapshots import SnapshotWriter
from impl.kraft.storage.storage import QuorumStorage
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop

logger = logging.getLogger(__name__)


class DiskWork:
    """Of one node. flushed: is told how long each flush took, in seconds. trace: of the node, if it keeps one."""

    def __init__(
        self, storage: QuorumStorage, node: Node | BrokerNode, loop: CoreLoop[Any], clock_ms: Callable[[], int],
        flushed: Callable[[float], None], trace: RawTrace | None = None,
    ) -> None:  # fmt: skip
        self._storage, self._node, self._loop = storage, node, loop
        self._clock_ms, self._took, self._trace = clock_ms, flushed, trace
        self._flushing: asyncio.Task[None] | None = None
        self._flush_again = False
        self._at_disk = set[asyncio.Future[None]]()
        """What runs in threads, and so goes on where a task is cancelled."""

    def carry_out(self, effect: DiskEffect | LoadSnapshot | WriteSnapshot) -> None:
        """Raises StorageError."""
        match effect:
            case Flush():
                self._flush()
            case LoadSnapshot(snapshot_id=snapshot_id):
                stored = self._storage.snapshots.read(snapshot_id)
                self._loop.post(lambda now_ms: self._node.load(snapshot_id, stored, now_ms), first=True)
            case WriteSnapshot():
                self._begin_snapshot(effect)
            case _:
                carry_out(self._storage, (effect,), self._flushed, self._frozen, self._measured, _nothing_else)

    async def ended(self) -> None:
        """What runs in threads has ended once this returns."""
        await asyncio.gather(*self._at_disk, return_exceptions=True)

    def _flush(self) -> None:
        """In a thread, one at a time: what is appended meanwhile is flushed next."""
        if self._flushing is not None:
            self._flush_again = True
            return
        self._flushing = self._loop.begin(self._run_flush(self._storage.begin_flush()))

    async def _run_flush(self, pending: PendingFlush) -> None:
        began = time.monotonic()
        await self._in_thread(pending.run)
        self._took(time.monotonic() - began)
        self._flushed(self._storage.finish_flush(pending))
        self._flushing = None
        if self._flush_again:
            self._flush_again = False
            self._flush()

    async def _in_thread(self, work: Callable[[], None]) -> None:
        """Raises StorageEndedError where it fails."""
        at_disk = asyncio.get_running_loop().run_in_executor(None, work)
        self._at_disk.add(at_disk)
        at_disk.add_done_callback(self._at_disk.discard)
        try:
            await asyncio.shield(at_disk)
        except OSError as error:
            raise self._storage.failed(error) from error

    def _begin_snapshot(self, effect: WriteSnapshot) -> None:
        log(logger, "snapshot begun", {"end": effect.snapshot_id[0], "epoch": effect.snapshot_id[1]})
        with self._storage.writing_snapshot():
            writer = self._storage.create_snapshot(effect.snapshot_id, effect.last_contained_ms, self._clock_ms())
        self._loop.begin(self._write_snapshot(effect, writer))

    async def _write_snapshot(self, effect: WriteSnapshot, writer: SnapshotWriter) -> None:
        """In slices, between which others are served."""
        try:
            for records in snapshot_batches(effect.image, MetadataCodec()):
                with self._storage.writing_snapshot():
                    writer.append(records)
                await asyncio.sleep(0)
            with self._storage.writing_snapshot():
                writer.end()
        except BaseException:
            writer.close()
            raise
        await self._in_thread(writer.sync)
        with self._storage.writing_snapshot():
            writer.commit()
        log(logger, "snapshot written", {"end": effect.snapshot_id[0], "epoch": effect.snapshot_id[1]})
        self._loop.post(lambda now_ms: self._node.on_snapshot(effect.snapshot_id, now_ms))

    def _measured(self, sizes: StoredSizes) -> None:
        self._loop.post(lambda now_ms: self._node.on_measured(sizes, now_ms))

    def _flushed(self, end_offset: int) -> None:
        if self._trace is not None:
            self._trace.flushed(end_offset)
        self._loop.post(lambda now_ms: self._node.on_flushed(end_offset, now_ms))

    def _frozen(self, snapshot_id: SnapshotId, is_whole: bool) -> None:
        self._loop.post(lambda now_ms: self._node.on_frozen(snapshot_id, is_whole, now_ms))


def _nothing_else(effect: object) -> None:
    raise AssertionError(f"no effect on the disk: {effect}")
