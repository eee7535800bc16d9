"""A voter: its election state, role and log, and the transitions from role to role that elections and fetches share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.effects import Answer, Effect, Effects, Persist, Renounce, Send, SetTimer, Timer
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import RESPONSES, FetchResponse, Request, Response
from impl.kraft.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.storage.election import ElectionState


@dataclass(slots=True)
class Voter:
    """What the parts of the core share. effects: asked for by the input that is being handled.

    freezing: a snapshot is being made durable; nothing is fetched meanwhile, whoever leads.
    """

    settings: RaftSettings
    election: ElectionState
    role: Role
    log: LogEnds
    high_watermark: int = 0
    now_ms: int = 0
    freezing: bool = False
    effects: Effects = field(default_factory=list)

    @property
    def node_id(self) -> int:
        return self.settings.node_id

    @property
    def epoch(self) -> int:
        return self.election.epoch

    def copy(self) -> Voter:
        return replace(self, log=self.log.copy(), effects=list(self.effects))

    def ask_for(self, *effects: Effect) -> None:
        self.effects += effects

    def send(self, to: int, request: Request) -> None:
        self.ask_for(Send(to, request))

    def set_timer(self, timer: Timer, after_ms: int, spread_ms: int = 0, peer: int | None = None) -> None:
        self.ask_for(SetTimer(timer, self.now_ms + after_ms, spread_ms, peer))

    def await_leader(self) -> None:
        """Stand unless a leader is heard of within an election timeout."""
        self.set_timer(Timer.ELECTION, self.settings.election_timeout_ms, self.settings.election_timeout_ms)

    def await_fetch(self) -> None:
        """Stand unless the leader answers a fetch within a fetch timeout, and a part of it that is drawn.

        A leader answers its followers at the same moment; if they stood at the same moment, too, none would win.
        """
        self.set_timer(Timer.ELECTION, self.settings.fetch_timeout_ms, self.settings.fetch_timeout_ms // 4)

    def persist(self, state: ElectionState) -> None:
        """Nothing that is asked for after this happens before the state is on disk."""
        if state != self.election:
            self.election = state
            self.ask_for(Persist(state))

    def response(self, request: Request, error: ErrorCode = ErrorCode.NONE) -> Response:
        """A response says which epoch this voter is in, and who leads it."""
        return RESPONSES[type(request)](error, self.election.leader, self.epoch)

    # From role to role.

    def enter_epoch(self, epoch: int, leader: int | None) -> None:
        """Take up a newer epoch, durably, and follow its leader, if one is known.

        Who waits for a leader already waits no longer for it: else one that cannot win, and stands again and again,
        would keep all others from standing.
        """
        self.leave_office()
        is_waiting = isinstance(self.role, Unattached | Prospective | Candidate)
        state = ElectionState(epoch, None if leader == self.node_id else leader, None, self.settings.voters)
        self.persist(state)
        if state.leader is None and is_waiting:
            self.role = Unattached()
        else:
            self.attach()

    def learn_leader(self, leader: int | None) -> None:
        """Follow the leader of its own epoch, whom it did not know."""
        self.persist(replace(self.election, leader=leader))
        self.attach()

    def attach(self) -> None:
        """Follow the leader that the election state names, or wait for one."""
        if self.election.leader is None:
            self.role = Unattached()
            self.await_leader()
        else:
            self.role = Follower()
            self.await_fetch()

    def leave_office(self) -> None:
        """A leader leads no more: fetches that wait are answered (KAFKA-10677), the controller hears of it."""
        if not isinstance(self.role, Leader):
            return
        for parked in self.role.parked.values():
            self.ask_for(
                Answer(parked.call, FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, self.election.leader, self.epoch))
            )
        self.ask_for(Renounce(self.epoch))

    # Messages.

    def refusal(self, request: Request, sender: int, voter_id: int | None) -> ErrorCode:
        """Is a request between voters refused before its epoch is taken up? voter_id: for whom it is meant."""
        if self.settings.is_observer or sender not in self.settings.others:
            return ErrorCode.INCONSISTENT_VOTER_SET
        if voter_id not in (None, self.node_id):
            return ErrorCode.INVALID_VOTER_KEY
        return ErrorCode.NONE

    def hear_of(self, epoch: int, leader: int | None) -> None:
        """A message tells of an epoch and its leader. Nobody leads but a voter."""
        if leader not in self.settings.others:
            leader = None
        if epoch > self.epoch:
            self.enter_epoch(epoch, leader)
        elif epoch == self.epoch and leader is not None and self.election.leader is None:
            self.learn_leader(leader)


def role_at_start(election: ElectionState, node_id: int) -> Role:
    """The role that a voter finds in its file: a leader has resigned (KAFKA-10527, KAFKA-10661)."""
    if election.leader == node_id:
        return Resigned()
    if election.leader is not None:
        return Follower()
    return Candidate(frozenset({node_id})) if election.voted_for == node_id else Unattached()
