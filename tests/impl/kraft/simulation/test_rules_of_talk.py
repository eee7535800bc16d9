"""Rules of what voters say to each other: each is broken by a fault of the core within a few seeds."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import pytest

from tests.conform.faults.patched import patched


class Fault(NamedTuple):
    """A fragment of a function of the core, what stands for it, and the rule that is broken then."""

    function: str
    old: str
    new: str
    rule: str
    clusters: bool = False


FAULTS = {
    "who leads does not tell again who has not answered": Fault(
        "elections.retry", "leader.begin(voter, other)", "pass", "begin"
    ),
    "who has fetched from its leader would vote for another": Fault(
        "follower.go_on", "has_fetched=not role.is_left", "has_fetched=False", "KIP-996"
    ),
    "an answer does not renew the wait": Fault(
        "follower.go_on", "voter.await_fetch()", "pass", "patience"
    ),
    "who begins forgets its leader": Fault(
        "voter.role_at_start", "election.leader is not None", "False", "R7"
    ),
    "who fetches from nowhere gets no answer": Fault(
        "Raft._handle_fetch",
        "voter.ask_for(Answer(call, voter.response(request, ErrorCode.INVALID_REQUEST)))",
        "pass",
        "strangers",
    ),
    "a piece of a snapshot may be of any size": Fault(
        "leader.handle_fetch_snapshot",
        "min(request.max_bytes, voter.settings.fetch_snapshot_max_bytes)",
        "2 * request.max_bytes",
        "pieces of snapshots",
        clusters=True,
    ),
    "who has refused is not counted": Fault(
        "elections.on_vote_response", "role.refused | {other}", "role.refused", "votes"
    ),
    "who is asked again counts as before": Fault("elections.ask_again", "refused=role.refused - {other}", "", "votes"),
    "who lost its leader later is not asked again": Fault(
        "elections.handle_vote", "ask_again(voter, request.candidate_id)", "", "asked again"
    ),
    "who has said yes is asked again": Fault(
        "elections.retry", "role.granted | role.refused", "role.refused", "asked twice"
    ),
    "who cannot win waits for a whole election": Fault(
        "elections.lose",
        "voter.settings.election_backoff_max_ms",
        "9 * voter.settings.election_timeout_ms",
        "giving up",
    ),
    "who only asks goes on": Fault("elections.lose", "voter.attach()", "pass", "giving up"),
    "the last in turn waits too long": Fault(
        "elections.backoff_ms",
        "voter.settings.election_backoff_max_ms * place // max(1, len(successors))",
        "2 * voter.settings.election_backoff_max_ms",
        "left",
    ),
    "the first in turn waits, too": Fault(
        "elections.backoff_ms",
        "voter.settings.election_backoff_max_ms * place // max(1, len(successors))",
        "voter.settings.election_backoff_max_ms // max(1, len(successors))",
        "left",
    ),
    "who does not lead is not refused": Fault(
        "Raft.append",
        'raise NotLeadingError(f"node {voter.node_id} is in epoch {voter.epoch}, and does not lead epoch {epoch}")',
        "return []",
        "strangers",
    ),
    "that a leader leads no more is not heard": Fault(
        "follower.end_fetch", "response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER", "False", "left"
    ),
    "a fetch that was given up ends the wait": Fault(
        "follower.end_fetch",
        "response is not None and response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and not role.is_left",
        "response is None",
        "waiting",
    ),
    "an error says that the leader is alive": Fault(
        "follower.on_fetch_response",
        "response.error is not ErrorCode.NONE",
        "",
        "backing off",
    ),
    "who was left goes on waiting": Fault(
        "follower.go_on", "if not role.is_left:\n    voter.await_fetch()", "voter.await_fetch()", "waiting"
    ),
    "who follows stands too soon": Fault(
        "Voter.await_fetch",
        "self.set_timer(Timer.ELECTION, self.settings.fetch_timeout_ms, self.settings.fetch_timeout_ms // 4)",
        "self.set_timer(Timer.ELECTION, self.settings.fetch_timeout_ms // 2, self.settings.fetch_timeout_ms // 4)",
        "patience",
    ),
    "an answer that comes late counts": Fault(
        "follower.on_fetch_response", "not isinstance(role, Follower) or request != role.fetching",
        "not isinstance(role, Follower)", "late answers",
    ),
    "who was refused fetches at once": Fault(
        "follower.on_fetch_response", "backs_off=True", "backs_off=False", "backing off"
    ),
    "a piece that was refused is asked for at once": Fault(
        "follower.on_piece", "backs_off=True", "backs_off=False", "backing off", clusters=True
    ),
    "who does not answer is not asked again": Fault(
        "Raft.on_response", "voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=to)", "pass", "asking"
    ),
    "nobody is asked again": Fault("Raft.on_timer", "elections.retry(voter, peer)", "pass", "asking"),
    "a fetch that failed is the last": Fault(
        "follower.on_fetch_response",
        "voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=voter.election.leader)",
        "pass",
        "fetching",
    ),
    "an error is a vote": Fault(
        "elections.on_vote_response",
        "not is_current or response.error is not ErrorCode.NONE",
        "not is_current",
        "votes",
    ),
    "who leads says so too seldom": Fault(
        "leader.begin_all", "voter.settings.fetch_timeout_ms // 2", "voter.settings.fetch_timeout_ms", "begin"
    ),
    "who leads goes on without a majority": Fault(
        "RaftSettings.check_quorum_ms", "self.fetch_timeout_ms * 3 // 2", "self.fetch_timeout_ms * 2", "check_quorum"
    ),
    "a leader resigns from another epoch": Fault("Raft.resign", "voter.epoch == epoch", "", "resigns"),
    "fetches that wait are forgotten": Fault(
        "Voter.leave_office",
        "self.ask_for(Answer(parked.call,"
        " FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, self.election.leader, self.epoch)))",
        "pass",
        "fetches are answered",
    ),
    "the epoch before a log is noted twice": Fault(
        "LogEnds._note_epoch_before", "(not starts or starts[0][0] > epoch)", "True", "R9", clusters=True
    ),
}  # fmt: skip


@pytest.mark.sample(3, verify=16)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_rule_can_be_broken(fault: Fault) -> None:
    found = []
    with patched(fault.function, fault.old, fault.new, adapter="raft"):
        failure = importlib.import_module("impl.kraft.simulation.shrinking").failure
        swarm = importlib.import_module("impl.kraft.simulation.swarm")
        plan_of = swarm.cluster_plan_of if fault.clusters else swarm.plan_of
        for seed in range(30 if fault.clusters else 100):
            found.append(failure(plan_of(seed)))
            if found[-1] is not None and f": {fault.rule}" in found[-1]:
                return
    raise AssertionError([one for one in found if one])
