"""The metadata of a live quorum: what is committed, fetched from its leader by a client that is no replica."""

from __future__ import annotations

from collections.abc import Iterator

from impl.kraft.continuity import check_batches
from impl.kraft.image import Image
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.node.codec import batch_of, snapshot_of
from impl.kraft.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
)
from impl.kraft.server.quorum_wire import VERSIONS, key_of, read_response, request_bytes
from impl.kraft.snapshot import load_snapshot, snapshot_records
from impl.kraft.storage.batches import decode_all
from impl.kraft.storage.sizes import SnapshotId
from impl.kraft.storage.snapshots import data_batches
from impl.kraft.tools.connection import Connection, RefusedError, refuse
from impl.kraft.tools.metadata_quorum import CONTROLLERS, NOBODY, ask
from impl.runtime.wire import WireError

_WAIT_MS, _FETCH_BYTES, _MOST_BYTES = 1, 1 << 20, 100 << 20
"""Of a fetch; a batch is sent whole, and may be large where a decision was."""


def live_records(connection: Connection) -> Iterator[MetadataRecord]:
    """Those that a snapshot would have now. Raises RefusedError, WireError, OSError, ValueError."""
    codec = MetadataCodec()
    for record in snapshot_records(fetched_image(connection, codec)):
        yield decode(codec.encode(record))


def fetched_image(connection: Connection, codec: MetadataCodec) -> Image:
    cluster_id, described, quorum = ask(connection, CONTROLLERS)
    listener = next(node.listeners[0] for node in described.nodes if node.node_id == quorum.leader_id)
    leader = connection._replace(nodes=((listener.host, int(listener.port)),), most_bytes=_MOST_BYTES)
    epoch, end, image = int(quorum.leader_epoch), int(quorum.high_watermark), Image()
    while image.offset + 1 < end:
        fetch = FetchRequest(cluster_id, NOBODY, epoch, image.offset + 1, image.epoch, -1, _WAIT_MS, _FETCH_BYTES)
        found = answered(leader, fetch)
        assert isinstance(found, FetchResponse)
        if found.snapshot_id is not None:
            data = snapshot_bytes(leader, cluster_id, epoch, found.snapshot_id)
            stored = data_batches(data, found.snapshot_id[1])
            image = load_snapshot(snapshot_of(found.snapshot_id, stored, codec))
            continue
        batches = [batch_of(one, codec) for one in decode_all(found.records) if one.end_offset <= end]
        if not batches:
            raise RefusedError("The leader sends nothing that is committed: ask again.")
        check_batches(image, batches)
        for batch in batches:
            image.replay(batch)
    return image


def snapshot_bytes(leader: Connection, cluster_id: str, epoch: int, snapshot_id: SnapshotId) -> bytes:
    data = b""
    while True:
        piece = answered(leader, FetchSnapshotRequest(cluster_id, NOBODY, epoch, snapshot_id, len(data), _FETCH_BYTES))
        assert isinstance(piece, FetchSnapshotResponse)
        data += piece.data
        if len(data) >= piece.size_bytes:
            return data
        if not piece.data:
            raise WireError(f"a snapshot of {piece.size_bytes} bytes ends after {len(data)}")


def answered(leader: Connection, request: Request) -> Response:
    key = key_of(request)
    response = read_response(request, leader.body(key, VERSIONS[key], request_bytes(request)))
    refuse(int(response.error), None, "send its metadata")
    return response
