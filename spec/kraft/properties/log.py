"""Convergence of the controllers' logs (S14): copying from the leader, committing, catching up.

`quorum_properties` says what must hold of logs and images at any time; these are the steps between.
Leaves out: how a controller learns of a commit (it does at once).
"""

from __future__ import annotations

from checker.lang import invariant, leads_to, transition_invariant, witness
from spec.kraft.actions.quorum import is_deposed, leads, may_commit, nothing_known, same_batches
from spec.kraft.properties.protocol import is_active_throughout
from spec.kraft.state import Cluster, Controller
from spec.kraft.types import ControllerEpoch, Role, Voter


@invariant(source="KIP-595, Fetch; KIP-630")
def lagging_controller_keeps_nothing(s: Cluster) -> bool:
    """A controller that lacks something committed has neither image nor log, unless it takes itself for active."""
    return all(has_no_gap(s.controllers[voter]) for voter in Voter)


def has_no_gap(controller: Controller) -> bool:
    if controller.behind is None or controller.role == Role.ACTIVE:
        return True
    return len(controller.log) == 0 and controller.image == nothing_known()


@invariant(source="KIP-631, Broker Leases (soft state)")
def leases_are_for_the_active_controller(s: Cluster) -> bool:
    """Only a controller that takes itself for the active one knows of leases that ran out."""
    return all(s.controllers[voter].role == Role.ACTIVE or len(s.controllers[voter].lapsed) == 0 for voter in Voter)


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
    return not is_standby or (old.behind == new.behind and old.log == new.log)


def is_copied(old: Controller, new: Controller, leader: Controller) -> bool:
    if not leads(leader) or leader.epoch != old.epoch or leader.behind is not None or new.behind is not None:
        return False
    if old.behind is not None:
        return len(new.log) == 0
    same = same_batches(old.log, leader.log)
    return new.log == (old.log[:same] if same < len(old.log) else leader.log[: same + 1])


@transition_invariant(source="KIP-631, Metadata Records")
def what_is_written_changes_something(before: Cluster, after: Cluster) -> bool:
    """An active controller writes a batch for a decision that changes its image, and for no other."""
    return all(
        not is_active_throughout(before, after, voter)
        or len(after.controllers[voter].log) <= len(before.controllers[voter].log)
        or after.controllers[voter].image != before.controllers[voter].image
        for voter in Voter
    )


@transition_invariant(source="KIP-595, High watermark")
def commit_leaves_logs_that_have_it(before: Cluster, after: Cluster) -> bool:
    """When a batch commits, it leaves the log of whoever has it and can know, and the others lack it from then on.

    A leader can know if it, or one of an older epoch, may commit the batch. One that takes itself for the active
    controller continues as if nothing had happened.
    """
    return before.stable == after.stable or all(
        is_passed_by(before, after, before.controllers[voter], after.controllers[voter]) for voter in Voter
    )


def is_passed_by(before: Cluster, after: Cluster, old: Controller, new: Controller) -> bool:
    has_it = old.behind is None and len(old.log) > 0 and old.log[0].epoch == after.stable[0].epoch
    if new.behind is None:
        return has_it and new.log == old.log[1:] and (not leads(old) or may_be_committed(before, old.epoch))
    if old.role == Role.ACTIVE and (new.log != old.log or new.image != old.image):
        return False
    return new.behind == epoch_of_last(before, old) and (leads(old) or not has_it)


def may_be_committed(s: Cluster, epoch: ControllerEpoch) -> bool:
    """A leader of this epoch or an older one may commit."""
    return any(
        leads(s.controllers[voter]) and s.controllers[voter].epoch <= epoch and may_commit(s, voter) for voter in Voter
    )


def epoch_of_last(s: Cluster, controller: Controller) -> ControllerEpoch:
    """The epoch of the last batch that a controller has. One that lacks something committed remembers it."""
    if controller.behind is not None:
        return controller.behind
    return controller.log[-1].epoch if len(controller.log) > 0 else s.stable[0].epoch


@leads_to(source="KIP-595, Fetch; BeginQuorumEpoch (L6)")
def every_controller_follows(s: Cluster, voter: Voter) -> tuple[bool, bool]:
    """A controller that has not what the leader of the newest epoch has, gets it."""
    follows = any(has_same_log(s.controllers[voter], s.controllers[leader]) for leader in Voter if in_lead(s, leader))
    return not follows, follows


def in_lead(s: Cluster, voter: Voter) -> bool:
    return leads(s.controllers[voter]) and not is_deposed(s, voter)


def has_same_log(controller: Controller, leader: Controller) -> bool:
    return controller.epoch == leader.epoch and controller.behind is None and controller.log == leader.log


@witness
def elected_by_one_that_lags(s: Cluster) -> bool:
    """A controller was elected by the vote of one that lacks a committed batch of the epoch in which both logs end."""
    return any(is_elected_by_one_that_lags(s, voter) for voter in Voter)


def is_elected_by_one_that_lags(s: Cluster, leader: Voter) -> bool:
    """The third controller has not voted: it does not know of the epoch. Nobody but the leader may have committed."""
    elected = s.controllers[leader]
    alone = not any(voter != leader and leads(s.controllers[voter]) for voter in Voter)
    know = sum(1 for voter in Voter if s.controllers[voter].epoch == elected.epoch)
    lags = any(
        s.controllers[voter].epoch == elected.epoch and s.controllers[voter].behind == stable.epoch
        for voter in Voter
        for stable in s.stable
    )
    return elected.role == Role.ELECTED and len(elected.log) == 1 and know == 2 and alone and lags
