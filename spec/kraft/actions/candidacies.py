"""Steps of the quorum beyond those of `quorum`: leaders that step down, epochs that nobody leads, lost batches.

With them it has room for what the quorum of messages and disks (`raft`) shows to brokers. An election that comes late,
in an epoch that newer ones have passed by, is one of `quorum`, taken when the vote is given that makes the majority and
not when the candidate learns of it. A batch that a standby copies when its leader has cut it off already is copied
earlier here. Leaves out: two that stand in one epoch; who is not elected there uses up no more than an epoch.
"""

from __future__ import annotations

from checker.lang import action, fresh, require
from spec.kraft.actions.quorum import (
    has_batch,
    is_raft_leader,
    stepped_down,
    without_replies_of,
)
from spec.kraft.design import Design
from spec.kraft.state import Cluster, committed
from spec.kraft.types import ControllerEpoch, Process, Role, Voter


@action(
    who="controller {voter}",
    source="KIP-595, EndQuorumEpoch; KAFKA-15489",
    kafka="KafkaRaftClient.resign, LeaderState.timeUntilCheckQuorumExpires",
    deviates="while there is another election in the budget, so that somebody may lead after it",
    api="EndQuorumEpoch v0",
)
def renounce_epoch(s: Cluster, voter: Voter) -> None:
    """A leader leads its epoch no more, and nobody leads a newer one. It renounces."""
    controller = s.controllers[voter]
    require(is_raft_leader(controller) and s.faults.failovers < Design.max_failovers)
    for process in Process:
        s.processes[process] = without_replies_of(s.processes[process], frozenset({voter}))
    s.controllers[voter] = stepped_down(controller, controller.epoch, committed(s))


@action(
    who="controller {candidate}",
    source="KIP-595, Leader Election and Failure Recovery",
    kafka="KafkaRaftClient.transitionToCandidate",
    deviates="in an epoch of its own, while there is another election in the budget",
    api="Vote v0",
)
def stand_in_vain(s: Cluster, candidate: Voter) -> None:
    """A standby stands in a newer epoch, and is not elected: nobody leads that epoch."""
    require(s.controllers[candidate].role == Role.STANDBY and s.faults.failovers + 1 < Design.max_failovers)
    epoch = fresh(s, ControllerEpoch)
    s.controllers[candidate].epoch = epoch
    s.faults.failovers += 1


@action(
    who="controller {voter}",
    source="KIP-595, Vote; Fetch",
    kafka="KafkaRaftClient.maybeTransition, QuorumState.transitionToUnattached",
)
def learn_of_epoch(s: Cluster, voter: Voter, other: Voter) -> None:
    """A controller hears of an epoch newer than its own, from one that does not lead it. If it led, it renounces."""
    controller, source = s.controllers[voter], s.controllers[other]
    require(not is_raft_leader(source) and controller.epoch < source.epoch)
    for process in Process:
        s.processes[process] = without_replies_of(s.processes[process], frozenset({voter}))
    s.controllers[voter] = stepped_down(controller, source.epoch, committed(s))


@action(
    who="controller {voter}",
    source="KIP-595, Fetch",
    kafka="KafkaRaftClient.handleFetchResponse",
    deviates="none that most voters have: a leader that counts them may have committed what is before it, one by one",
)
def lose_batch(s: Cluster, voter: Voter) -> None:
    """A standby loses the last batch of its log, which it has not on disk yet, or whose fetch is answered too late."""
    controller = s.controllers[voter]
    require(not is_raft_leader(controller) and controller.lags_since is None and len(controller.log) > 0)
    require(s.faults.crashes < Design.max_crashes)
    last = len(controller.log) - 1
    holders = sum(1 for other in Voter if has_batch(s.controllers[other], controller.log[last], last))
    require(2 * holders <= Design.controllers)
    controller.log = controller.log[:last]
    s.faults.crashes += 1
