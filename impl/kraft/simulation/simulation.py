"""One run: cores on storage, simulated disks and a simulated network, events in the order of a simulated clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from random import Random

from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import (
    Answer,
    AnswerFetch,
    AppendToLog,
    Claim,
    Committed,
    Effect,
    Effects,
    Flush,
    Persist,
    Renounce,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import Request, Response
from impl.kraft.simulation.invariants import Rules
from impl.kraft.simulation.swarm import ELECTION_MS, FETCH_MS, Swarm, swarm_of
from impl.kraft.storage.batches import Record
from impl.kraft.storage.log import LogSettings, PendingFlush
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.storage import QuorumStorage, StorageSettings

DIRECTORY = "/data"
REQUEST_TIMEOUT_MS = 150
QUIET_MS = 60 * ELECTION_MS
QUIET_DELAY_MS = 10
LOG_BYTES = 1 << 30


class NotRecoveredError(AssertionError):
    """After the last fault, the quorum did not come back in time."""


class Node:
    """A voter's machine. life: of its process; what was on its way to an earlier one is dropped."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.life = 0
        self.raft: Raft | None = None
        self.storage: QuorumStorage | None = None
        self.claimed: int | None = None
        self.timers: dict[tuple[Timer, int | None], int] = {}


class Simulation:
    """A run of a seed. digest: of all its events, in order."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.swarm: Swarm = swarm_of(self.rng)
        self.rules = Rules(self.swarm.voters)
        self.now_ms = 0
        self.events = self.numbers = 0
        self.is_quiet = False
        self._hash = blake2b(digest_size=8)
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._cut: dict[tuple[int, int], int] = {}
        self._calls: dict[int, Callable[[Response], None]] = {}
        self.nodes = [self._formatted() for _ in range(self.swarm.voters)]

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def go(self) -> str:
        """The digest of the run. Raises BrokenRuleError, NotRecoveredError, and whatever a core or a storage raises."""
        for node in range(len(self.nodes)):
            self.start(node)
        self.after(self.swarm.tick_ms, self.tick)
        self.run_until(self.swarm.chaos_ms)
        self.calm_down()
        self.run_until(self.swarm.chaos_ms + QUIET_MS)
        self.look_whether_recovered()
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

    def drawn(self, chance: int) -> bool:
        return not self.is_quiet and self.rng.randrange(100) < chance

    def delayed(self, most_ms: int) -> int:
        return self.rng.randint(0, min(most_ms, QUIET_DELAY_MS) if self.is_quiet else most_ms)

    # Processes.

    def _formatted(self) -> Node:
        disk = SimulatedDisk(self.rng.randrange)
        disk.make_directory(DIRECTORY)
        disk.sync_directory("/")
        return Node(disk)

    def start(self, number: int) -> None:
        node, swarm = self.nodes[number], self.swarm
        settings = StorageSettings(LogSettings(segment_bytes=swarm.segment_bytes), reserve_bytes=0)
        storage = node.storage = QuorumStorage.open(node.disk, DIRECTORY, settings)
        log = storage.log
        self.rules.start(number, storage.election, log.read(0, LOG_BYTES))
        raft_settings = RaftSettings(
            number,
            tuple(range(swarm.voters)),
            election_timeout_ms=ELECTION_MS,
            election_backoff_max_ms=ELECTION_MS,
            fetch_timeout_ms=FETCH_MS,
            fetch_max_wait_ms=FETCH_MS // 4,
            fetch_max_bytes=swarm.fetch_max_bytes,
            uses_prevote=swarm.uses_prevote,
        )
        node.raft = Raft(raft_settings, storage.election, LogEnds.recovered(log.end_offset, log.epochs.starts))
        self.note(number, "start", storage.election, log.end_offset)
        self.hand_in(number, lambda raft: raft.start(self.now_ms))

    def stop(self, number: int, *, loses_power: bool) -> None:
        node = self.nodes[number]
        if node.raft is None:
            return
        self.note(number, "power loss" if loses_power else "kill")
        node.life += 1
        node.raft = node.storage = node.claimed = None
        node.timers.clear()
        self.rules.stop(number)
        node.disk = node.disk.after_power_loss(self.rng.randrange) if loses_power else node.disk.after_kill()
        self.after(self.rng.randrange(1, 4 * ELECTION_MS), lambda: self.start(number))

    def alive(self, number: int, life: int, event: Callable[[], None]) -> Callable[[], None]:
        """An event of a process, which is dropped with it."""
        return lambda: event() if self.nodes[number].life == life and self.nodes[number].raft is not None else None

    # Cores and their effects.

    def hand_in(self, number: int, handed: Callable[[Raft], Effects]) -> None:
        raft = self.nodes[number].raft
        assert raft is not None
        for effect in handed(raft):
            self.carry_out(number, raft, effect)
        self.rules.look_at(number, raft.voter)

    def carry_out(self, number: int, raft: Raft, effect: Effect) -> None:
        node = self.nodes[number]
        storage = node.storage
        assert storage is not None
        match effect:
            case Persist(state=state):
                storage.persist(state)
                self.rules.persist(number, state)
            case AppendToLog(data=data, epoch=epoch):
                storage.append(data, epoch)
                self.rules.append(number, data)
            case Flush():
                self.flush_later(number, storage.begin_flush())
            case TruncateLog(end_offset=end):
                storage.truncate(end)
                self.rules.truncate(number, end)
            case Send(to=to, request=request):
                self.rules.send(number, request)
                self.send(number, to, request)
            case Answer(call=call, response=response):
                self.answer(call, response)
            case AnswerFetch(call=call, response=response):
                data = storage.log.read(effect.offset, effect.max_bytes)
                self.answer(call, replace(response, records=data))
            case SetTimer():
                self.set_timer(number, effect)
            case Committed():
                self.note(number, "committed", effect.end_offset)
                self.rules.commit(number, effect, raft.voter)
            case Claim(epoch=claimed):
                node.claimed = claimed
            case Renounce():
                node.claimed = None

    def flush_later(self, number: int, pending: PendingFlush) -> None:
        node = self.nodes[number]

        def ended() -> None:
            assert node.storage is not None
            pending.run()
            end = node.storage.finish_flush(pending)
            self.note(number, "flushed", end)
            self.rules.flush(number, end)
            self.hand_in(number, lambda raft: raft.on_flushed(end, self.now_ms))

        self.after(self.delayed(self.swarm.flush_ms), self.alive(number, node.life, ended))

    def set_timer(self, number: int, effect: SetTimer) -> None:
        node, which = self.nodes[number], (effect.timer, effect.peer)
        self.numbers += 1
        mine = node.timers[which] = self.numbers

        def due() -> None:
            if node.timers.get(which) == mine:
                del node.timers[which]
                self.note(number, effect.timer.value, effect.peer)
                self.hand_in(number, lambda raft: raft.on_timer(effect.timer, self.now_ms, effect.peer))

        at_ms = effect.at_ms + self.rng.randint(0, effect.spread_ms)
        self.after(max(0, at_ms - self.now_ms), self.alive(number, node.life, due))

    # The network.

    def send(self, sender: int, to: int, request: Request) -> None:
        """A request lands, is lost, or lands twice; its response, too, may be lost. Then it is given up."""
        life, is_over = self.nodes[sender].life, [False]

        def ended(response: Response | None) -> None:
            if not is_over[0]:
                is_over[0] = True
                self.note(sender, "response", to, response)
                self.hand_in(sender, lambda raft: raft.on_response(to, request, response, self.now_ms))

        self.after(REQUEST_TIMEOUT_MS, self.alive(sender, life, lambda: ended(None)))
        for _ in range(2 if self.drawn(self.swarm.twice) else 1):
            self.deliver(sender, to, lambda: self.land(sender, to, request, life, ended))

    def land(self, sender: int, to: int, request: Request, life: int, ended: Callable[[Response], None]) -> None:
        self.numbers += 1
        call = self.numbers
        self._calls[call] = lambda response: self.deliver(to, sender, self.alive(sender, life, lambda: ended(response)))
        self.note(to, "request", request)
        self.hand_in(to, lambda raft: raft.handle(call, request, self.now_ms))

    def answer(self, call: int, response: Response) -> None:
        self._calls.pop(call)(response)

    def deliver(self, sender: int, to: int, landing: Callable[[], None]) -> None:
        """After a delay, unless it is lost or the two are cut off from each other, to a process that runs then."""
        delay_ms = self.delayed(self.swarm.delay_ms)
        if self.drawn(self.swarm.lost) or self._cut.get((sender, to), 0) > self.now_ms:
            return
        self.after(delay_ms, lambda: landing() if self.nodes[to].raft is not None else None)

    # Chaos, and the quiet after it.

    def tick(self) -> None:
        """Draw what happens now: clients that ask for something, and faults."""
        if self.is_quiet:
            return
        swarm, number = self.swarm, self.rng.randrange(self.swarm.voters)
        if self.drawn(swarm.append):
            self.append_somewhere()
        if self.drawn(swarm.resign):
            self.resign_somewhere()
        if self.drawn(swarm.partition):
            self.cut_off(number)
        if self.drawn(swarm.kill):
            self.stop(number, loses_power=False)
        if self.drawn(swarm.power_loss):
            self.stop(number, loses_power=True)
        self.after(swarm.tick_ms, self.tick)

    def append_somewhere(self) -> None:
        """Every controller that believes that it is active decides something of its own."""
        for number, node in enumerate(self.nodes):
            epoch = node.claimed
            if epoch is not None:
                records = tuple(Record(b"%d %d" % (self.events, one)) for one in range(self.rng.randrange(1, 4)))
                self.hand_in(number, partial(Raft.append, epoch=epoch, records=records, now_ms=self.now_ms))

    def resign_somewhere(self) -> None:
        for number, node in enumerate(self.nodes):
            epoch = node.claimed
            if epoch is not None:
                self.note(number, "resign")
                self.hand_in(number, partial(Raft.resign, epoch=epoch, now_ms=self.now_ms))

    def cut_off(self, number: int) -> None:
        """One node hears, or is heard by, none of some others for a while; or both."""
        until_ms = self.now_ms + self.rng.randrange(1, 10 * ELECTION_MS)
        direction = self.rng.randrange(3)
        for other in range(self.swarm.voters):
            if other != number and self.rng.randrange(4):
                if direction != 0:
                    self._cut[number, other] = until_ms
                if direction != 1:
                    self._cut[other, number] = until_ms

    def calm_down(self) -> None:
        self.is_quiet = True
        self._cut.clear()
        self.after(QUIET_MS // 2, self.append_somewhere)

    def look_whether_recovered(self) -> None:
        """One leads, and all have what it has appended in the quiet."""
        active = [number for number, node in enumerate(self.nodes) if node.claimed is not None]
        ends = [log.end_offset for log in self.rules.logs]
        if len(active) != 1 or set(self.rules.applied) != {max(ends)} or set(ends) != {max(ends)}:
            raise NotRecoveredError(
                f"after {QUIET_MS} ms of quiet {active} are active, logs end at {ends}, applied is {self.rules.applied}"
            )
