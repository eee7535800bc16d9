"""Raw traces of voters are held to the rules of the quorum, and a lie in them is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from impl.kraft.raft.messages import FetchRequest, Request, VoteRequest
from impl.kraft.raft.voter import Voter
from impl.kraft.recorded.events import RawTraceError, merged, voters_of
from impl.kraft.server.raw_trace import election_of, view_of
from impl.kraft.simulation.invariants import BrokenRuleError, Rules
from impl.kraft.simulation.recording import Recording
from impl.kraft.simulation.replayed import hold
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import plan_of
from impl.kraft.storage.batches import Entry
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId
from impl.kraft.tools.trace import main

Event = dict[str, Any]
Lie = Callable[[list[Event]], None]
SEEDS = (1, 2, 3, 5, 10)
"""Of three voters, with crashes, truncations and several epochs."""
SEED = 5


class Writing(Rules):
    """Rules that write what they are told as the voters would, with the numbers of events for times."""

    def __init__(self, voters: int) -> None:
        super().__init__(voters)
        self.lines: list[bytes] = []
        self._voters, self._is_starting = list(range(voters)), False

    def note(self, node: int, event: str, **fields: Any) -> None:
        at = len(self.lines)
        about = {"node": node, "process": 0, "number": at, "mono_ns": at, "event": event}
        self.lines.append(msgspec.json.encode({**about, **fields}))

    def start(self, node: int, stored: ElectionState | None, entries: Sequence[Entry], start_offset: int = 0) -> None:
        self._is_starting = True
        super().start(node, stored, entries, start_offset)
        self._is_starting = False
        election = election_of(stored)
        self.note(
            node, "started", voters=self._voters, election=election, start_offset=start_offset, batches=list(entries)
        )

    def begin_to_persist(self, node: int, state: ElectionState) -> None:
        super().begin_to_persist(node, state)
        self.note(node, "persisting", election=election_of(state))

    def persist(self, node: int, state: ElectionState) -> None:
        super().persist(node, state)
        if not self._is_starting:
            self.note(node, "persisted", election=election_of(state))

    def append(self, node: int, entries: Sequence[Entry]) -> None:
        super().append(node, entries)
        self.note(node, "appended", batches=list(entries))

    def truncate(self, node: int, end_offset: int) -> None:
        super().truncate(node, end_offset)
        self.note(node, "truncated", end_offset=end_offset)

    def flush(self, node: int, end_offset: int) -> None:
        super().flush(node, end_offset)
        self.note(node, "flushed", end_offset=end_offset)

    def send(self, node: int, request: Request) -> None:
        super().send(node, request)
        match request:
            case FetchRequest(fetch_offset=offset):
                self.note(node, "fetched", offset=offset)
            case VoteRequest(pre_vote=False):
                self.note(node, "asked_for_vote", epoch=request.epoch, end_offset=request.last_offset)

    def install(self, node: int, snapshot_id: SnapshotId) -> None:
        super().install(node, snapshot_id)
        self.note(node, "installed", snapshot_id=snapshot_id)

    def commit(self, node: int, end: int, voter: Voter) -> None:
        super().commit(node, end, voter)
        self.note(node, "committed", end_offset=end, voter=view_of(voter))

    def look_at(self, node: int, voter: Voter) -> None:
        super().look_at(node, voter)
        self.note(node, "seen", voter=view_of(voter))


def lines_of(seed: int) -> list[bytes]:
    rules = Writing(3)
    Simulation(plan_of(seed), rules=rules).go()
    return rules.lines


def events_of(lines: Sequence[bytes]) -> list[Event]:
    return merged([("raw", b"\n".join([*lines, b""]))])


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read_is_what_was_done(seed: int) -> None:
    """The trace of the spec is that of the run itself."""
    recorded: list[str] = []
    rules = Recording(3, recorded.append, "")
    Simulation(plan_of(seed), rules=rules).go()
    rules.close()
    read: list[str] = []
    replayed = Recording(3, read.append, "")
    hold(events_of(lines_of(seed)), replayed)
    replayed.close()
    assert read == recorded and replayed.committed == rules.committed and len(rules.committed) > 0


def last(events: list[Event], kind: str) -> Event:
    return next(event for event in reversed(events) if event["event"] == kind)


def votes_twice(events: list[Event]) -> None:
    vote = last(events, "persisted")
    vote["election"]["voted_for"] = 0
    events.insert(events.index(vote) + 1, vote | {"election": vote["election"] | {"voted_for": 1}})


def goes_back(events: list[Event]) -> None:
    persisted = last(events, "persisted")
    events.insert(events.index(persisted) + 1, persisted | {"election": persisted["election"] | {"epoch": 0}})


def another_leads(events: list[Event]) -> None:
    seen = next(event for event in reversed(events) if event["event"] == "seen" and event["voter"]["role"] == "Leader")
    other = next(
        event for event in events
        if event["event"] == "seen" and event["voter"]["election"]["epoch"] == seen["voter"]["election"]["epoch"]
        and event["node"] != seen["node"] and events.index(event) > events.index(seen) - 200
    )  # fmt: skip
    other["voter"]["role"] = "Leader"


def another_batch(events: list[Event]) -> None:
    last(events, "appended")["batches"][-1][2] ^= 1


def no_flush(events: list[Event]) -> None:
    events[:] = [event for event in events if event["event"] != "flushed" or event["node"] != 1]


def committed_within_a_batch(events: list[Event]) -> None:
    """One of several records."""
    ends = {batch[0] for event in events for batch in event.get("batches", ())}
    of_several = [event for event in events if event.get("end_offset", 0) - 1 not in {0, *ends}]
    last(of_several, "committed")["end_offset"] -= 1


def committed_again(events: list[Event]) -> None:
    committed = last(events, "committed")
    events.insert(events.index(committed) + 1, dict(committed))


def lost_what_was_flushed(events: list[Event]) -> None:
    started = last(events, "started")
    started["batches"] = started["batches"][:1]


def acts_before_its_vote_is_on_disk(events: list[Event]) -> None:
    at = events.index(last(events, "persisted"))
    events.insert(at + 3, events.pop(at))


LIES: dict[str, Lie] = {
    "R7": votes_twice, "R10": goes_back, "R1": another_leads, "R3": another_batch, "R8": no_flush,
    "R4": committed_within_a_batch, "R5": committed_again, "R8, ": lost_what_was_flushed,
    "R7, ": acts_before_its_vote_is_on_disk,
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("rule", LIES)
def test_a_lie_breaks_a_rule(rule: str) -> None:
    events = events_of(lines_of(SEED))
    LIES[rule](events)
    with pytest.raises(BrokenRuleError, match=rf"^raw:\d+: {rule.removesuffix(', ')}: "):
        hold(events, Rules(3))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{\n", "raw, line 1: no event of a node"),
        (b"[]\n", "raw, line 1: no event of a node"),
        (b'{"mono_ns": 1}\n', "raw, line 1: no event of a node"),
        (b'{"mono_ns": 1, "number": 1, "node": 0, "event": "seen"}\n', "no process starts"),
    ],
)
def test_what_no_voter_writes_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(RawTraceError, match=says):
        voters_of(merged([("raw", data)]))


def test_an_event_that_no_voter_writes_is_refused() -> None:
    events = events_of(lines_of(SEED))
    events[-1]["event"] = "danced"
    with pytest.raises(RawTraceError, match=r"raw:\d+: no event of a node .*danced"):
        hold(events, Rules(3))


def test_a_line_that_was_being_written_when_the_process_was_killed_is_left_out() -> None:
    lines = lines_of(SEED)
    assert len(merged([("raw", b"\n".join(lines))])) == len(lines) - 1


def test_the_tool_projects_and_says_which_rule_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, raw, out = lines_of(SEED), tmp_path / "raw.ndjson", tmp_path / "trace.ndjson"
    raw.write_bytes(b"\n".join([*lines, b""]))
    assert main(["project", str(raw), "--out", str(out)]) == 0
    assert "3 voters: the rules are kept" in capsys.readouterr().out and '"kraft/quorum_log"' in out.read_text()
    raw.write_bytes(b"\n".join([line for line in lines if b'"flushed"' not in line] + [b""]))
    assert main(["project", str(raw)]) == 1
    assert "a rule is broken\n" in capsys.readouterr().out
    assert main(["project", str(tmp_path / "none")]) == 2
    assert "none: No such file" in capsys.readouterr().err
