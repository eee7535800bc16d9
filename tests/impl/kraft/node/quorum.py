"""Three nodes on simulated disks, whose messages a test passes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from impl.kraft.controller import ControllerSettings
from impl.kraft.effects import Reply
from impl.kraft.messages import Request, Response
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Node, NodeEffects, SnapshotSettings, WriteSnapshot, snapshot_batches
from impl.kraft.node.housekeeping import CLEAN_TIMER
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import Answer, AnswerFetch, AnswerSnapshot, LoadSnapshot, Send, Timer
from impl.kraft.raft.messages import Request as QuorumRequest
from impl.kraft.raft.messages import Response as QuorumResponse
from impl.kraft.recovered import recovered_ends, recovered_node
from impl.kraft.storage.effects import carry_out
from impl.kraft.storage.log import LogSettings
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.sizes import SnapshotId, StoredSizes
from impl.kraft.storage.storage import QuorumStorage, StorageSettings

DIRECTORY = "/data"
VOTERS = (0, 1, 2)


@dataclass(frozen=True)
class Message:
    """A request, or with its response on the way back."""

    sender: int
    to: int
    request: QuorumRequest
    response: QuorumResponse | None = None


class Quorum:
    """replies: of each node, by call. snapshots: those that nodes write, and what they keep."""

    def __init__(
        self, piece_bytes: int = 1 << 20, segment_bytes: int = 1 << 20, snapshots: SnapshotSettings | None = None
    ) -> None:
        self.now_ms = 0
        self.piece_bytes, self.segment_bytes, self.snapshots = piece_bytes, segment_bytes, snapshots
        self.replies: dict[int, dict[int, Response]] = {voter: {} for voter in VOTERS}
        self.under_way: deque[Message] = deque()
        self._calls: list[Message] = []
        self.disks = [formatted() for _ in VOTERS]
        self.storages = [opened(disk, segment_bytes) for disk in self.disks]
        self.nodes = [self._node(voter) for voter in VOTERS]
        for voter in VOTERS:
            self.carry_out(voter, self.nodes[voter].start(0))

    def _node(self, voter: int) -> Node:
        storage = self.storages[voter]
        raft_settings = RaftSettings(voter, VOTERS, uses_prevote=False, fetch_snapshot_max_bytes=self.piece_bytes)
        raft = Raft(raft_settings, storage.election, recovered_ends(storage))
        return recovered_node(raft, ControllerSettings(""), storage, MetadataCodec(), self.snapshots)

    def write_snapshot(self, voter: int, *, deletes: bool) -> SnapshotId:
        """Of what the node has applied, though none is due. deletes: what it stands for goes at once."""
        image = self.nodes[voter].controller.committed
        snapshot_id = image.offset + 1, image.epoch
        self.write(voter, WriteSnapshot(snapshot_id, 0, image))
        if deletes:
            self.nodes[voter].raft.delete_before(snapshot_id, self.now_ms)
            self.storages[voter].delete_before(snapshot_id)
        return snapshot_id

    def write(self, voter: int, effect: WriteSnapshot) -> None:
        writer = self.storages[voter].create_snapshot(effect.snapshot_id, effect.last_contained_ms, self.now_ms)
        for records in snapshot_batches(effect.image, MetadataCodec(), 2):
            writer.append(records)
        writer.freeze()
        self.carry_out(voter, self.nodes[voter].on_snapshot(effect.snapshot_id, self.now_ms))

    def clean(self, voter: int) -> None:
        """The node looks what is old."""
        self.carry_out(voter, self.nodes[voter].on_timer(CLEAN_TIMER, self.now_ms))

    def restart(self, voter: int) -> None:
        """The process ends, and the next one finds what is on its disk."""
        self.disks[voter] = self.disks[voter].after_kill()
        self.storages[voter] = opened(self.disks[voter], self.segment_bytes)
        self.nodes[voter] = self._node(voter)
        self.carry_out(voter, self.nodes[voter].start(self.now_ms))

    def elect(self, voter: int, *, cut_off: Collection[int] = ()) -> None:
        self.carry_out(voter, self.nodes[voter].on_timer(Timer.ELECTION, self.now_ms))
        self.settle(cut_off)
        assert self.nodes[voter].controller.is_active

    def ask(self, voter: int, call: int, request: Request) -> None:
        self.carry_out(voter, self.nodes[voter].handle(call, request, self.now_ms))

    def carry_out(self, voter: int, effects: NodeEffects) -> None:
        """What a flush leads to comes once all that was asked for before is done."""
        node, ended = self.nodes[voter], list[Callable[[], NodeEffects]]()

        def on_flushed(end_offset: int) -> None:
            ended.append(lambda: node.on_flushed(end_offset, self.now_ms))

        def on_frozen(snapshot_id: SnapshotId, is_whole: bool) -> None:
            ended.append(lambda: node.on_frozen(snapshot_id, is_whole, self.now_ms))

        def on_measured(sizes: StoredSizes) -> None:
            ended.append(lambda: node.on_measured(sizes, self.now_ms))

        carry_out(
            self.storages[voter], effects, on_flushed, on_frozen, on_measured, lambda effect: self._do(voter, effect)
        )
        for hand_in in ended:
            self.carry_out(voter, hand_in())

    def _do(self, voter: int, effect: object) -> None:
        match effect:
            case Send(to=to, request=request):
                self.under_way.append(Message(voter, to, request))
            case Answer(call=call, response=response):
                self._answer(call, response)
            case AnswerFetch(call=call, response=response, offset=offset, max_bytes=max_bytes):
                records = self.storages[voter].log.read(offset, max_bytes)
                self._answer(call, replace(response, records=records))
            case AnswerSnapshot(call=call, response=piece, snapshot_id=snapshot_id, max_bytes=max_bytes):
                found = self.storages[voter].snapshots.piece(snapshot_id, piece.position, max_bytes)
                self._answer(call, effect.with_data(*found))
            case LoadSnapshot(snapshot_id=snapshot_id):
                stored = self.storages[voter].snapshots.read(snapshot_id)
                self.carry_out(voter, self.nodes[voter].load(snapshot_id, stored, self.now_ms))
            case WriteSnapshot():
                self.write(voter, effect)
            case Reply(call=call, response=reply):
                self.replies[voter][call] = reply

    def _answer(self, call: int, response: QuorumResponse) -> None:
        self.under_way.append(replace(self._calls[call], response=response))

    def settle(self, cut_off: Collection[int] = ()) -> None:
        """Pass on what is under way, until all fetches wait. What is from or for a node that is cut off waits, too."""
        self.now_ms += 1
        kept: list[Message] = []
        while self.under_way:
            message = self.under_way.popleft()
            if {message.sender, message.to} & set(cut_off):
                kept.append(message)
            elif message.response is None:
                self._hand_in(message)
            else:
                node = self.nodes[message.sender]
                effects = node.on_response(message.to, message.request, message.response, self.now_ms)
                self.carry_out(message.sender, effects)
        self.under_way += kept

    def _hand_in(self, message: Message) -> None:
        self._calls.append(message)
        effects = self.nodes[message.to].handle_quorum(len(self._calls) - 1, message.request, self.now_ms)
        self.carry_out(message.to, effects)


def formatted() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory(DIRECTORY)
    disk.sync_directory("/")
    return disk


def opened(disk: SimulatedDisk, segment_bytes: int) -> QuorumStorage:
    return QuorumStorage.open(disk, DIRECTORY, StorageSettings(LogSettings(segment_bytes), reserve_bytes=0))
