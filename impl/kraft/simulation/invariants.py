"""The rules of the quorum (R1-R10), held at every event by one that sees all nodes, their disks, and what was once.

R3 is held by induction: a batch is known by its offset and epoch, and with it the batch before. A log that begins at
the end of a snapshot (R9) counts as one that begins with what was committed before. Of what must eventually happen,
`Simulation` asks for a leader, and that all catch up, after the last fault; here nobody may follow itself, which would
wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchRequest, Request, VoteRequest
from impl.kraft.raft.roles import Candidate, Follower, Leader, Resigned, Unattached
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.batches import Entry
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId


class BrokenRuleError(AssertionError):
    """A rule of the quorum does not hold."""


def hold(kept: bool, rule: str, what: str) -> None:
    """Raises BrokenRuleError."""
    if not kept:
        raise BrokenRuleError(f"{rule}: {what}")


class NotRecoveredError(AssertionError):
    """After the last fault, the quorum did not come back in time. The message begins with what lacks, and a colon."""


def is_alike(one: ElectionState, other: ElectionState) -> bool:
    """But for the voters, which do not change."""
    return replace(one, voters=()) == replace(other, voters=())


def is_role_of(voter: Voter) -> bool:
    """Does a voter begin as its disk says? Who led has resigned; who stood stands still (KAFKA-10527, KAFKA-10661)."""
    match voter.election:
        case ElectionState(leader=int(leader)):
            wanted: type = Resigned if leader == voter.node_id else Follower
        case ElectionState(voted_for=voted_for):
            wanted = Candidate if voted_for == voter.node_id else Unattached
    return isinstance(voter.role, wanted)


class LogSeen:
    """The log of a node as its appends and truncations make it, and how far it is on disk."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.flushed_end = self.end_offset

    @property
    def end_offset(self) -> int:
        return self.entries[-1].end_offset if self.entries else 0

    def cut(self, end_offset: int) -> None:
        while self.entries and self.entries[-1].end_offset > end_offset:
            self.entries.pop()

    def has(self, entries: list[Entry], end_offset: int) -> bool:
        """Does it have these at its start, all below an offset?"""
        return self.entries[: len(entries)] == entries and (not entries or entries[-1].end_offset <= end_offset)


class Rules:
    """Every rule, with what it remembers."""

    def __init__(self, voters: int) -> None:
        self.logs = [LogSeen([]) for _ in range(voters)]
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], int] = {}
        self.persisted = [ElectionState(0)] * voters
        self.on_its_way: list[ElectionState | None] = [None] * voters
        self.written: dict[tuple[int, int], tuple[Entry, Entry | None]] = {}
        self.committed: list[Entry] = []
        self.committed_in = 0
        self.applied = [0] * voters
        self._known: list[list[tuple[int, int]]] = [[]] * voters

    def hold(self, kept: bool, rule: str, what: str) -> None:
        hold(kept, rule, what)

    def begin_to_persist(self, node: int, state: ElectionState) -> None:
        """Should the process end in it, the disk has this or the one before."""
        self.on_its_way[node] = state

    def persist(self, node: int, state: ElectionState) -> None:
        before = self.persisted[node]
        self.hold(before.epoch <= state.epoch, "R10", f"node {node} goes back from epoch {before.epoch}")
        is_next = state.voted_for != node or state.epoch <= before.epoch + 1
        self.hold(is_next, "R10", f"node {node} stands in epoch {state.epoch}, after {before.epoch}")
        if state.voted_for is not None:
            given = self.votes.setdefault((node, state.epoch), state.voted_for)
            self.hold(given == state.voted_for, "R7", f"node {node} votes for {given} and {state.voted_for}")
        self.persisted[node], self.on_its_way[node] = state, None

    def append(self, node: int, entries: Sequence[Entry]) -> None:
        log = self.logs[node]
        for entry in entries:
            before = log.entries[-1] if log.entries else None
            start = log.end_offset
            known = self.written.setdefault((start, entry.epoch), (entry, before))
            self.hold(known == (entry, before), "R3", f"node {node} has another batch at {start} in {entry.epoch}")
            log.entries.append(entry)

    def truncate(self, node: int, end_offset: int) -> None:
        log = self.logs[node]
        log.cut(end_offset)
        log.flushed_end = min(log.flushed_end, log.end_offset)

    def flush(self, node: int, end_offset: int) -> None:
        self.logs[node].flushed_end = max(self.logs[node].flushed_end, end_offset)

    def send(self, node: int, request: Request) -> None:
        """Who fetches, or asks for votes, tells of nothing that is not on its disk."""
        match request:
            case FetchRequest(fetch_offset=end) | VoteRequest(pre_vote=False, last_offset=end):
                is_on_disk = end <= self.logs[node].flushed_end
                self.hold(is_on_disk, "R8", f"node {node} tells of {end}, and it is not on its disk")

    def commit(self, node: int, end: int, voter: Voter) -> None:
        self.hold(self.applied[node] < end, "R5", f"node {node} goes back from {self.applied[node]} to {end}")
        self.applied[node] = end
        entries = [entry for entry in self.logs[node].entries if entry.end_offset <= end]
        self.hold(bool(entries) and entries[-1].end_offset == end, "R4", f"{end} is within a batch of node {node}")
        shared = min(len(entries), len(self.committed))
        self.hold(entries[:shared] == self.committed[:shared], "R4", f"node {node} has applied something else")
        if len(entries) > len(self.committed):
            self.hold(isinstance(voter.role, Leader), "R4", f"node {node} applies what no leader has committed")
            self.committed, self.committed_in = entries, max(self.committed_in, voter.epoch)

    def committed_before(self, node: int, end_offset: int) -> list[Entry]:
        """What a snapshot stands for, or the start of a log."""
        entries = [entry for entry in self.committed if entry.end_offset <= end_offset]
        ends = entries[-1].end_offset if entries else 0
        self.hold(ends == end_offset, "R9", f"node {node} has a snapshot to {end_offset}, and a batch ends at {ends}")
        return entries

    def install(self, node: int, snapshot_id: SnapshotId) -> None:
        """The log starts at the end of a snapshot that was fetched."""
        end_offset, epoch = snapshot_id
        entries = self.committed_before(node, end_offset)
        self.hold(entries[-1].epoch == epoch, "R9", f"node {node} has a snapshot of {epoch}, not {entries[-1].epoch}")
        self.logs[node] = LogSeen(entries)

    def start(self, node: int, stored: ElectionState | None, entries: Sequence[Entry], start_offset: int = 0) -> None:
        """A process has recovered what is on its disk. entries: of its log, from an offset on."""
        before = self.committed_before(node, start_offset)
        found, log, state = [*before, *entries], self.logs[node], stored or ElectionState(0)
        possible = [one for one in (self.persisted[node], self.on_its_way[node]) if one is not None]
        is_kept = any(is_alike(state, one) for one in possible)
        self.hold(is_kept, "R7", f"node {node} has {state} on its disk, and not one of {possible}")
        self.persist(node, state)
        kept = [entry for entry in log.entries if entry.end_offset <= log.flushed_end]
        is_older = bool(before and kept) and (before[-1].epoch, before[-1].end_offset) > (
            kept[-1].epoch,
            kept[-1].end_offset,
        )
        is_kept = found[: len(kept)] == kept or is_older  # a snapshot of a newer epoch stands for another log
        self.hold(is_kept, "R8", f"node {node} lost what was on its disk")
        self.logs[node], self.applied[node], self._known[node] = LogSeen(found), 0, []

    def stop(self, node: int) -> None:
        """Of its log, only what is on disk counts."""
        log = self.logs[node]
        log.entries = [entry for entry in log.entries if entry.end_offset <= log.flushed_end]

    def look_at(self, node: int, voter: Voter) -> None:
        """After every event of a node."""
        is_on_disk = is_alike(voter.election, self.persisted[node])
        self.hold(is_on_disk, "R7", f"node {node} goes by an election state that is not on its disk")
        if isinstance(voter.role, Leader):
            self.look_at_leader(node, voter, voter.role)
        follows_itself = isinstance(voter.role, Follower) and voter.election.leader == node
        self.hold(not follows_itself, "KAFKA-18379", f"node {node} follows itself")
        end = self.committed[-1].end_offset if self.committed else 0
        known = voter.high_watermark
        self.hold(known <= end, "R4", f"node {node} takes {known} for committed, and {end} is")
        count = sum(log.has(self.committed, log.flushed_end) for log in self.logs)
        self.hold(2 * count > len(self.logs), "R6", "what is committed is not on the disks of a majority")

    def look_at_ends(self, node: int, ends: LogEnds) -> None:
        """A voter knows where its log ends, and each epoch of it begins, with that of the snapshot before."""
        known = [*ends.epochs.starts, (ends.start_offset, ends.end_offset), *ends.snapshots]
        if self._known[node] == known:
            return
        self._known[node] = known
        log, starts = self.logs[node], dict[int, int]()
        for before, entry in pairwise([None, *log.entries]):
            if entry is not None and entry.end_offset > ends.start_offset:
                starts.setdefault(entry.epoch, max(ends.start_offset, 0 if before is None else before.end_offset))
        covers = {epoch: end for end, epoch in ends.snapshots if end == ends.start_offset and epoch not in starts}
        found = [*covers.items(), *starts.items()]
        is_known = (ends.end_offset, ends.epochs.starts) == (log.end_offset, found)
        self.hold(is_known, "R9", f"node {node} takes its log for {ends}, and its epochs begin at {found}")

    def look_at_leader(self, node: int, voter: Voter, role: Leader) -> None:
        first = self.leaders.setdefault(voter.epoch, node)
        self.hold(first == node, "R1", f"{first} and {node} lead epoch {voter.epoch}")
        if voter.epoch >= self.committed_in:
            log = self.logs[node]
            self.hold(log.has(self.committed, log.end_offset), "R2", f"node {node} leads without what is committed")
        for other, end in role.ends.items():
            is_held = self.persisted[other].epoch != voter.epoch or end <= self.logs[other].flushed_end
            self.hold(is_held, "R8", f"node {other} has acknowledged {end}, and it is not on its disk")
