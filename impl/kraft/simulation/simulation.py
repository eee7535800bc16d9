"""One run: cores on storage, simulated disks and a simulated network, events in the order of a simulated clock."""

from __future__ import annotations

import errno
import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Any

from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import (
    Answer,
    AnswerFetch,
    AppendToLog,
    Claim,
    Committed,
    Effects,
    Flush,
    Persist,
    Renounce,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.errors import NotLeadingError
from impl.kraft.raft.messages import Request
from impl.kraft.raft.roles import Leader
from impl.kraft.recovered import recovered_ends
from impl.kraft.simulation import chaos
from impl.kraft.simulation.core import Core, Machine
from impl.kraft.simulation.histories import Clients, check
from impl.kraft.simulation.invariants import BrokenRuleError, NotRecoveredError, Rules, is_role_of
from impl.kraft.simulation.kafka_files import check_files
from impl.kraft.simulation.majority import go_on
from impl.kraft.simulation.rot import flip
from impl.kraft.simulation.stranger import hear_stranger
from impl.kraft.simulation.swarm import ELECTION_MS, FETCH_MS, QUIET_MS, Kind, Plan, Step
from impl.kraft.simulation.talk import Talk
from impl.kraft.storage.batches import Record, entries_of
from impl.kraft.storage.directories import PARTITION
from impl.kraft.storage.errors import BitRotError, DiskFullError, StorageEndedError
from impl.kraft.storage.log import LogSettings, PendingFlush
from impl.kraft.storage.simulated_disk import PowerLossError, ProcessKilledError, SimulatedDisk
from impl.kraft.storage.storage import QuorumStorage, StorageSettings

DIRECTORY = "/data"
REQUEST_TIMEOUT_MS = 150
QUIET_DELAY_MS = 10
PIECE_BYTES = 200

Handed = Callable[[Core], Sequence[object]]


class Simulation:
    """A run of a plan. digest: of all its events, in order. watch: is given each of them. rules: that it is held to."""

    handover_ms = ELECTION_MS
    """The successor of a leader that resigns stands at once, and is there in half of this time. Where all draw a time
    to stand at, or wait for a fetch timeout, that takes up to several times as long."""

    def __init__(self, plan: Plan, watch: Callable[[str], None] | None = None, rules: Rules | None = None) -> None:
        self.rng = Random(f"run {plan.seed}")
        self.swarm, self.schedule, self.watch = plan.swarm, plan.schedule, watch
        self.rules = rules or Rules(self.swarm.voters)
        self.talk = Talk(self.swarm.voters, FETCH_MS * 3 // 2)
        self.clients = Clients()
        self.now_ms = 0
        self.events = self.numbers = 0
        self.is_quiet = False
        self._hash = blake2b(digest_size=8)
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self.cut: dict[tuple[int, int], int] = {}
        self._calls: dict[int, Callable[[Any], None]] = {}
        self.nodes = [self._formatted() for _ in range(self.swarm.voters)]
        for node in self.nodes:
            node.clock_percent += self.rng.randint(-self.swarm.drift, self.swarm.drift)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def go(self) -> str:
        """The digest of the run. Raises an error of FAILURES, and whatever a core or a storage raises."""
        for node in range(len(self.nodes)):
            self.start(node)
        for step in self.schedule:
            self.after(step.at_ms, partial(self.carry_out_step, step))
        self.run_until(self.swarm.chaos_ms)
        self.calm_down()
        self.run_until(self.swarm.chaos_ms + QUIET_MS)
        self.look_whether_recovered()
        if not self.swarm.brokers:
            go_on(self)
        for number in range(self.swarm.voters):
            check_files(self.nodes[number].disk.image(), f"{DIRECTORY}/{PARTITION}", range(self.swarm.voters))
        check(self.clients.history)
        return self.digest

    def run_until(self, end_ms: int) -> None:
        while self._due and self._due[0][0] <= end_ms:
            self.now_ms, _, event = heapq.heappop(self._due)
            event()

    def after(self, delay_ms: int, event: Callable[[], None]) -> None:
        self.numbers += 1
        heapq.heappush(self._due, (self.now_ms + delay_ms, self.numbers, event))

    def note(self, *what: object) -> None:
        """An event is part of the digest."""
        self.events += 1
        self._hash.update(repr((self.now_ms, *what)).encode())
        if self.watch is not None:
            self.watch(f"{self.now_ms:>7} {' '.join(str(one) for one in what)}")

    def drawn(self, chance: int) -> bool:
        return not self.is_quiet and self.rng.randrange(100) < chance

    def clock_ms(self, number: int) -> int:
        """The time of a node, whose clock may go wrong."""
        return self.now_ms * self.nodes[number].clock_percent // 100

    def delayed(self, most_ms: int) -> int:
        return self.rng.randint(0, min(most_ms, QUIET_DELAY_MS) if self.is_quiet else most_ms)

    # Processes.

    def _formatted(self) -> Machine:
        disk = SimulatedDisk(self.rng.randrange)
        disk.make_directory(DIRECTORY)
        disk.sync_directory("/")
        return Machine(disk)

    def start(self, number: int) -> None:
        """A process recovers what is on its disk. It may fail there as anywhere, and is started again."""
        with self.ending_with_faults(number):
            self.recover(number)

    def recover(self, number: int) -> None:
        node, swarm = self.nodes[number], self.swarm
        settings = StorageSettings(LogSettings(segment_bytes=swarm.segment_bytes), reserve_bytes=swarm.reserve_bytes)
        storage = node.storage = QuorumStorage.open(node.disk, DIRECTORY, settings)
        node.rot = None  # it was of no use any more, or the rules tell
        log = storage.log
        stored = entries_of(log.read(log.start_offset))
        self.rules.start(number, storage.election, stored, log.start_offset)
        node.raft = self.core_on(number, storage)
        self.note(number, "start", storage.election, log.end_offset)
        self.hand_in(number, lambda raft: raft.start(self.clock_ms(number)))

    def core_on(self, number: int, storage: QuorumStorage) -> Core:
        """The core of a voter's process, by what its disk has."""
        raft = Raft(self.raft_settings(number), storage.election, recovered_ends(storage))
        epoch = 0 if storage.election is None else storage.election.epoch
        is_kept = raft.voter.epoch == epoch or epoch < storage.log.last_epoch
        self.rules.hold(is_kept, "R10", f"node {number} begins in epoch {raft.voter.epoch}, not {epoch}")
        begins = f"node {number} begins as {raft.voter.role}, and its disk has {storage.election}"
        self.rules.hold(raft.voter.epoch > epoch or is_role_of(raft.voter), "R7", begins)
        return self.core_of(raft, storage)

    def raft_settings(self, number: int) -> RaftSettings:
        swarm = self.swarm
        return RaftSettings(
            number,
            tuple(range(swarm.voters)),
            election_timeout_ms=ELECTION_MS,
            election_backoff_max_ms=ELECTION_MS,
            fetch_timeout_ms=FETCH_MS,
            fetch_max_wait_ms=FETCH_MS // 4,
            fetch_max_bytes=swarm.fetch_max_bytes,
            fetch_snapshot_max_bytes=max(PIECE_BYTES, swarm.fetch_max_bytes),
            uses_prevote=swarm.uses_prevote,
            is_observer=number >= swarm.voters,
        )

    def core_of(self, raft: Raft, storage: QuorumStorage) -> Core:
        """The core of a voter's process."""
        return raft

    def stop(self, number: int, *, loses_power: bool) -> None:
        """A process ends, and another one is started later."""
        self.switch_off(number, loses_power=loses_power)
        self.after(self.rng.randrange(1, 4 * ELECTION_MS), partial(self.start, number))

    def switch_off(self, number: int, *, loses_power: bool = False) -> None:
        node = self.nodes[number]
        self.note(number, "power loss" if loses_power else "kill")
        node.life += 1
        node.raft = node.storage = node.claimed = None
        node.timers.clear()
        node.paused_until_ms = 0
        self.forget(number)
        node.disk = node.disk.after_power_loss(self.rng.randrange) if loses_power else node.disk.after_kill()

    def forget(self, number: int) -> None:
        """A process has ended."""
        self.rules.stop(number)
        self.talk.stop(number)
        self.clients.give_up(number)
        self.clients.disconnect(number)

    @contextmanager
    def ending_with_faults(self, number: int) -> Iterator[None]:
        """A fault of the disk ends the process that meets it; a leader whose disk is full resigns first."""
        node = self.nodes[number]
        try:
            yield
        except PowerLossError:
            self.stop(number, loses_power=True)
        except BitRotError:
            if node.rot is None:
                raise
            self.stop(number, loses_power=False)
        except DiskFullError:
            if node.raft is not None:
                for effect in node.raft.resign(node.raft.voter.epoch, self.clock_ms(number)):
                    self.carry_out(number, node.raft, effect)
            self.stop(number, loses_power=False)
        except (ProcessKilledError, StorageEndedError):
            self.stop(number, loses_power=False)
        except OSError as error:  # of a recovery, or of a flush, which runs in a thread of its own
            if error.errno not in (errno.EIO, errno.ENOSPC):
                raise
            self.stop(number, loses_power=False)

    def alive(self, number: int, life: int, event: Callable[[], None]) -> Callable[[], None]:
        """An event of a process, which is dropped with it, and waits while that is paused."""
        node = self.nodes[number]

        def come() -> None:
            if node.life != life or node.raft is None:
                return
            if node.paused_until_ms > self.now_ms:
                self.after(node.paused_until_ms - self.now_ms, come)
            else:
                event()

        return come

    # Cores and their effects.

    def hand_in(self, number: int, handed: Handed) -> None:
        raft = self.nodes[number].raft
        assert raft is not None
        with self.ending_with_faults(number):
            for effect in handed(raft):
                self.carry_out(number, raft, effect)
            self.look_at(number, raft)

    def look_at(self, number: int, raft: Core) -> None:
        """All that an input has led to is done. Who does not lead waits for a leader, and not for ever."""
        self.rules.look_at(number, raft.voter)
        self.rules.look_at_ends(number, raft.voter.log)
        due_ms, _ = self.nodes[number].timers.get((Timer.ELECTION, None), (None, 0))
        waits = isinstance(raft.voter.role, Leader) or due_ms is not None
        self.rules.hold(waits, "timers", f"node {number} neither leads nor waits for a leader")
        begin_ms, _ = self.nodes[number].timers.get((Timer.BEGIN, None), (1 << 62, 0))
        is_known = not isinstance(raft.voter.role, Leader) or begin_ms <= self.clock_ms(number) + FETCH_MS // 2
        self.rules.hold(is_known, "begin", f"node {number} leads, and tells nobody again in {FETCH_MS // 2} ms")
        retries = {peer for timer, peer in self.nodes[number].timers if timer is Timer.RETRY and peer is not None}
        self.talk.look_at(number, raft.voter, due_ms, retries, self.now_ms)

    def carry_out(self, number: int, raft: Core, effect: object) -> None:
        node = self.nodes[number]
        storage = node.storage
        assert storage is not None
        match effect:
            case Persist(state=state):
                before = self.rules.persisted[number]
                if self.swarm.uses_prevote and state.voted_for == number and (not before or before.epoch < state.epoch):
                    self.talk.contact.stands(number)
                self.rules.begin_to_persist(number, state)
                storage.persist(state)
                self.rules.persist(number, state)
            case AppendToLog(data=data, epoch=epoch):
                storage.append(data, epoch)
                self.rules.append(number, entries_of(data))
            case Flush():
                self.flush_later(number, storage.begin_flush())
            case TruncateLog(end_offset=end):
                self.rules.truncate(number, end)  # before: should it fail, the disk may have done it
                storage.truncate(end)
            case Send(to=to, request=request):
                self.rules.send(number, request)
                self.talk.send(number, to, request)
                self.send(number, to, request)
            case Answer(call=call, response=response):
                self.talk.answer(number, call, response)
                self.answer(call, response)
            case AnswerFetch(call=call, response=response, offset=offset, max_bytes=max_bytes):
                found = replace(response, records=storage.log.read(offset, max_bytes))
                self.talk.fetches.answered(number, call, found, raft.voter.log, self.clock_ms(number))
                self.answer(call, found)
            case SetTimer(timer=timer, at_ms=at_ms, spread_ms=spread_ms, peer=peer):
                self.set_timer(number, timer, timer.value, at_ms + self.rng.randint(0, spread_ms), peer)
            case Committed(end_offset=end):
                self.note(number, "committed", end)
                self.rules.commit(number, end, raft.voter)
                self.answer_clients(number, end)
            case Claim(epoch=claimed):
                node.claimed = claimed
            case Renounce():
                node.claimed = None
                self.clients.give_up(number)

    def answer_clients(self, number: int, end_offset: int) -> None:
        """Those that wait for what is before this offset are answered with the log up to what they have appended."""
        entries = self.rules.logs[number].entries
        log = [(one.end_offset, one.crc) for one in entries if one.end_offset <= end_offset]
        self.clients.commit(number, log, self.events)

    def flush_later(self, number: int, pending: PendingFlush) -> None:
        node = self.nodes[number]

        def ended() -> None:
            assert node.storage is not None
            with self.ending_with_faults(number):
                pending.run()
                end = node.storage.finish_flush(pending)
                self.note(number, "flushed", end)
                self.rules.flush(number, end)
                self.hand_in(number, lambda raft: raft.on_flushed(end, self.clock_ms(number)))

        self.after(self.delayed(self.swarm.flush_ms), self.alive(number, node.life, ended))

    def set_timer(self, number: int, timer: Any, name: object, at_ms: int, peer: int | None = None) -> None:
        """name: of the timer in the digest."""
        node, which = self.nodes[number], (timer, peer)
        self.numbers += 1
        mine = node.timers[which] = at_ms, self.numbers

        def due() -> None:
            if node.timers.get(which) == mine:
                del node.timers[which]
                self.note(number, name, peer)
                if timer is Timer.RETRY and peer is not None:
                    self.talk.asking.due(number, peer)
                self.hand_in(number, lambda raft: raft.on_timer(timer, self.clock_ms(number), peer))

        due_ms = -(-at_ms * 100 // node.clock_percent)
        self.after(max(0, due_ms - self.now_ms), self.alive(number, node.life, due))

    # The network.

    def send(self, sender: int, to: int, request: Request) -> None:
        """A request of the quorum."""

        def handled(call: int, raft: Core) -> Sequence[object]:
            self.talk.request(to, call, sender, request, self.now_ms, self.clock_ms(to))
            return raft.handle(call, request, self.clock_ms(to))

        def answered(response: Any, raft: Core) -> Sequence[object]:
            self.talk.response(sender, raft.voter, to, request, response)
            return raft.on_response(to, request, response, self.clock_ms(sender))

        self.exchange(sender, to, request, handled, answered)

    def exchange(
        self,
        sender: int,
        to: int,
        request: object,
        handled: Callable[[int, Core], Sequence[object]],
        answered: Callable[[Any, Core], Sequence[object]],
    ) -> None:
        """A request lands, is lost, or lands twice; its response, too, may be lost. Then it is given up.

        handled: with the number of the call, at the one to whom it is sent. answered: with the response, or None.
        """
        life, is_over = self.nodes[sender].life, [False]

        def ended(response: object) -> None:
            if not is_over[0]:
                is_over[0] = True
                self.note(sender, "response", to, response)
                self.hand_in(sender, partial(answered, response))

        def land() -> None:
            call = self.called(
                lambda response: self.deliver(to, sender, self.alive(sender, life, lambda: ended(response)))
            )
            self.note(to, "request", request)
            self.hand_in(to, partial(handled, call))

        self.after(REQUEST_TIMEOUT_MS, self.alive(sender, life, lambda: ended(None)))
        for _ in range(2 if self.drawn(self.swarm.twice) else 1):
            self.deliver(sender, to, land)

    def called(self, answered: Callable[[Any], None]) -> int:
        """The number of a call that is to be answered."""
        self.numbers += 1
        self._calls[self.numbers] = answered
        return self.numbers

    def answer(self, call: int, response: object) -> None:
        self._calls.pop(call)(response)

    def deliver(self, sender: int, to: int, landing: Callable[[], None]) -> None:
        """After a delay, unless it is lost or the two are cut off from each other, to a process that runs then."""
        delay_ms = self.delayed(self.swarm.delay_ms)
        if self.drawn(self.swarm.lost) or self.cut.get((sender, to), 0) > self.now_ms:
            return
        self.after(delay_ms, lambda: self.alive(to, self.nodes[to].life, landing)())

    # Chaos, and the quiet after it.

    def carry_out_step(self, step: Step) -> None:
        """Clients ask for something, or a fault comes."""
        rng, number = Random(step.seed), step.node
        match step.kind:
            case Kind.APPEND:
                self.append_somewhere(rng)
            case Kind.RESIGN:
                self.resign_somewhere()
            case Kind.PARTITION:
                chaos.cut_off(self, number, rng, self.swarm.voters)
            case Kind.PAUSE:
                chaos.pause(self, number, rng)
            case Kind.DISK_FAULT:
                chaos.fault_disk(self, number, rng)
            case Kind.FULL_DISK:
                chaos.fill_disk(self, number, rng)
            case Kind.ROT:
                chaos.rot(self, number, rng)
            case Kind.STRANGER:
                self.alive(number, self.nodes[number].life, partial(hear_stranger, self, number, rng))()
            case Kind.KILL | Kind.POWER_LOSS if self.nodes[number].raft is not None:
                self.stop(number, loses_power=step.kind is Kind.POWER_LOSS)

    def append_somewhere(self, rng: Random) -> None:
        """Every controller that believes that it is active decides something of its own, once it is not paused."""
        for number, node in enumerate(self.nodes):
            if node.claimed is not None:
                self.numbers += 1  # no two values are alike
                records = tuple(Record(b"%d %d" % (self.numbers, one)) for one in range(rng.randrange(1, 4)))
                self.alive(number, node.life, partial(self.append, number, records, self.events))()

    def append(self, number: int, records: tuple[Record, ...], began: int) -> None:
        """began: the count of events when the client asked."""
        node = self.nodes[number]
        if (epoch := node.claimed) is None:
            return  # it has renounced since
        self.describe(number, began)
        self.note(number, "append", epoch)
        now_ms, life = self.clock_ms(number), node.life

        def appended(raft: Core) -> Effects:
            assert isinstance(raft, Raft)
            with suppress(NotLeadingError):
                raft.append(epoch - 1, records, now_ms)
                raise BrokenRuleError(f"appends: node {number} takes one of epoch {epoch - 1} in epoch {epoch}")
            return raft.append(epoch, records, now_ms)

        self.hand_in(number, appended)
        if node.life == life:
            last = self.rules.logs[number].entries[-1]
            self.clients.begin(number, last.end_offset, last.crc, began)

    def describe(self, number: int, began: int) -> None:
        """A controller that takes itself for active is asked for what is committed, as far as it knows."""
        raft, entries = self.nodes[number].raft, self.rules.logs[number].entries
        assert raft is not None
        end = raft.voter.high_watermark
        seen = [one.crc for one in entries if one.end_offset <= end]
        self.note(number, "read", len(seen))
        self.clients.read(number, seen, [one.crc for one in self.rules.committed], began, self.events)

    def resign_somewhere(self) -> None:
        for number, node in enumerate(self.nodes):
            if node.claimed is not None:
                self.alive(number, node.life, partial(self.resign, number))()

    def resign(self, number: int) -> None:
        if (epoch := self.nodes[number].claimed) is not None:
            self.note(number, "resign")
            now_ms = self.clock_ms(number)

            def resigned(raft: Core) -> Sequence[object]:
                of_another = raft.resign(epoch - 1, now_ms) if isinstance(raft, Raft) else ()
                self.rules.hold(not of_another, "resigns", f"node {number} resigns from epoch {epoch - 1} in {epoch}")
                return raft.resign(epoch, now_ms)

            self.hand_in(number, resigned)

    def free_disk(self, number: int) -> None:
        self.nodes[number].disk.capacity_bytes = None

    def calm_down(self) -> None:
        self.is_quiet = True
        self.cut.clear()
        for number, node in enumerate(self.nodes):
            node.paused_until_ms = 0
            node.disk.faults = {}
            self.free_disk(number)
            if node.rot is not None:
                flip(node.disk, node.rot)
        self.after(QUIET_MS // 2, self.append_in_the_quiet)

    def append_in_the_quiet(self) -> None:
        """Somebody must be active by now, and go on."""
        if all(node.claimed is None for node in self.nodes):
            raise NotRecoveredError(f"nobody is active: after {QUIET_MS // 2} ms of quiet")
        self.append_somewhere(self.rng)

    def look_whether_recovered(self) -> None:
        """One leads, and all have what it has appended in the quiet."""
        active = [number for number, node in enumerate(self.nodes) if node.claimed is not None]
        ends = [log.end_offset for log in self.rules.logs]
        if len(active) != 1 or set(self.rules.applied) != {max(ends)} or set(ends) != {max(ends)}:
            raise NotRecoveredError(
                f"not one leads whom all follow: after {QUIET_MS} ms of quiet {active} are active, logs end at {ends}, "
                f"applied is {self.rules.applied}"
            )
