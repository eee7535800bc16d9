"""The quorum of controllers (S14, L6): elections, logs that match, commits, standbys that catch up.

Leaves out: how a controller learns of a commit (it does at once).
"""

from __future__ import annotations

from checker.lang import Option, invariant, leads_to, transition_invariant, witness
from spec.kraft.actions.quorum import (
    empty_image,
    is_current_controller,
    is_deposed,
    is_raft_leader,
    may_commit,
    same_batches,
)
from spec.kraft.decisions.log import no_records, removes_something, replay
from spec.kraft.decisions.partition import is_reassigned
from spec.kraft.design import Design
from spec.kraft.metadata import Log, Metadata, Partition
from spec.kraft.state import Cluster, Controller, committed
from spec.kraft.types import ControllerEpoch, Role, TopicPartition, Voter


@invariant(source="KIP-595, Leader Completeness (S14)")
def newest_leader_has_what_is_committed(s: Cluster) -> bool:
    """The controller that was elected last, and has not been deposed, has all that is committed."""
    return all(
        not is_raft_leader(s.controllers[voter]) or s.controllers[voter].lags_since is None or is_deposed(s, voter)
        for voter in Voter
    )


@invariant(source="KIP-595, Log Matching (S14)")
def logs_match(s: Cluster) -> bool:
    """Where two logs have a batch of the same epoch at the same place, they are the same up to there."""
    return all(agree(s.controllers[voter], s.controllers[other]) for voter in Voter for other in Voter)


def agree(one: Controller, another: Controller) -> bool:
    if one.lags_since is not None or another.lags_since is not None:
        return True
    log, other = one.log, another.log
    return all(
        i >= len(log) or i >= len(other) or log[i].epoch != other[i].epoch or log[: i + 1] == other[: i + 1]
        for i in range(Design.pending_batches)
    )


@transition_invariant(source="KIP-595, Vote; LeaderChangeMessage")
def controller_leads_its_epoch(before: Cluster, after: Cluster) -> bool:
    """An elected controller begins with a batch of its own epoch, and leads until it hears of a newer one.

    It becomes active only if it has all that is committed, or nothing that is not.
    """
    return all(leads_its_epoch(before.controllers[voter], after.controllers[voter]) for voter in Voter)


def leads_its_epoch(old: Controller, new: Controller) -> bool:
    if old.epoch == new.epoch:
        return is_raft_leader(old) == is_raft_leader(new) and (old.role == new.role or may_be_active(new))
    return old.epoch < new.epoch and (not is_raft_leader(new) or (len(new.log) > 0 and new.log[-1].epoch == new.epoch))


def may_be_active(controller: Controller) -> bool:
    """One that has not heard that it was deposed may lack what its successor has committed."""
    return controller.lags_since is None or len(controller.log) == 0


@invariant(source="KIP-595, Leader Election (S14)")
def one_controller_leads_an_epoch(s: Cluster) -> bool:
    """No two controllers lead in one epoch."""
    return all(
        one == other
        or not is_raft_leader(s.controllers[one])
        or not is_raft_leader(s.controllers[other])
        or s.controllers[one].epoch != s.controllers[other].epoch
        for one in Voter
        for other in Voter
    )


@transition_invariant(source="KIP-595, Vote; EndQuorumEpoch; LeaderChangeMessage")
def controller_leads_an_epoch_once(before: Cluster, after: Cluster) -> bool:
    """A controller begins to lead in an epoch that is new to it, with a batch of it, and leads it no second time.

    It becomes active only if it has all that is committed, or nothing that is not, and may step down at any time.
    """
    return all(leads_once(before.controllers[voter], after.controllers[voter]) for voter in Voter)


def leads_once(old: Controller, new: Controller) -> bool:
    if is_raft_leader(new) and not (is_raft_leader(old) and old.epoch == new.epoch):
        return old.epoch < new.epoch and len(new.log) > 0 and new.log[-1].epoch == new.epoch
    return old.epoch <= new.epoch and (old.role == new.role or new.role == Role.STANDBY or may_be_active(new))


@invariant(source="KIP-595, Fetch; KIP-630")
def lagging_controller_keeps_nothing(s: Cluster) -> bool:
    """A controller that lacks something committed has neither image nor log, unless it leads."""
    return all(has_no_gap(s.controllers[voter]) for voter in Voter)


def has_no_gap(controller: Controller) -> bool:
    if controller.lags_since is None or is_raft_leader(controller):
        return True
    return len(controller.log) == 0 and controller.image == empty_image()


@transition_invariant(source="KIP-595, Fetch; Truncation")
def log_follows_its_leader(before: Cluster, after: Cluster) -> bool:
    """A standby adds to its log, batch by batch, or truncates it, by the log of the leader of its epoch, which
    has all that is committed. So has the controller from which it fetches committed batches that it lacks.
    """
    return before.stable != after.stable or all(
        is_as_before(before.controllers[voter], after.controllers[voter])
        or any(
            is_copied(before.controllers[voter], after.controllers[voter], before.controllers[leader])
            for leader in Voter
        )
        for voter in Voter
    )


def is_as_before(old: Controller, new: Controller) -> bool:
    """The step is none of a standby that stays one, or leaves its log as it was."""
    is_standby = old.role == Role.STANDBY and new.role == Role.STANDBY and old.epoch == new.epoch
    return not is_standby or (old.lags_since == new.lags_since and old.log == new.log)


def is_copied(old: Controller, new: Controller, leader: Controller) -> bool:
    if (
        not is_raft_leader(leader)
        or leader.epoch != old.epoch
        or leader.lags_since is not None
        or new.lags_since is not None
    ):
        return False
    if old.lags_since is not None:
        return len(new.log) == 0
    same = same_batches(old.log, leader.log)
    return new.log == (old.log[:same] if same < len(old.log) else leader.log[: same + 1])


@transition_invariant(source="KIP-595, High watermark")
def commit_leaves_logs_that_have_it(before: Cluster, after: Cluster) -> bool:
    """When a batch commits, it leaves the log of whoever has it and can know, and the others lack it from then on.

    A leader can know if it, or one of an older epoch, may commit the batch. Else it goes on as if nothing had happened.
    """
    return before.stable == after.stable or all(
        is_passed_by(before, after, before.controllers[voter], after.controllers[voter]) for voter in Voter
    )


def is_passed_by(before: Cluster, after: Cluster, old: Controller, new: Controller) -> bool:
    has_it = old.lags_since is None and len(old.log) > 0 and old.log[0].epoch == after.stable[0].epoch
    if new.lags_since is None:
        return has_it and new.log == old.log[1:] and (not is_raft_leader(old) or may_be_committed(before, old.epoch))
    if is_raft_leader(old) and (new.log != old.log or new.image != old.image):
        return False
    return new.lags_since == epoch_of_last(before, old) and (is_raft_leader(old) or not has_it)


def may_be_committed(s: Cluster, epoch: ControllerEpoch) -> bool:
    """A leader of this epoch or an older one may commit."""
    return any(
        is_raft_leader(s.controllers[voter]) and s.controllers[voter].epoch <= epoch and may_commit(s, voter)
        for voter in Voter
    )


def epoch_of_last(s: Cluster, controller: Controller) -> ControllerEpoch:
    """The epoch of the last batch that a controller has. One that lacks something committed remembers it."""
    if controller.lags_since is not None:
        return controller.lags_since
    return controller.log[-1].epoch if len(controller.log) > 0 else s.stable[0].epoch


# What must eventually happen.


@leads_to(source="KIP-631, Controller Failover; KIP-595 (L6)")
def some_controller_is_active(s: Cluster) -> tuple[bool, bool]:
    """Where the newest epoch has no active controller, it gets one, or a newer epoch does."""
    active = any(is_current_controller(s, voter) for voter in Voter)
    return not active, active


@leads_to(source="KIP-595, Fetch; BeginQuorumEpoch (L6)")
def every_controller_follows(s: Cluster, voter: Voter) -> tuple[bool, bool]:
    """A controller that has not what the leader of the newest epoch has, gets it."""
    follows = any(has_same_log(s.controllers[voter], s.controllers[leader]) for leader in Voter if in_lead(s, leader))
    return not follows, follows


def in_lead(s: Cluster, voter: Voter) -> bool:
    return is_raft_leader(s.controllers[voter]) and not is_deposed(s, voter)


def has_same_log(controller: Controller, leader: Controller) -> bool:
    return controller.epoch == leader.epoch and controller.lags_since is None and controller.log == leader.log


# Witnesses.


@witness
def two_controllers_active(s: Cluster) -> bool:
    """A controller was deposed and has not heard of it, while its successor is active."""
    return sum(1 for voter in Voter if s.controllers[voter].role == Role.ACTIVE) > 1


@witness
def nobody_leads_the_newest_epoch(s: Cluster) -> bool:
    """A controller leads and takes itself for the active one in an epoch that another has passed by, led by nobody."""
    return any(
        s.controllers[voter].role == Role.ACTIVE and is_deposed(s, voter) and not has_newer_leader(s, voter)
        for voter in Voter
    )


def has_newer_leader(s: Cluster, voter: Voter) -> bool:
    return any(
        is_raft_leader(s.controllers[other]) and s.controllers[other].epoch > s.controllers[voter].epoch
        for other in Voter
    )


@witness
def deposed_by_nobody_commits(s: Cluster) -> bool:
    """A leader may commit although there is a newer epoch."""
    return any(
        is_raft_leader(s.controllers[voter])
        and s.controllers[voter].lags_since is None
        and is_deposed(s, voter)
        and may_commit(s, voter)
        for voter in Voter
    )


@witness
def controller_lacks_committed(s: Cluster) -> bool:
    """A standby lacks something that is committed."""
    return any(s.controllers[v].role == Role.STANDBY and s.controllers[v].lags_since is not None for v in Voter)


@witness
def elected_by_one_that_lags(s: Cluster) -> bool:
    """A controller was elected by the vote of one that lacks a committed batch of the epoch in which both logs end."""
    return any(is_elected_by_one_that_lags(s, voter) for voter in Voter)


def is_elected_by_one_that_lags(s: Cluster, leader: Voter) -> bool:
    """A bare majority voted: the others do not know of the epoch. Nobody but the leader may have committed."""
    elected = s.controllers[leader]
    alone = not any(voter != leader and is_raft_leader(s.controllers[voter]) for voter in Voter)
    know = sum(1 for voter in Voter if s.controllers[voter].epoch == elected.epoch)
    majority = Design.controllers // 2 + 1
    lags = any(
        s.controllers[voter].epoch == elected.epoch and s.controllers[voter].lags_since == stable.epoch
        for voter in Voter
        for stable in s.stable
    )
    return elected.role == Role.ELECTED and len(elected.log) == 1 and know == majority and alone and lags


@witness
def decision_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut a decision off that its leader does not have."""
    return any(
        batch.delta != no_records() for voter in Voter for leader in Voter for batch in cut_off(s, voter, leader)
    )


@witness
def creation_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off the topic that a deposed controller created."""
    return any(has_topic(cut_off(s, voter, leader)) for voter in Voter for leader in Voter)


def has_topic(log: Log) -> bool:
    return any(batch.delta.topic is not None for batch in log)


@witness
def removal_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off a removal that a deposed controller decided."""
    return any(has_removal(cut_off(s, voter, leader)) for voter in Voter for leader in Voter)


def has_removal(log: Log) -> bool:
    return any(removes_something(batch.delta) for batch in log)


@witness
def end_of_reassignment_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off what ended a reassignment, which is then under way again."""
    return moves(committed(s)) and any(
        not moves(replay(committed(s), cut_off(s, voter, leader))) for voter in Voter for leader in Voter
    )


def moves(image: Metadata) -> bool:
    return any(is_under_reassignment(image.partitions[p]) for p in TopicPartition)


def is_under_reassignment(partition: Option[Partition]) -> bool:
    return partition is not None and is_reassigned(partition)


def cut_off(s: Cluster, voter: Voter, leader: Voter) -> Log:
    """The batches that a standby has in its log, and its leader does not."""
    controller, source = s.controllers[voter], s.controllers[leader]
    if not is_raft_leader(source) or is_raft_leader(controller) or controller.epoch != source.epoch:
        return ()
    if controller.lags_since is not None or source.lags_since is not None:
        return ()
    return controller.log[same_batches(controller.log, source.log) :]
