"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.raft.cluster import BrokenPromiseError, Log, MakeCore, Quorum, begun
from impl.adapters.raft.state_rules import key
from impl.adapters.raft.steps import DECIDED, STEPS
from impl.adapters.raft.views import QuorumView, expect, observe
from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft
from impl.kraft.raft.messages import VoteRequest, VoteResponse
from impl.kraft.storage.batches import RecordBatch, encode
from impl.kraft.storage.control import LeaderChange, leader_change
from impl.kraft.storage.election import ElectionState

Arguments = Mapping[str, Any]
ALWAYS_ON = (
    "own_epoch_commits", "restart_resigns", "restart_keeps_vote", "flush_before_fetch", "counts_flushed_only",
    "vote_is_durable", "vote_compares_logs", "candidate_flushes", "resigned_raises_epoch", "keeps_committed",
    "check_quorum", "prevote", "snapshot_ends_batch", "deletes_behind_snapshot",
)  # fmt: skip
"""Guards that the implementation has without a switch."""
NOT_ATTEMPTED = (
    "crash_voter", "lose_reply", "receive_fetch", "freeze_snapshot", "delete_batches", "fetch_snapshot",
)  # fmt: skip
"""Up to the world; elsewhere, what is tried is a message or a timer that comes although the spec does not have it."""


class RaftUnderTest:
    """A core of the quorum as `checker.conform.system.System` asks for it."""

    def __init__(self, make: MakeCore) -> None:
        self._make = make
        self._max_epoch = self._most_batches = 0

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        self._max_epoch, self._most_batches = constants["max_epoch"], constants["pending_batches"]
        off = [name for name in ALWAYS_ON if not constants[name]]
        if off:
            return f"it has no switch for {', '.join(off)}"
        missing = [action for action in actions if action not in STEPS]
        return f"no step is that of {', '.join(missing)}" if missing else ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Quorum:
        crashes = constants["max_crashes"] > 0
        voters = list(state.voters.values())
        if any(voter.role.name == "LEADER" for voter in voters):
            return _led(begun(self._make, (None,) * len(voters), ((),) * len(voters), crashes=crashes), state)
        stored = tuple(_stored(voter, len(voters)) for voter in voters)
        quorum = begun(self._make, stored, tuple(_log(voter) for voter in voters), crashes=crashes)
        granted = {
            (candidate.index, voter.index): epoch
            for candidate, epochs in state.granted_in.items()
            for voter, epoch in epochs.items()
            if epoch > 0
        }
        votes = {pair: _vote(*pair, epoch) for pair, epoch in granted.items() if pair[0] != pair[1]}
        return replace(quorum, votes=votes, stood=tuple(granted.get((node, node), 0) for node in range(len(voters))))

    def step(self, system: Quorum, action: str, arguments: Arguments, before: Any) -> Quorum | Refusal:
        try:
            return STEPS[action](system, arguments)
        except BrokenPromiseError as error:
            return Refusal(str(error))

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return [action for action in STEPS if action not in NOT_ATTEMPTED]

    def attempt(self, system: Quorum, action: str, arguments: Arguments, before: Any) -> Quorum | Refusal | None:
        """None at the bounds of the model."""
        if action in NOT_ATTEMPTED:
            return None
        node = next(iter(arguments.values())).index
        voter = before.voters[next(iter(arguments.values()))]
        if action in ("time_out", "leave_resigned") and voter.epoch >= self._max_epoch:
            return None
        if action == "append_as_leader" and len(system.hosts[node].log) >= self._most_batches:
            return None
        if action == "adopt_epoch" and arguments["voter"] == arguments["other"]:
            return None
        after = STEPS[action](system, arguments)
        if action == "fetch_from_leader" and not isinstance(after, Refusal):
            return _without_news(system, after, arguments)
        return after

    def receivers(
        self, system: Quorum, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return ()

    def observe(self, system: Quorum) -> QuorumView:
        return observe(system)

    def expect(self, state: Any) -> QuorumView:
        return expect(state)

    def key(self, system: Quorum) -> Hashable:
        return key(system)


def _without_news(before: Quorum, after: Quorum, arguments: Arguments) -> Quorum:
    """A fetch that waits in vain is answered all the same; the spec leaves that out."""
    follower = arguments["follower"].index
    reply = after.hosts[follower].reply
    is_empty = reply is not None and reply.diverging is reply.snapshot is reply.batch is None
    return after.with_host(follower, before.hosts[follower]) if is_empty else after


# Where a model begins.


def _stored(voter: Any, voters: int) -> ElectionState | None:
    if voter.epoch == 0:
        return None
    leader, voted_for = (None if one is None else one.index for one in (voter.leader, voter.voted_for))
    return ElectionState(voter.epoch, leader, voted_for, tuple(range(voters)))


def _log(voter: Any) -> Log:
    """Batches as their leaders wrote them."""
    log: list[bytes] = []
    end = epoch = 0
    for entry in voter.log:
        change = leader_change(LeaderChange(0, (), ()))
        records = DECIDED if entry.epoch == epoch else (change,)
        batch = RecordBatch(end, entry.epoch, 0, records, is_control=entry.epoch > epoch)
        log.append(encode(batch))
        end, epoch = batch.end_offset, entry.epoch
    return tuple(log)


def _vote(candidate: int, voter: int, epoch: int) -> tuple[VoteRequest, VoteResponse]:
    request = VoteRequest("", voter, candidate, epoch, 0, 0)
    return request, VoteResponse(ErrorCode.NONE, None, epoch, vote_granted=True)


def _led(quorum: Quorum, state: Any) -> Quorum:
    """Voter 0 leads; the others have its first batch on disk, and it has heard so."""
    first, *others = state.voters
    names = {"candidate": first, "leader": first, "other": first}
    script: list[tuple[str, Any]] = [("time_out", first), ("vote", others[0]), ("receive_vote", others[0])]
    script += [("adopt_epoch", other) for other in others]
    for action in ("fetch_from_leader", "receive_fetch", "fetch_from_leader", "lose_reply"):
        script += [(action, other) for other in others]
    for action, other in script:
        after = STEPS[action](quorum, {**names, "voter": other, "follower": other})
        if isinstance(after, Refusal):
            raise BrokenPromiseError(f"{action}: {after.reason}")
        quorum = after
    return quorum


SYSTEM = RaftUnderTest(Raft)
