"""The rules, and beside them a trace of the run, by the steps of the quorum's log on one page (`kraft/quorum_log`).

On the page a voter that stands keeps its log: the step is recorded once it asks for votes, and its log is on disk. It
stands until it knows of another leader: should it only ask for pre-votes, its file still says that it stands. A leader
counts on who takes part in its epoch: a fetch that is under way when a voter leaves the epoch is recorded then. A vote
for one that no longer stands is none on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from impl.kraft.raft.messages import FetchRequest, Request, VoteRequest
from impl.kraft.raft.roles import Leader
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.invariants import Rules
from impl.kraft.storage.batches import Entry
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId
from traces.events import end_line, event_line, header_line

MOST_BATCHES, MOST_EPOCHS = 16, 12
"""A trace ends before a log is longer, or an epoch newer: the page has room for so many."""


@dataclass
class Member:
    """A voter as the page has it. Ends are counts of batches.

    supporters: while it stands. fetched: from where its last fetch was. cutting: a truncation that may yet fail.
    """

    epoch: int = 0
    supporters: set[int] = field(default_factory=set)
    leads: bool = False
    log: list[Entry] = field(default_factory=list)
    kept: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    fetched: int = 0
    cutting: int | None = None
    has_started: bool = False

    def batches(self, end_offset: int) -> int:
        return sum(1 for entry in self.log if entry.end_offset <= end_offset)

    def enter(self, epoch: int) -> None:
        self.epoch, self.supporters, self.leads, self.ends, self.fetched = epoch, set(), False, {}, 0


def name(node: int) -> str:
    return f"controller{node}"


def batch(entry: Entry) -> dict[str, int]:
    return {"epoch": entry.epoch, "crashes": 0}


class Recording(Rules):
    """Rules that write a trace. write: is given its lines."""

    def __init__(self, voters: int, write: Callable[[str], None], about: str) -> None:
        super().__init__(voters)
        self.members = [Member() for _ in range(voters)]
        self.events = 0
        self.is_over = False
        self._write = write
        write(header_line("kraft/quorum_log", name=about, constants={"controllers": voters}))

    def close(self) -> None:
        """No more is recorded: the run is over, or the page has no room for what comes."""
        if not self.is_over:
            self.is_over = True
            self._write(end_line(self.events))

    def record(self, action: str, node: int, by: str = "voter", **parameters: Any) -> None:
        """A step of a node, after which it is as it is now."""
        member = self.members[node]
        if member.epoch > MOST_EPOCHS or len(member.log) > MOST_BATCHES:
            self.close()
        if self.is_over:
            return
        state = {
            "epoch": member.epoch,
            "leads": member.leads,
            "supporters": [name(one) for one in sorted(member.supporters)],
            "log": list(map(batch, member.log)),
            "kept": member.kept,
            "ends": {name(one): end for one, end in member.ends.items()},
        }
        self._write(event_line(action, {by: name(node), **parameters}, {"members": {name(node): state}}))
        self.events += 1

    # Votes.

    def persist(self, node: int, state: ElectionState) -> None:
        super().persist(node, state)
        self.settle(node)
        member, candidate = self.members[node], state.voted_for
        if member.epoch < state.epoch and candidate != node:
            self.promise(node, state.epoch)
        if candidate is None or candidate == node or member.epoch != state.epoch:
            return
        supporters = self.members[candidate].supporters
        if self.members[candidate].epoch == state.epoch and supporters and node not in supporters:
            supporters.add(node)
            self.record("grant", node, candidate=name(candidate))

    def promise(self, node: int, epoch: int) -> None:
        self.count_what_is_under_way(node)
        self.members[node].enter(epoch)
        self.record("promise", node, epoch=epoch)

    def send(self, node: int, request: Request) -> None:
        super().send(node, request)
        self.settle(node)
        member = self.members[node]
        match request:
            case VoteRequest(pre_vote=False, epoch=epoch) if member.epoch < epoch:
                if member.epoch < epoch - 1:
                    self.promise(node, epoch - 1)  # it stood there, too, and asked nobody
                self.count_what_is_under_way(node)
                member.enter(epoch)
                member.supporters = {node}
                member.kept = len(member.log)
                self.record("stand", node, "candidate")
            case FetchRequest(fetch_offset=end):
                member.fetched = member.batches(end)

    # Logs.

    def append(self, node: int, entries: Sequence[Entry]) -> None:
        super().append(node, entries)
        self.settle(node)
        for entry in entries:
            self.add(node, entry)

    def add(self, node: int, entry: Entry) -> None:
        member = self.members[node]
        member.log.append(entry)
        if member.leads:
            self.record("append_batch", node, "leader", batch=batch(entry), kept=member.kept)
        elif member.supporters:
            member.leads, member.supporters = True, set()
            self.record("lead_epoch", node, "candidate", first=batch(entry), kept=member.kept)
        else:
            self.record("copy_batch", node, kept=member.kept)

    def truncate(self, node: int, end_offset: int) -> None:
        super().truncate(node, end_offset)
        self.settle(node)
        self.members[node].cutting = self.members[node].batches(end_offset)

    def settle(self, node: int) -> None:
        """The node goes on: a truncation that was asked for is done."""
        member = self.members[node]
        end, member.cutting = member.cutting, None
        if end is not None and end < len(member.log):
            self.cut(member, end)
            self.record("cut", node, end=end)

    def cut(self, member: Member, end: int) -> None:
        del member.log[end:]
        member.kept = min(member.kept, end)

    def flush(self, node: int, end_offset: int) -> None:
        super().flush(node, end_offset)
        self.settle(node)
        member = self.members[node]
        end = member.batches(end_offset)
        if member.kept < end:
            member.kept = end
            self.record("keep", node, end=end)

    def install(self, node: int, snapshot_id: SnapshotId) -> None:
        super().install(node, snapshot_id)
        self.settle(node)
        member = self.members[node]
        member.log = [*self.logs[node].entries]
        member.kept = len(member.log)
        self.record("replace_log", node, end=member.kept)

    def start(self, node: int, stored: ElectionState | None, entries: Sequence[Entry], start_offset: int = 0) -> None:
        """What was being done when the process ended is done, or not, as its disk has it."""
        member, found = self.members[node], [*self.committed_before(node, start_offset), *entries]
        if member.cutting is not None and member.cutting < len(found):
            member.cutting = None
        self.settle(node)
        for entry in found[len(member.log) :]:
            self.add(node, entry)
        if member.has_started:
            self.cut(member, len(found))
            member.kept, member.leads, member.ends = len(found), False, {}
            self.record("lose_tail", node, end=len(found))
        member.has_started = True
        super().start(node, stored, entries, start_offset)

    # What is committed.

    def commit(self, node: int, end: int, voter: Voter) -> None:
        super().commit(node, end, voter)
        self.settle(node)
        self.count(node, voter)
        self.record("learn_committed", node, end=self.members[node].batches(end))

    def look_at(self, node: int, voter: Voter) -> None:
        super().look_at(node, voter)
        self.settle(node)
        self.count(node, voter)
        member = self.members[node]
        if voter.epoch != member.epoch:
            return
        if member.leads and not isinstance(voter.role, Leader):
            member.leads, member.ends = False, {}
            self.record("step_down", node, "leader")
        if member.supporters and voter.election.leader not in (None, node):
            member.supporters = set()
            self.record("withdraw", node, "candidate")

    def count(self, node: int, voter: Voter) -> None:
        """A leader counts on those that have fetched from it."""
        member = self.members[node]
        if isinstance(voter.role, Leader) and member.leads:
            for other, end_offset in voter.role.ends.items():
                self.count_on(node, other, member.batches(end_offset))

    def count_on(self, node: int, other: int, end: int) -> None:
        member = self.members[node]
        if member.ends.get(other, 0) < end:
            member.ends[other] = end
            self.record("count_on", node, "leader", voter=name(other), end=end)

    def count_what_is_under_way(self, node: int) -> None:
        """The voter is about to leave its epoch, and its last fetch may still land."""
        leaving = self.members[node]
        for number, member in enumerate(self.members):
            is_valid = member.log[: leaving.fetched] == leaving.log[: leaving.fetched]
            if member.leads and member.epoch == leaving.epoch and number != node and is_valid:
                self.count_on(number, node, leaving.fetched)
