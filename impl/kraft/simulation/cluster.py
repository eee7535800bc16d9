"""A run of whole nodes: voters with their controllers, brokers that observe them, and operators who ask.

The first numbers are the voters', the next the brokers', whose ids they are. What the quorum is held to holds here, too
(`invariants`); what is committed, and each image of it, is held to `metadata_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from impl.kraft.broker import Broker, BrokerSettings, BrokerState, ReplicaLog
from impl.kraft.controller import ControllerSettings
from impl.kraft.effects import Reply
from impl.kraft.effects import Send as SendToController
from impl.kraft.effects import SetTimer as SetOwnTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ListPartitionReassignmentsRequest,
    Request,
    Response,
)
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import BrokerNode, Node, SnapshotSettings, WriteSnapshot, snapshot_batches, snapshot_of
from impl.kraft.raft import Raft
from impl.kraft.raft.effects import (
    Answer,
    AnswerSnapshot,
    AppendToLog,
    DeleteBefore,
    DeleteLeftovers,
    Flush,
    FreezeSnapshot,
    InstallSnapshot,
    LoadSnapshot,
    MeasureStorage,
    Persist,
    ReceiveSnapshot,
    Send,
    SetTimer,
    TruncateLog,
)
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.recovered import recovered_node
from impl.kraft.simulation import chaos, operators
from impl.kraft.simulation.core import Core, WholeNode
from impl.kraft.simulation.housekeeping_rules import HousekeepingRules
from impl.kraft.simulation.invariants import NotRecoveredError, hold
from impl.kraft.simulation.metadata_rules import MetadataRules
from impl.kraft.simulation.replicas import (
    FETCH_BYTES,
    FETCH_MS,
    Replicas,
    fetch_now_and_then,
    left_logs,
    look_whether_alike,
    produce,
)
from impl.kraft.simulation.simulation import Handed, Simulation
from impl.kraft.simulation.stranger import hear_stranger
from impl.kraft.simulation.swarm import ELECTION_MS, QUIET_MS, Kind, Plan, Step
from impl.kraft.storage.batches import Record, RecordBatch
from impl.kraft.storage.sizes import SegmentSize, SnapshotId, SnapshotSize, StoredSizes
from impl.kraft.storage.snapshots import SnapshotWriter, data_batches
from impl.kraft.storage.storage import QuorumStorage

SESSION_MS = 5 * ELECTION_MS
RECOVERY_MS = ELECTION_MS
CONTROLLER = ControllerSettings("", SESSION_MS, max_idle_interval_ms=SESSION_MS)
SNAPSHOT_RECORDS = 3
"""A batch of a snapshot, so that small ones take several, too."""


class Cluster(Simulation):
    """A run of a plan with brokers."""

    def __init__(self, plan: Plan, watch: Callable[[str], None] | None = None) -> None:
        super().__init__(plan, watch)
        self.metadata = MetadataRules()
        self.snapshots = SnapshotSettings(
            plan.swarm.snapshot_bytes,
            plan.swarm.snapshot_ms,
            plan.swarm.retention_bytes,
            plan.swarm.retention_ms,
            plan.swarm.clean_ms,
        )
        self.housekeeping = HousekeepingRules(self.snapshots)
        self.replicas = Replicas()
        self.nodes += [self._formatted() for _ in range(plan.swarm.brokers)]
        self.answered_ends: list[int] = []
        self._replica_logs: dict[int, Mapping[PartitionKey, ReplicaLog]] = {}
        self._replies: list[Reply] = []
        self._loads: list[SnapshotId] = []
        self._writes: list[WriteSnapshot] = []
        self._of_brokers: dict[int, list[SnapshotSize]] = {}
        self._received: dict[int, bytes] = {}
        self._recovering: set[tuple[int, int]] = set()

    def is_broker(self, number: int) -> bool:
        return number >= self.swarm.voters

    def core(self, number: int) -> WholeNode:
        core = self.nodes[number].raft
        assert isinstance(core, WholeNode)
        return core

    # Processes.

    def core_of(self, raft: Raft, storage: QuorumStorage) -> Core:
        number, latest = raft.voter.node_id, storage.snapshots.latest
        self.housekeeping.start(number, 0 if latest is None else latest[0], self.clock_ms(number))
        return WholeNode(self.node_of(raft, storage))

    def node_of(self, raft: Raft, storage: QuorumStorage) -> Node:
        return recovered_node(raft, CONTROLLER, storage, MetadataCodec(), self.snapshots)

    def recover(self, number: int) -> None:
        if not self.is_broker(number):
            super().recover(number)
            return
        node, raft = self.nodes[number], Raft(self.raft_settings(number), None, LogEnds())
        broker = self.made_broker(number)
        node.raft = WholeNode(BrokerNode(raft, broker, MetadataCodec(), snapshots=self.snapshots))
        self.housekeeping.start(number, 0, self.clock_ms(number))
        self._of_brokers[number] = []
        self.note(number, "start")
        self.replicas.start(broker)
        self.hand_in(number, lambda core: core.start(self.clock_ms(number)))
        fetch_now_and_then(self, number)

    def made_broker(self, number: int) -> Broker:
        """The core of a process that begins, on the logs that the last one has left."""
        self.numbers += 1
        return Broker(broker_settings(number), UUID(int=self.numbers), self.left_logs(number))

    def left_logs(self, number: int) -> dict[PartitionKey, ReplicaLog]:
        return left_logs(self._replica_logs.get(number, {}))

    def forget(self, number: int) -> None:
        if not self.is_broker(number):
            super().forget(number)

    def stop(self, number: int, *, loses_power: bool) -> None:
        """Of a broker, the logs of its partitions are what its disk keeps; the metadata it fetches again."""
        core = self.nodes[number].raft
        if isinstance(core, WholeNode) and isinstance(core.node, BrokerNode):
            self._replica_logs[number] = core.node.broker.logs
        super().stop(number, loses_power=loses_power)

    def carry_out_step(self, step: Step) -> None:
        number = self.swarm.voters + step.node
        match step.kind:
            case Kind.STRANGER:
                observer = self.swarm.voters + step.node % self.swarm.brokers
                heard = partial(hear_stranger, self, observer, Random(step.seed))
                self.alive(observer, self.nodes[observer].life, heard)()
            case Kind.BROKER_KILL if self.nodes[number].raft is not None:
                self.stop(number, loses_power=False)
            case Kind.PRODUCE:
                produce(self, number, Random(step.seed))
            case Kind.BROKER_PAUSE:
                chaos.pause(self, number, Random(step.seed))
            case Kind.BROKER_PARTITION:
                chaos.cut_off(self, number, Random(step.seed), len(self.nodes))
            case Kind.BROKER_SHUT_DOWN:
                self.alive(number, self.nodes[number].life, partial(self.shut_down, number))()
            case _:
                super().carry_out_step(step)

    def shut_down(self, number: int) -> None:
        self.note(number, "sigterm")
        self.hand_in(number, lambda _: self.broker_node(number).shut_down(self.clock_ms(number)))

    def broker_node(self, number: int) -> BrokerNode:
        node = self.core(number).node
        assert isinstance(node, BrokerNode)
        return node

    # Nodes and their effects.

    def hand_in(self, number: int, handed: Handed) -> None:
        self._replies, self._loads, self._writes = [], [], []
        super().hand_in(number, handed)

    def carry_out(self, number: int, raft: Core, effect: object) -> None:
        match effect:
            case Reply():
                self._replies.append(effect)  # they leave once it is known what is committed
            case SetOwnTimer(timer=timer, at_ms=at_ms):
                self.set_timer(number, timer, timer, at_ms)
            case SendToController(request=request):
                self.send_to_controller(number, request)
            case LoadSnapshot(snapshot_id=snapshot_id):
                self._loads.append(snapshot_id)
            case WriteSnapshot():
                self._writes.append(effect)  # begun once it is known what is committed
            case MeasureStorage():
                self.after(0, self.alive(number, self.nodes[number].life, partial(self.measure, number)))
            case DeleteBefore(snapshot_id=snapshot_id):
                self.housekeeping.delete(number, self.sizes(number), snapshot_id, self.clock_ms(number))
                self.delete_before(number, snapshot_id)
            case _ if self.is_broker(number):
                self.carry_out_for_broker(number, raft, effect)
            case ReceiveSnapshot() | FreezeSnapshot() | InstallSnapshot() | DeleteLeftovers() | AnswerSnapshot():
                self.carry_out_of_snapshot(number, effect)
            case _:
                super().carry_out(number, raft, effect)

    def carry_out_of_snapshot(self, number: int, effect: object) -> None:
        storage = self.nodes[number].storage
        assert storage is not None
        match effect:
            case ReceiveSnapshot(snapshot_id=snapshot_id, position=position, data=data):
                storage.receive(snapshot_id, position, data)
            case FreezeSnapshot(snapshot_id=snapshot_id):
                frozen = partial(self.freeze, number, snapshot_id)
                self.after(self.delayed(self.swarm.flush_ms), self.alive(number, self.nodes[number].life, frozen))
            case InstallSnapshot(snapshot_id=snapshot_id):
                self.rules.install(number, snapshot_id)
                storage.install(snapshot_id)
            case DeleteLeftovers():
                storage.delete_leftovers()
            case AnswerSnapshot(call=call, response=response, snapshot_id=snapshot_id, max_bytes=max_bytes):
                self.talk.fetches.pieced(number, call, max_bytes)
                piece = storage.snapshots.piece(snapshot_id, response.position, max_bytes)
                self.answer(call, effect.with_data(*piece))

    def freeze(self, number: int, snapshot_id: SnapshotId) -> None:
        storage = self.nodes[number].storage
        assert storage is not None
        with self.ending_with_faults(number):
            is_whole = storage.freeze(snapshot_id)
            self.note(number, "frozen", snapshot_id, is_whole)
            self.hand_in(number, partial(self.frozen, number, snapshot_id, is_whole))

    def frozen(self, number: int, snapshot_id: SnapshotId, is_whole: bool, _: Core) -> Sequence[object]:
        return self.core(number).node.on_frozen(snapshot_id, is_whole, self.clock_ms(number))

    # Snapshots that nodes write, and what they keep.

    def begin_snapshot(self, number: int, effect: WriteSnapshot) -> None:
        """It is written in slices, and other things happen between them."""
        self.note(number, "snapshot", effect.snapshot_id, effect.last_contained_ms)
        self.housekeeping.begin(number, effect, self.clock_ms(number))
        batches, storage = snapshot_batches(effect.image, MetadataCodec(), SNAPSHOT_RECORDS), self.nodes[number].storage
        if self.is_broker(number):
            size_bytes = sum(len(record.value or b"") for records in batches for record in records)
            size = SnapshotSize(effect.snapshot_id, size_bytes, effect.last_contained_ms)
            kept = partial(self.keep_of_broker, number, size)
            self.after(self.delayed(self.swarm.flush_ms), self.alive(number, self.nodes[number].life, kept))
            return
        assert storage is not None
        with storage.writing_snapshot():
            writer = storage.create_snapshot(effect.snapshot_id, effect.last_contained_ms, self.clock_ms(number))
        self.write_later(number, effect.snapshot_id, writer, batches)

    def write_later(
        self, number: int, snapshot_id: SnapshotId, writer: SnapshotWriter, batches: Iterator[tuple[Record, ...]]
    ) -> None:
        def written() -> None:
            storage, records = self.nodes[number].storage, next(batches, None)
            assert storage is not None
            with self.ending_with_faults(number):
                with storage.writing_snapshot():
                    if records is None:
                        writer.freeze()
                    else:
                        writer.append(records)
                if records is None:
                    stored = snapshot_of(snapshot_id, storage.snapshots.read(snapshot_id), MetadataCodec())
                    self.metadata.look_at_snapshot(number, stored)
                    self.snapshot_written(number, snapshot_id)
                else:
                    self.write_later(number, snapshot_id, writer, batches)

        self.after(self.delayed(self.swarm.flush_ms), self.alive(number, self.nodes[number].life, written))

    def keep_of_broker(self, number: int, size: SnapshotSize) -> None:
        self._of_brokers[number].append(size)
        self.snapshot_written(number, size.snapshot_id)

    def snapshot_written(self, number: int, snapshot_id: SnapshotId) -> None:
        self.note(number, "written", snapshot_id)
        self.housekeeping.end(number)
        self.hand_in(number, lambda _: self.core(number).node.on_snapshot(snapshot_id, self.clock_ms(number)))

    def sizes(self, number: int) -> StoredSizes:
        """The metadata log of a broker, which is in memory, has one segment."""
        storage, end_offset = self.nodes[number].storage, self.core(number).voter.log.end_offset
        if self.is_broker(number) or storage is None:
            return StoredSizes((SegmentSize(0, end_offset),), tuple(self._of_brokers[number]))
        return storage.sizes()

    def measure(self, number: int) -> None:
        node, life = self.core(number).node, self.nodes[number].life
        with self.ending_with_faults(number):
            sizes = self.sizes(number)
            self.hand_in(number, lambda _: node.on_measured(sizes, self.clock_ms(number)))
            if self.nodes[number].life == life:
                self.housekeeping.look_at_kept(number, self.sizes(number), self.clock_ms(number))

    def delete_before(self, number: int, snapshot_id: SnapshotId) -> None:
        self.note(number, "deletes", snapshot_id)
        storage = self.nodes[number].storage
        if self.is_broker(number) or storage is None:
            kept = [one for one in self._of_brokers[number] if one.snapshot_id >= snapshot_id]
            self._of_brokers[number] = kept
        else:
            storage.delete_before(snapshot_id)

    def carry_out_for_broker(self, number: int, raft: Core, effect: object) -> None:
        """The metadata log of a broker is in memory."""
        match effect:
            case Flush():
                end = raft.voter.log.end_offset
                flushed = partial(self.hand_in, number, lambda core: core.on_flushed(end, self.clock_ms(number)))
                self.after(0, self.alive(number, self.nodes[number].life, flushed))
            case Send(to=to, request=request):
                self.send(number, to, request)
            case Answer(call=call, response=response):
                self.answer(call, response)
            case SetTimer(timer=timer, at_ms=at_ms, spread_ms=spread_ms, peer=peer):
                self.set_timer(number, timer, timer.value, at_ms + self.rng.randint(0, spread_ms), peer)
            case ReceiveSnapshot(position=position, data=data):
                self._received[number] = self._received.get(number, b"")[:position] + data
            case FreezeSnapshot(snapshot_id=snapshot_id):
                frozen = partial(self.hand_in, number, partial(self.frozen, number, snapshot_id, True))
                self.after(0, self.alive(number, self.nodes[number].life, frozen))
            case _:
                kept_in_memory = Persist | AppendToLog | TruncateLog | InstallSnapshot | DeleteLeftovers
                assert isinstance(effect, kept_in_memory), effect

    def look_at(self, number: int, raft: Core) -> None:
        node = self.core(number).node
        for snapshot_id in self._loads:
            for effect in node.load(snapshot_id, self.stored(number, snapshot_id), self.clock_ms(number)):
                self.carry_out(number, raft, effect)
            self.housekeeping.load(number, snapshot_id[0], self.clock_ms(number))
        if isinstance(node, BrokerNode):
            self.metadata.look_at_broker(number, node.broker)
            self.replicas.look_at(node.broker, self.metadata.image)
            self.look_at_snapshots(number, raft.voter.log)
            self.go_on_living(number, node)
            return
        end = raft.voter.high_watermark
        if end > self.rules.applied[number]:
            self.note(number, "committed", end)
            self.rules.commit(number, end, raft.voter)
            storage, replayed = self.nodes[number].storage, self.metadata.end_offset
            assert storage is not None
            if end > replayed:
                data = storage.log.read(replayed)
                self.metadata.commit(data, end)
                self.replicas.look_at_decided(self.metadata.image)
                self.housekeeping.commit(data, end)
        super().look_at(number, raft)
        self.nodes[number].claimed = node.controller.epoch
        self.metadata.look_at_controller(number, node)
        self.look_at_snapshots(number, raft.voter.log)
        for reply in self._replies:
            self.answer(reply.call, reply.response)

    def look_at_snapshots(self, number: int, log: LogEnds) -> None:
        for effect in self._writes:
            self.begin_snapshot(number, effect)
        self.housekeeping.look_at(number, self.core(number).node.applied_end, log, self.clock_ms(number))
        storage = self.nodes[number].storage
        if storage is not None and not self.is_broker(number):
            is_known = list(log.snapshots) == storage.snapshots.ids
            hold(is_known, "KIP-630", f"node {number} takes {log.snapshots} to be there, of {storage.snapshots.ids}")

    def stored(self, number: int, snapshot_id: SnapshotId) -> list[RecordBatch]:
        """The data of a snapshot that was received."""
        self.note(number, "loads", snapshot_id)
        storage = self.nodes[number].storage
        if self.is_broker(number) or storage is None:
            return data_batches(self._received[number], snapshot_id[1])
        return storage.snapshots.read(snapshot_id)

    def go_on_living(self, number: int, node: BrokerNode) -> None:
        """Who has recovered its logs says so, and who may end does."""
        broker, life = node.broker, self.nodes[number].life
        if broker.state is BrokerState.RECOVERY and broker.broker_epoch is not None:
            if (number, life) not in self._recovering:
                self._recovering.add((number, life))
                self.after(RECOVERY_MS, self.alive(number, life, partial(self.recovered, number)))
        elif broker.state is BrokerState.SHUTTING_DOWN:
            broker.stopped()
            self.after(0, self.alive(number, life, partial(self.stop, number, loses_power=False)))

    def recovered(self, number: int) -> None:
        node = self.broker_node(number)
        if node.broker.state is BrokerState.RECOVERY:
            self.hand_in(number, lambda _: node.recovered(self.clock_ms(number)))

    # What operators ask.

    def append_somewhere(self, rng: Random) -> None:
        """Every controller that believes that it is active is asked for something, once it is not paused."""
        for number, node in enumerate(self.nodes):
            if node.claimed is not None:
                self.alive(number, node.life, partial(self.ask, number, self.drawn_request(rng)))()

    def drawn_request(self, rng: Random) -> Request:
        self.numbers += 1
        return operators.draw(rng, self.metadata.image, self.numbers)

    def ask(self, number: int, request: Request) -> None:
        self.describe_reassignments(number)
        if self.nodes[number].raft is None:
            return
        self.note(number, "asked", request)
        asked_ms, began = self.now_ms, self.metadata.end_offset

        def answered(response: Response) -> None:
            self.note(number, "answers", response)
            if response.error is ErrorCode.NONE and (mark := operators.mark_of(request)) is not None:
                self.metadata.find(mark, began)
            if response.error is not ErrorCode.NOT_CONTROLLER and asked_ms > self.swarm.chaos_ms:
                self.answered_ends.append(self.metadata.end_offset)

        self.hand_in(number, partial(self.handle, number, self.called(answered), request))

    def describe_reassignments(self, number: int) -> None:
        """Which reassignments are under way, by a controller that takes itself for active."""

        def answered(response: Response) -> None:
            self.note(number, "describes", response)
            if response.error is ErrorCode.NONE:
                since = self.clients.read_up_to.get(number, 0)
                self.clients.go_on(number, self.metadata.offset_of(response, since))

        request = ListPartitionReassignmentsRequest()
        self.hand_in(number, partial(self.handle, number, self.called(answered), request))

    def handle(self, number: int, call: int, request: Request, core: Core) -> Sequence[object]:
        """Only controllers are asked: nobody leads but a voter."""
        node = self.core(number).node
        assert isinstance(node, Node)
        return node.handle(call, request, self.clock_ms(number))

    # What brokers ask.

    def send_to_controller(self, number: int, request: Request) -> None:
        """Of whoever is active, as far as the broker knows; where it knows nobody, that is given up."""
        node, began = self.broker_node(number), self.metadata.end_offset

        def answered(response: Any, _: Core) -> Sequence[object]:
            if isinstance(request, BrokerRegistrationRequest) and isinstance(response, BrokerRegistrationResponse):
                self.look_at_registration(request, response, began)
            return node.on_controller_response(request, response, self.clock_ms(number))

        if node.leader is None:
            given_up = partial(self.hand_in, number, partial(answered, None))
            self.after(ELECTION_MS, self.alive(number, self.nodes[number].life, given_up))
        else:
            handled = partial(self.handle, node.leader)
            self.exchange(number, node.leader, request, lambda call, core: handled(call, request, core), answered)

    def look_at_registration(
        self, request: BrokerRegistrationRequest, response: BrokerRegistrationResponse, began: int
    ) -> None:
        """S7. A broker that asks again, as the answer was lost, is told of its registration, which may be older."""
        if response.error is ErrorCode.NONE:
            broker_epoch = response.broker_epoch
            mark = "registered", request.broker_id, broker_epoch, request.incarnation_id.int
            self.metadata.find(mark, min(began, broker_epoch))

    # The quiet after the chaos.

    def look_whether_recovered(self) -> None:
        """One is active, operators are answered, all images have what that is about, and all brokers serve."""
        active = [number for number, node in enumerate(self.nodes) if node.claimed is not None]
        if len(active) != 1:
            raise NotRecoveredError(f"not one is active: after {QUIET_MS} ms of quiet {active} are")
        if not self.answered_ends:
            raise NotRecoveredError(f"no operator is answered: in {QUIET_MS} ms of quiet")
        behind = [number for number in range(len(self.nodes)) if self.applied_end(number) < self.answered_ends[-1]]
        if behind:
            raise NotRecoveredError(f"images lack what is answered: of {behind}, after {QUIET_MS} ms of quiet")
        brokers = range(self.swarm.voters, len(self.nodes))
        idle = [number for number in brokers if not self.metadata.image.is_active(number)]
        if idle:
            raise NotRecoveredError(f"brokers are fenced: {idle}, after {QUIET_MS} ms of quiet")
        running = [number for number, node in enumerate(self.nodes) if node.raft is not None]
        late = [number for number in running if self.housekeeping.is_late(number, self.clock_ms(number))]
        if late:
            raise NotRecoveredError(f"nobody looks what is old: of {late}, after {QUIET_MS} ms of quiet")
        look_whether_alike(self)

    def applied_end(self, number: int) -> int:
        if self.nodes[number].raft is None:
            return -1
        return self.core(number).node.applied_end


def broker_settings(number: int) -> BrokerSettings:
    """Times that fit into a run. A broker whose id is another's, or nobody's, ends, and starts again."""
    return BrokerSettings(
        number,
        "",
        heartbeat_interval_ms=ELECTION_MS,
        controlled_shutdown_timeout_ms=20 * ELECTION_MS,
        retry_backoff_ms=ELECTION_MS // 5,
        retry_backoff_max_ms=ELECTION_MS,
        alter_partition_retry_ms=ELECTION_MS // 5,
        replica_lag_time_max_ms=4 * FETCH_MS,
        replica_fetch_max_bytes=FETCH_BYTES,
        stops_when_stale=True,
    )


def simulation_of(plan: Plan, watch: Callable[[str], None] | None = None) -> Simulation:
    """A run of the plan: of a cluster, if it has brokers, else of voters alone."""
    return Cluster(plan, watch) if plan.swarm.brokers else Simulation(plan, watch)
