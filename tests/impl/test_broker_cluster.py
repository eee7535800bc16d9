"""Brokers and the controller together: whatever goes wrong, no record that was acknowledged is lost.

Three broker ids, and a second process for one of them, with a disk of its own. Messages are lost, doubled and late,
processes crash, with or without their disk, and metadata arrives in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from impl.kraft.broker import (
    NEXT_STATE,
    Broker,
    BrokerSettings,
    BrokerState,
    Due,
    InMemoryReplicaLog,
    ReplicaLog,
    Timer,
)
from impl.kraft.broker.core import BrokerRequest
from impl.kraft.controller import ControllerSettings
from impl.kraft.effects import Effects, Send, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey, Registration
from impl.kraft.messages import AlterPartitionRequest, BrokerRegistrationRequest, Request
from impl.kraft.records import NO_LEADER
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime

MIN_INSYNC = 2
SLOTS = {0: 0, 1: 1, 2: 2, 3: 0}
EDGES = {(state, after) for (state, _), after in NEXT_STATE.items()}
slots = st.sampled_from(sorted(SLOTS))
some_slot = st.none() | st.none() | slots


@dataclass(eq=False)
class Process:
    """A broker process, what it has itself reminded of, and what it was last seen to be."""

    slot: int
    broker: Broker
    timers: dict[Timer, int] = field(default_factory=dict)
    state: BrokerState = BrokerState.NOT_RUNNING
    high_watermarks: dict[PartitionKey, tuple[int, int]] = field(default_factory=dict)


@dataclass(eq=False)
class Message:
    """A request under way. late: its sender no longer waits for the response."""

    sender: Process
    request: BrokerRequest
    late: bool = False


@dataclass
class Written:
    """A record that is not acknowledged yet."""

    process: Process
    leader_epoch: int
    end_offset: int
    value: bytes


class Cluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.key = (UUID(int=1), 0)
        self.runtime = ControllerRuntime(
            ControllerSettings(CLUSTER, session_timeout_ms=3_000, min_insync_replicas=MIN_INSYNC)
        )
        self.disks: dict[int, dict[PartitionKey, ReplicaLog]] = {slot: {} for slot in SLOTS}
        self.alive: dict[int, Process] = {}
        self.network: list[Message] = []
        self.owner: dict[int, int] = {}
        self.lives = 0
        self.values = 0
        self.written: list[Written] = []
        self.acknowledged: dict[int, bytes] = {}

    @initialize()
    def run_first(self) -> None:
        for slot in (0, 1, 2):
            self.start(slot)
        self.calm_down(10)
        assert self.runtime.create((0, 1, 2)) == self.key
        self.calm_down(4)

    # What effects come to.

    def perform(self, process: Process, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case SetTimer(timer, at_ms):
                    process.timers[timer] = at_ms
                case Send(request):
                    assert isinstance(request, BrokerRequest), "brokers send nothing else"
                    self.network.append(Message(process, request))
                case _:
                    raise AssertionError(f"a broker does not do this: {effect}")
        state = process.broker.state
        assert state == process.state or (process.state, state) in EDGES
        process.state = state
        if state == BrokerState.SHUTTING_DOWN:
            process.broker.stopped()
            self.end(process, lossy=False)

    def end(self, process: Process, lossy: bool) -> None:
        """End a process: it forgets what is committed, and its logs stay on its disk unless they are lost."""
        logs = {} if lossy else process.broker.logs
        self.disks[process.slot] = {key: InMemoryReplicaLog(log.read(0, 1 << 20)) for key, log in logs.items()}
        del self.alive[process.slot]

    def log(self, slot: int) -> ReplicaLog:
        logs = self.alive[slot].broker.logs if slot in self.alive else self.disks[slot]
        return logs.get(self.key, InMemoryReplicaLog())

    def has_all(self, slot: int) -> bool:
        values = [entry.value for entry in self.log(slot).read(0, 1 << 20)]
        return all(values[offset : offset + 1] == [value] for offset, value in self.acknowledged.items())

    def others_have_all(self, broker_id: int) -> bool:
        """Another member of the ISR has all that was acknowledged."""
        isr = self.runtime.partition(self.key).isr
        return any(member != broker_id and self.has_all(self.owner[member]) for member in isr)

    # Processes.

    @rule(slot=slots)
    def start(self, slot: int) -> None:
        if slot not in self.alive:
            self.lives += 1
            settings = BrokerSettings(
                SLOTS[slot],
                CLUSTER,
                heartbeat_interval_ms=500,
                retry_backoff_max_ms=1_000,
                replica_lag_time_max_ms=2_000,
                min_insync_replicas=MIN_INSYNC,
            )
            process = Process(slot, Broker(settings, UUID(int=10_000 + self.lives), self.disks[slot]))
            self.alive[slot] = process
            self.perform(process, process.broker.start(self.runtime.now_ms))

    @rule(slot=slots, lossy=st.booleans())
    def crash(self, slot: int, lossy: bool) -> None:
        if slot in self.alive:
            self.end(self.alive[slot], lossy and self.others_have_all(SLOTS[slot]))

    @rule(slot=slots, lossy=st.booleans(), lags=st.booleans())
    def restart(self, slot: int, lossy: bool, lags: bool) -> None:
        """A process comes back after a while, and may get no data for as long."""
        self.crash(slot, lossy)
        self.calm_down(8)
        self.start(slot)
        self.calm_down(8, lagging=slot if lags else None)

    @rule(slot=st.sampled_from([0, 3]))
    def supersede(self, slot: int) -> None:
        """While a process is cut off, another one is started for its id, on another disk."""
        self.runtime.pass_time(4_000)
        self.start(slot)
        self.calm_down(6)

    @rule(slot=slots)
    def sigterm(self, slot: int) -> None:
        if slot in self.alive:
            self.perform(self.alive[slot], self.alive[slot].broker.shut_down(self.runtime.now_ms))

    def work(self, slot: int) -> None:
        """Fire the timers that are due, in the order of their times."""
        while slot in self.alive:
            process, now_ms = self.alive[slot], self.runtime.now_ms
            due = sorted((at_ms, timer) for timer, at_ms in process.timers.items() if at_ms <= now_ms)
            if not due:
                break
            del process.timers[due[0][1]]
            self.perform(process, process.broker.on_timer(due[0][1], now_ms))

    @rule(ms=st.sampled_from([100, 1_000, 4_000]))
    def pass_time(self, ms: int) -> None:
        self.runtime.pass_time(ms)

    def fetch_metadata(self, slot: int, batches: int) -> None:
        if slot in self.alive:
            process, log = self.alive[slot], self.runtime.log
            broker = process.broker
            pending = list(log.read(broker.image.offset + 1))[:batches]
            self.perform(process, broker.replay(pending, log.high_watermark, self.runtime.now_ms))
            if broker.state == BrokerState.RECOVERY and broker.broker_epoch is not None:
                self.perform(process, broker.recovered(self.runtime.now_ms))

    # Requests to the controller.

    def deliver(self, index: int, answered: bool) -> None:
        message = self.network.pop(index)
        process, request = message.sender, message.request
        if isinstance(request, BrokerRegistrationRequest):
            self.forfeit(process)
        response = self.runtime.ask(request)
        if holds(self.runtime.image.registrations, process):
            self.owner[process.broker.broker_id] = process.slot
        if self.alive.get(process.slot) is process and not message.late:
            given: Any = response if answered else None
            self.perform(process, process.broker.on_response(request, given, self.runtime.now_ms))

    def forfeit(self, process: Process) -> None:
        """Until ELR, an ISR that comes back without its disk has lost what it had, by design."""
        if self.acknowledged and not self.has_all(process.slot) and not self.others_have_all(SLOTS[process.slot]):
            self.acknowledged.clear()

    def lose(self, index: int) -> None:
        message = self.network.pop(index)
        process = message.sender
        if self.alive.get(process.slot) is process and not message.late:
            self.perform(process, process.broker.on_response(message.request, None, self.runtime.now_ms))

    def copy(self, index: int) -> None:
        message = self.network[index]
        self.network.append(Message(message.sender, message.request, late=True))

    # Data.

    def fetch(self, follower: int, leader: int, answered: bool) -> None:
        if follower in self.alive and leader in self.alive:
            fetching, serving = self.alive[follower].broker, self.alive[leader]
            request = fetching.fetch_request(self.key)
            if request is not None:
                response, effects = serving.broker.on_fetch(request, self.runtime.now_ms)
                self.perform(serving, effects)
                if answered:
                    fetching.on_fetch_response(request, response)

    @rule()
    def write(self) -> None:
        """To all that take it for themselves to lead."""
        for slot in self.alive:
            self.write_to(slot)

    def write_to(self, slot: int) -> None:
        leader = self.alive[slot].broker.leaders.get(self.key)
        if leader is not None:
            self.values += 1
            value = f"{self.values}".encode()
            error, end_offset = self.alive[slot].broker.append(self.key, value)
            assert (error == ErrorCode.NONE) == (len(leader.isr) >= MIN_INSYNC)
            if error == ErrorCode.NONE:
                self.written.append(Written(self.alive[slot], leader.leader_epoch, end_offset, value))

    def acknowledge(self) -> None:
        for written in list(self.written):
            process = written.process
            leader = process.broker.leaders.get(self.key) if self.alive.get(process.slot) is process else None
            if leader is None or leader.leader_epoch != written.leader_epoch:
                self.written.remove(written)
            elif process.broker.acknowledgement(self.key, written.end_offset) == ErrorCode.NONE:
                self.acknowledged[written.end_offset - 1] = written.value
                self.written.remove(written)

    # One step, or much at once.

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        what = data.draw(
            st.sampled_from([self.work, self.fetch_metadata, self.fetch, self.deliver, self.lose, self.copy])
        )
        if what == self.work:
            self.work(data.draw(slots))
        elif what == self.fetch_metadata:
            self.fetch_metadata(data.draw(slots), data.draw(st.sampled_from([0, 1, 2, 1000])))
        elif what == self.fetch:
            self.fetch(data.draw(slots), data.draw(slots), data.draw(st.booleans()))
        elif self.network:
            index = data.draw(st.integers(0, len(self.network) - 1))
            if what == self.deliver:
                self.deliver(index, data.draw(st.booleans()))
            elif what == self.lose:
                self.lose(index)
            else:
                self.copy(index)

    @rule(rounds=st.sampled_from([1, 3, 8]), lagging=some_slot, uninformed=some_slot, unanswered=some_slot)
    def go_on(self, rounds: int, lagging: int | None, uninformed: int | None, unanswered: int | None) -> None:
        """A producer writes, and all goes well, but for brokers that get no data, no metadata, no responses."""
        self.write()
        self.calm_down(rounds, lagging, uninformed, unanswered)

    def calm_down(
        self,
        rounds: int,
        lagging: int | None = None,
        uninformed: int | None = None,
        unanswered: int | None = None,
    ) -> None:
        for _ in range(rounds):
            self.runtime.pass_time(500)
            for slot in list(self.alive):
                if slot != uninformed:
                    self.fetch_metadata(slot, 1000)
                self.work(slot)
            while self.network:
                self.deliver(0, self.network[0].sender.slot != unanswered)
            for follower in self.alive if self.key in self.runtime.image.partitions else ():
                for leader in self.alive:
                    self.fetch(follower, leader, follower != lagging)

    @rule()
    def recover(self) -> None:
        """With one process for each id, all run in the end, are in the ISR, and have everything.

        Of those there were, one that is superseded asks in vain to be shut down, until its time is over.
        """
        for slot in (3, 0, 1, 2):
            self.sigterm(slot)
        self.calm_down(20)
        assert not any(holds(process.broker.image.registrations, process) for process in self.alive.values())
        for slot in list(self.alive):
            self.crash(slot, False)
        for slot in (0, 1, 2):
            self.start(slot)
        self.calm_down(20)
        assert self.serving() == {0: 0, 1: 1, 2: 2}
        self.check_all_in_sync()

    @rule()
    def settle(self) -> None:
        """Calm down: if a process runs for each id, all join the ISR and have every record."""
        self.calm_down(20)
        if len(self.serving()) == 3:
            self.check_all_in_sync()

    def serving(self) -> dict[int, int]:
        """The slots of the processes that run and hold their ids, by id."""
        registrations = self.runtime.image.registrations
        return {
            process.broker.broker_id: slot
            for slot, process in self.alive.items()
            if process.state == BrokerState.RUNNING and holds(registrations, process)
        }

    def check_all_in_sync(self) -> None:
        assert set(self.runtime.partition(self.key).isr) == {0, 1, 2}
        logs = [self.log(slot) for slot in self.serving().values()]
        assert len({(log.end_offset, log.high_watermark) for log in logs}) == 1
        assert logs[0].end_offset == logs[0].high_watermark

    # What holds.

    @invariant()
    def acknowledged_records_survive(self) -> None:
        self.acknowledge()
        partition = self.runtime.partition(self.key)
        for slot, process in self.alive.items():
            leader = process.broker.leaders.get(self.key)
            if leader is not None and leader.leader_epoch == partition.leader_epoch:
                assert self.has_all(slot)

    @invariant()
    def who_is_in_the_isr_has_all_that_was_acknowledged(self) -> None:
        """Whoever it is now that holds the id; a process that is gone has it on its disk."""
        for member in self.runtime.partition(self.key).isr:
            for slot, process in self.alive.items():
                if SLOTS[slot] == member and holds(self.runtime.image.registrations, process):
                    assert self.has_all(slot)

    @invariant()
    def logs_agree_up_to_where_they_have_the_same_epoch(self) -> None:
        """Of one leader epoch there is one log, and what comes before it is its leader's."""
        logs = [self.log(slot).read(0, 1 << 20) for slot in self.alive]
        for one, other in combinations(logs, 2):
            alike = [a.leader_epoch == b.leader_epoch for a, b in zip(one, other, strict=False)]
            end = len(alike) - alike[::-1].index(True) if any(alike) else 0
            assert one[:end] == other[:end]

    @invariant()
    def replicas_do_what_the_image_says(self) -> None:
        for process in self.alive.values():
            broker = process.broker
            partition = broker.image.partitions.get(self.key)
            if broker.applied_offset < 0 or not holds(broker.image.registrations, process) or partition is None:
                assert not broker.leaders and not broker.followers
                continue
            assert broker.applied_offset == broker.image.offset and self.key in broker.logs
            roles = (self.key in broker.leaders, self.key in broker.followers)
            assert roles == (
                partition.leader == broker.broker_id,
                partition.leader not in (broker.broker_id, NO_LEADER),
            )
            role = broker.leaders.get(self.key) or broker.followers.get(self.key)
            assert role is None or role.leader_epoch == partition.leader_epoch

    @invariant()
    def a_leader_knows_the_isr_or_more(self) -> None:
        partition = self.runtime.partition(self.key)
        for process in self.alive.values():
            leader = process.broker.leaders.get(self.key)
            if leader is not None and leader.leader_epoch == partition.leader_epoch:
                assert set(partition.isr) <= leader.maximal_isr
                assert leader.partition_epoch <= partition.partition_epoch
                assert leader.partition_epoch < partition.partition_epoch or leader.isr == set(partition.isr)

    @invariant()
    def high_watermarks_do_not_go_back_while_leading(self) -> None:
        for process in self.alive.values():
            assert all(log.high_watermark <= log.end_offset for log in process.broker.logs.values())
            for key, leader in process.broker.leaders.items():
                epoch, high_watermark = process.high_watermarks.get(key, (-1, 0))
                now = leader.log.high_watermark
                assert leader.leader_epoch != epoch or now >= high_watermark
                process.high_watermarks[key] = (leader.leader_epoch, now)

    @invariant()
    def one_request_of_a_kind_is_in_flight(self) -> None:
        awaited = [(m.sender.slot, kind(m.request)) for m in self.network if self.is_in_flight(m)]
        assert len(awaited) == len(set(awaited))

    def is_in_flight(self, message: Message) -> bool:
        if message.late or self.alive.get(message.sender.slot) is not message.sender:
            return False
        if not isinstance(message.request, AlterPartitionRequest):
            return True
        leader = message.sender.broker.leaders.get(self.key)
        return leader is not None and leader.leader_epoch == message.request.leader_epoch

    @invariant()
    def what_is_to_be_done_will_be_done(self) -> None:
        """A change that is asked for is in flight or due; so is the next registration or heartbeat, and all else."""
        for process in self.alive.values():
            assert process.broker.lifecycle.in_flight is not None or (Due.COMMUNICATION,) in process.timers
            assert (Due.ISR_EXPIRATION,) in process.timers
            for key, leader in process.broker.leaders.items():
                due = {what for what, *about in process.timers if about == [key[0].int, key[1]]}
                assert leader.pending_change is None or leader.in_flight is not None or Due.ALTER_PARTITION in due
                assert leader.replicated_offset <= leader.log.high_watermark or Due.HIGH_WATERMARK in due


def holds(registrations: dict[int, Registration], process: Process) -> bool:
    """The process is the one that is registered at its id."""
    registration = registrations.get(process.broker.broker_id)
    return registration is not None and registration.incarnation_id == process.broker.lifecycle.incarnation_id


def kind(request: Request) -> str:
    return "alter partition" if isinstance(request, AlterPartitionRequest) else "lifecycle"


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
