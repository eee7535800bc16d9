"""Plant the bug of each switch of the spec, or leave out a rule of a node or of the disk; count the seeds until found.

python -m tests.impl.kraft.simulation.planted [--most 300] [--starts 3] [--results FILE] [WORD ...] (only what has each
WORD in its name). What FILE has is not counted again. Exit code 1: some are not found within the most seeds, or not
quickly in the median.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.conform.faults.patched import patched
from tests.impl.kraft.storage.test_planted_faults import FAULTS, planted

MOST_SEEDS = 300
MEDIAN_SEEDS = 200
STARTS = (0, 10_000, 20_000)
OTHERS = "dict.fromkeys((one for one in election.voters if one != node_id), 0)"

PLANTED: dict[str, tuple[str, str, str]] = {
    "own_epoch_commits": (
        "leader.advance",
        "end <= max(voter.high_watermark, role.epoch_start)",
        "end <= voter.high_watermark",
    ),
    "restart_resigns": ("role_at_start", "Resigned()", f"Leader(0, {OTHERS}, {OTHERS})"),
    "restart_keeps_vote": (
        "Raft.__init__",
        "stored or ElectionState(0, voters=settings.voters)",
        "ElectionState(stored.epoch) if stored and stored.leader == settings.node_id else stored or ElectionState(0)",
    ),
    "flush_before_fetch": ("follower.fetch", "not log.is_flushed", "False"),
    "counts_flushed_only": ("leader.advance", "voter.log.flushed_end", "voter.log.end_offset"),
    "vote_is_durable": (
        "elections.grant",
        "voter.persist(replace(election, voted_for=request.candidate_id))",
        "voter.election = replace(election, voted_for=request.candidate_id)",
    ),
    "vote_compares_logs": (
        "elections.grant",
        "not voter.log.is_as_good(request.last_epoch, request.last_offset)",
        "False",
    ),
    "candidate_flushes": (
        "elections.ask",
        "isinstance(role, Candidate) and not voter.log.is_flushed",
        "False",
    ),
    "resigned_raises_epoch": (
        "elections.on_election_timeout",
        "voter.enter_epoch(voter.epoch + 1, None)",
        "voter.attach()",
    ),
    "prevote": ("Simulation.raft_settings", "uses_prevote=swarm.uses_prevote", "uses_prevote=False"),
    "check_quorum": ("leader.check_quorum", "resign(voter)", "pass"),
    "cuts no further than its own end of an epoch": ("follower.is_truncated", "min(leader_end, end)", "leader_end"),
    "answers_what_is_committed": (
        "Simulation.append",
        "self.clients.begin(number, last.end_offset, last.crc, began)",
        "self.clients.begin(number, last.end_offset, last.crc, began)\nself.answer_clients(number, last.end_offset)",
    ),
    "deposed_answers_nobody": ("Simulation.carry_out", "self.clients.give_up(number)", "pass"),
    "reads_what_is_committed": ("Simulation.describe", "raft.voter.high_watermark", "raft.voter.log.end_offset"),
    "reads_do_not_go_back": (
        "Simulation.describe",
        "raft.voter.high_watermark",
        "raft.voter.high_watermark // (1 + self.events % 2)",
    ),
}
"""By switch, or rule: a function, a fragment of it, and what stands for that when the guard is left out.

The one of cutting takes more leaders than the models that conformance drives. The last four are about what a controller
answers its clients, which only their histories tell of.
"""


NODE_FAULTS: dict[str, tuple[str, str, str]] = {
    # Between the quorum and the controller.
    "the end of the log is cut": ("effects.note", "tail.cut(end_offset)", "pass"),
    "no more of it is cut than of the log": (
        "Tail.cut",
        "self._batches[-1].end_offset > end_offset",
        "self._batches[-1].end_offset >= end_offset",
    ),
    "all that is committed is replayed": (
        "Tail.begins_before",
        "self._batches[0].end_offset <= end_offset",
        "self._batches[0].end_offset < end_offset",
    ),
    "nothing else is replayed": ("Tail.begins_before", "self._batches[0].end_offset <= end_offset", "True"),
    "an active controller has its own batches": (
        "Node._done",
        "self._answered(now_ms) if self.controller.is_active else self._replayed(now_ms)",
        "self._replayed(now_ms)",
    ),
    "answers leave with what is committed": (
        "Node._answered",
        "self.controller.on_commit(self._committed_end, now_ms)",
        "self.controller.on_commit(self.raft.voter.log.end_offset, now_ms)",
    ),
    "a controller renounces with its voter": (
        "Node._done",
        "due += self._written(self.controller.renounce(now_ms), now_ms)",
        "pass",
    ),
    "a voter tells its controller that it leads no more": (
        "Voter.leave_office",
        "self.ask_for(Renounce(self.epoch))",
        "pass",
    ),
    "a control batch has offsets": ("codec.batch_of", "control_records=len(stored.records)", "control_records=2"),
    # In the controller.
    "an answer waits for the log": ("Controller.handle", "self._pending", "False"),
    "an answer waits for all that it rests on": ("Controller.on_commit", "self.waiting[0].offset < offset", "True"),
    "who waits is refused when the controller renounces": (
        "Controller.renounce",
        "type(waiting.response)(ErrorCode.NOT_CONTROLLER)",
        "waiting.response",
    ),
    "who was refused is answered once": ("Controller.renounce", "self.waiting.clear()", "pass"),
    "what was not committed is forgotten": ("Controller.renounce", "self._pending.clear()", "pass"),
    "a listing has what is committed alone": (
        "Controller.handle",
        "list_reassignments(self.committed, request)",
        "list_reassignments(self.speculative, request)",
    ),
    "a listing does not go back": (
        "Controller.handle",
        "list_reassignments(self.committed, request)",
        "list_reassignments(self.committed if call % 2 else Image(), request)",
    ),
    "what is decided is not committed yet": (
        "Controller.claim",
        "self.speculative = self.committed.copy()",
        "self.speculative = self.committed",
    ),
    "a registration has the offset of its record": ("registration.register", "image.offset + 1", "image.epoch"),
    "who is fenced leaves the ISR": ("partitions.taken_out", "rest or partition.isr", "partition.isr"),
    "who is fenced leads nothing": (
        "partitions.taken_out",
        "candidate != broker_id and image.is_active(candidate)",
        "True",
    ),
    "each change of a partition has its epoch": (
        "Partition.changed",
        "self.partition_epoch + 1",
        "self.partition_epoch",
    ),
    "a new leader has an epoch of its own": (
        "Partition.changed",
        "self.leader_epoch + 1 if leads_anew else self.leader_epoch",
        "self.leader_epoch",
    ),
    "a reassignment ends once all that it adds are in sync": (
        "partitions.completed",
        "not awaited <= set(isr)",
        "False",
    ),
    # Snapshots.
    "who lacks the start of the log gets a snapshot": ("LogEnds.snapshot_for", "not self.snapshots", "True"),
    "a snapshot ends behind what it has (KAFKA-14618)": ("Housekeeping.written", "image.offset + 1", "image.offset"),
    "a snapshot ends where a batch does (KAFKA-14619)": (
        "follower.on_frozen",
        "voter.log.restart_at(snapshot_id)",
        "voter.log.restart_at((snapshot_id[0] + 1, snapshot_id[1]))",
    ),
    "what a snapshot stands for is replayed no more": ("effects.note", "tail.restart()", "pass"),
    "a controller goes by the snapshot that it has loaded": ("Node.load", "self.controller = loaded", "pass"),
    "what a snapshot stands for is committed": (
        "follower.on_frozen",
        "voter.high_watermark = snapshot_id[0]",
        "pass",
    ),
    "so it is at a start": ("Raft.__init__", "log.committed_end", "0"),
    "what no snapshot stands for is not deleted (KAFKA-14238)": (
        "QuorumStorage.delete_before",
        "self.log.delete_before(snapshot_id[0])",
        "self.log.delete_before(self.log.end_offset)",
    ),
    "nothing is fetched while a snapshot is made durable": ("follower.fetch", "voter.freezing", "False"),
    "a log that is cut to its snapshot knows the epoch of that": (
        "LogEnds._note_epoch_before",
        "starts.insert(0, (epoch, end_offset))",
        "pass",
    ),
    # Which snapshots are written, and what is kept.
    "a snapshot is written after so many bytes": (
        "housekeeping.is_due",
        "size_bytes >= settings.max_record_bytes",
        "False",
    ),
    "a snapshot is written after so long": (
        "housekeeping.is_due",
        "0 < settings.max_interval_ms <= elapsed_ms",
        "False",
    ),
    "an interval of 0 is none": (
        "housekeeping.is_due",
        "0 < settings.max_interval_ms <= elapsed_ms",
        "settings.max_interval_ms <= elapsed_ms",
    ),
    "bytes count from the last snapshot on": (
        "Housekeeping.begin_anew",
        "self._size_bytes, self._since_ms = 0, now_ms",
        "self._since_ms = now_ms",
    ),
    "time counts from the last snapshot on": (
        "Housekeeping.begin_anew",
        "self._size_bytes, self._since_ms = 0, now_ms",
        "self._size_bytes = 0",
    ),
    "they count from a snapshot that is loaded, too": (
        "BrokerNode.load",
        "self._housekeeping.begin_anew(now_ms)",
        "pass",
    ),
    "batches count by their bytes": ("Node._taken", "len(batch.data)", "1"),
    "one snapshot is written at a time": (
        "Housekeeping.written",
        "self._is_writing or not is_due(self._settings, self._size_bytes, now_ms - self._since_ms)",
        "not is_due(self._settings, self._size_bytes, now_ms - self._since_ms)",
    ),
    "another may follow once it is on disk": ("Housekeeping.on_snapshot", "self._is_writing = False", "pass"),
    "a snapshot has the time of its last record": (
        "Housekeeping.note_applied",
        "self.last_contained_ms = timestamp_ms",
        "pass",
    ),
    "what is written does not change meanwhile": ("Housekeeping.written", "image.copy()", "image"),
    "the last snapshot is kept": ("housekeeping.oldest_to_keep", "len(kept.snapshots) > 1", "kept.snapshots"),
    "no more is deleted than must be": (
        "housekeeping.oldest_to_keep",
        "_is_too_much(settings, kept, now_ms)",
        "True",
    ),
    "what is too large is deleted": (
        "housekeeping._is_too_much",
        "0 <= settings.max_retention_bytes < sizes.total_bytes",
        "False",
    ),
    "what is too old is deleted": (
        "housekeeping._is_too_much",
        "0 <= settings.max_retention_ms < age_ms",
        "False",
    ),
    "below 0, no size is too large": (
        "housekeeping._is_too_much",
        "0 <= settings.max_retention_bytes < sizes.total_bytes",
        "settings.max_retention_bytes < sizes.total_bytes",
    ),
    "below 0, no age is too old": (
        "housekeeping._is_too_much",
        "0 <= settings.max_retention_ms < age_ms",
        "settings.max_retention_ms < age_ms",
    ),
    "the log before a snapshot goes with those before": (
        "StoredSizes.without_oldest",
        "self.segments[gone:]",
        "self.segments",
    ),
    "it goes from the disk": ("Raft.delete_before", "voter.ask_for(DeleteBefore(snapshot_id))", "pass"),
    "a node looks again what is old": (
        "Housekeeping.on_clean_timer",
        "self._clean_timer(now_ms)",
        "SetTimer(CLEAN_TIMER, 1 << 40)",
    ),
    # Between the quorum and a broker.
    "a broker replays what is committed alone": (
        "BrokerNode._committed",
        "self._tail.take(end_offset)",
        "self._tail.take(1 << 60)",
    ),
    "an observer asks who leads": (
        "follower.look_for_leader",
        "voter.send(other, next_fetch(voter, max_wait_ms=0))",
        "pass",
    ),
    # Between replicas of a partition.
    "a leader reckons with the ISR that it asks for": (
        "PartitionLeader.maximal_isr",
        "self.pending_change is None",
        "True",
    ),
    "what is committed the whole ISR has": (
        "PartitionLeader.replicated_offset",
        "follower.log_end_offset if follower is not None else 0",
        "follower.log_end_offset if follower is not None else offset",
    ),
    "who joins the ISR has what is committed": (
        "PartitionLeader.may_join",
        "follower.log_end_offset >= max(self.log.high_watermark, self.epoch_start_offset)",
        "True",
    ),
    "a leader sees where a follower's log parts from its own": (
        "PartitionLeader.divergence",
        "end.epoch < request.last_fetched_epoch or end.end_offset < request.fetch_offset",
        "False",
    ),
    "a follower cuts what its leader has not": (
        "PartitionFollower.fetched",
        "log.truncate(min(own.end_offset, response.diverging.end_offset))",
        "pass",
    ),
    "a follower cuts no more than that": (
        "PartitionFollower.fetched",
        "log.truncate(min(own.end_offset, response.diverging.end_offset))",
        "log.truncate(0)",
    ),
    "a follower knows of no more committed than it has": (
        "PartitionFollower.fetched",
        "min(response.high_watermark, log.end_offset)",
        "response.high_watermark",
    ),
    "an answer is of the epoch and offset that were asked for": (
        "PartitionFollower.fetched",
        "self.leader_epoch == request.current_leader_epoch and log.end_offset == request.fetch_offset",
        "True",
    ),
    "a leader goes on to commit once its ISR is smaller": (
        "Broker._high_watermark_due",
        "leader.replicated_offset <= leader.log.high_watermark",
        "True",
    ),
}
"""By the rule that is left out, of nodes and of what they decide: as above. Runs of clusters find them."""


DISK_RULES = {
    fault.rule: fault
    for fault in FAULTS
    if fault.module not in ("snapshots", "batches") and not fault.script and not fault.torn_sector
}
"""Those of the storage that random crashes can find, but for snapshots, which the simulation has not."""


@contextmanager
def fault_planted(name: str) -> Iterator[None]:
    """A switch is off, or a rule of the disk is left out."""
    if name in DISK_RULES:
        with planted(DISK_RULES[name]):
            yield
    else:
        with patched(*(PLANTED | NODE_FAULTS)[name], adapter="raft"):
            yield


def seeds_until_found(name: str, first: int, most: int = MOST_SEEDS) -> int | None:
    """How many seeds it takes, from a first one on. None: more than the most."""
    with fault_planted(name):
        shrinking = importlib.import_module("impl.kraft.simulation.shrinking")
        swarm = importlib.import_module("impl.kraft.simulation.swarm")
        plan_of = swarm.cluster_plan_of if name in NODE_FAULTS else swarm.plan_of
        for count in range(1, most + 1):
            if shrinking.failure(plan_of(first + count - 1)) is not None:
                return count
    return None


class Results:
    """Counts of seeds by fault and first seed, each kept in a file as soon as it is known."""

    def __init__(self, path: Path | None, most: int) -> None:
        self.path, self.most = path, most
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.known: dict[tuple[str, int, int], int | None] = {}
        for name, first, most_then, count in map(json.loads, lines):
            self.known[name, first, most_then] = count

    def count(self, name: str, first: int) -> int | None:
        key = name, first, self.most
        if key not in self.known:
            self.known[key] = seeds_until_found(name, first, self.most)
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([*key, self.known[key]]) + "\n")
        return self.known[key]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.simulation.planted", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help=f"seeds to try (default: {MOST_SEEDS})")
    parser.add_argument("--starts", type=int, default=len(STARTS), help=f"first seeds: so many of {STARTS}")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep each count, and go on from those there")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    results, is_slow = Results(options.results, options.most), False
    for name in (name for name in (*PLANTED, *NODE_FAULTS, *DISK_RULES) if all(word in name for word in options.words)):
        found = [results.count(name, first) for first in STARTS[: options.starts]]
        middle = median(count or options.most + 1 for count in found)
        is_slow |= middle > MEDIAN_SEEDS or None in found
        print(f"{name}: {', '.join(str(count or 'not found') for count in found)} seeds; median {middle}", flush=True)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
