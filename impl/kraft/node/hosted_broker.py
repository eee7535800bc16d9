"""The core of a broker in a controller's process (process.roles=broker,controller), which has one log for both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from impl.kraft.broker import Broker, FetchRequest, FetchResponse
from impl.kraft.broker import Timer as BrokerTimer
from impl.kraft.broker.core import BrokerRequest, BrokerResponse
from impl.kraft.messages import Request, Response
from impl.kraft.node.broker_node import of_broker
from impl.kraft.node.codec import RecordCodec, batch_of, snapshot_of
from impl.kraft.node.effects import Applied, BrokerEffects
from impl.kraft.raft import Raft
from impl.kraft.storage.batches import RecordBatch, decode
from impl.kraft.storage.sizes import SnapshotId


class HostedBroker:
    """A broker that the node of a controller tells what is committed. Inputs are as those of `BrokerNode`.

    raft, broker: to be read only.
    """

    def __init__(self, raft: Raft, broker: Broker, codec: RecordCodec) -> None:
        """raft: of the controller."""
        self.raft = raft
        self.broker = broker
        self._codec = codec

    @property
    def leader(self) -> int | None:
        """The active controller, as far as this process has heard."""
        return self.raft.voter.election.leader

    # Inputs.

    def start(self, now_ms: int) -> BrokerEffects:
        return [*of_broker(self.broker.start(now_ms))]

    def recovered(self, now_ms: int) -> BrokerEffects:
        return [*of_broker(self.broker.recovered(now_ms))]

    def shut_down(self, now_ms: int) -> BrokerEffects:
        return [*of_broker(self.broker.shut_down(now_ms))]

    def on_controller_response(self, request: Request, response: Response | None, now_ms: int) -> BrokerEffects:
        asked, answer = cast(BrokerRequest, request), cast(BrokerResponse | None, response)
        return [*of_broker(self.broker.on_response(asked, answer, now_ms))]

    def on_timer(self, timer: BrokerTimer, now_ms: int) -> BrokerEffects:
        return [*of_broker(self.broker.on_timer(timer, now_ms))]

    def on_fetch(self, request: FetchRequest, now_ms: int) -> tuple[FetchResponse, BrokerEffects]:
        response, effects = self.broker.on_fetch(request, now_ms)
        return response, [*of_broker(effects)]

    def apply(self, applied: Applied, now_ms: int) -> BrokerEffects:
        """What the controller's node says. Batches that a snapshot had already are passed over."""
        batches = [batch_of(decode(data), self._codec) for data in applied.batches]
        new = [batch for batch in batches if batch.base_offset > self.broker.image.offset]
        return [*of_broker(self.broker.replay(new, applied.end_offset, now_ms))]

    def load(self, snapshot_id: SnapshotId, stored: Iterable[RecordBatch], now_ms: int) -> BrokerEffects:
        """The log begins anew behind a snapshot."""
        snapshot = snapshot_of(snapshot_id, stored, self._codec)
        return [*of_broker(self.broker.load(snapshot, snapshot_id[0], now_ms))]
