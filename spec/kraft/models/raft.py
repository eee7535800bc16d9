"""The models of the metadata quorum by messages, disks and crashes; in `models.quorum` an election is one step."""

from __future__ import annotations

from dataclasses import replace

from checker.lang import Model
from spec.kraft import properties, raft, raft_elections, raft_log, raft_snapshots, raft_timeouts
from spec.kraft.models.sizes import several_controllers, three_controllers
from spec.kraft.quorum_log import QUORUM_LOG

CANDIDACIES = (raft_elections.time_out, raft_elections.vote, raft_elections.adopt_epoch, raft_elections.receive_vote)
VOTES = (*CANDIDACIES, raft_elections.leave_resigned)
ELECTIONS = (*VOTES, raft_elections.resign)
REPLICATION = (raft_log.append_as_leader, raft_log.fetch_from_leader, raft_log.receive_fetch, raft_log.lose_reply)
SAFE = (
    properties.raft_voters.one_leader_in_an_epoch,
    properties.raft_voters.leader_has_what_is_committed,
    properties.raft_voters.logs_of_voters_match,
    properties.raft_voters.applied_is_committed,
    properties.raft_voters.high_watermark_never_goes_back,
    properties.raft_voters.committed_is_on_disks_of_a_majority,
    properties.raft_voters.one_vote_in_an_epoch,
    properties.raft_voters.epochs_of_voters_rise,
    properties.raft_voters.nobody_follows_itself,
    properties.raft_voters.a_leader_has_resigned,
)
WITHOUT_RESIGNATIONS = tuple(one for one in SAFE if one is not properties.raft_voters.a_leader_has_resigned)
SNAPSHOTS = (
    properties.raft_snapshots.snapshot_is_committed,
    properties.raft_snapshots.snapshot_ends_with_a_batch,
    properties.raft_snapshots.snapshot_has_what_is_deleted,
)
NOT_MODELLED = (
    "pre-vote, observers, changes of the voters; requests for votes that come late, and time: a voter may "
    "stand at any moment"
)

RAFT = Model(
    name="raft",
    doc="Three voters, two epochs, logs of two batches: votes and fetches as messages, and their refinement.",
    init=raft.formatted,
    actions=(*ELECTIONS, *REPLICATION),
    properties=(
        *SAFE,
        properties.raft_voters.as_quorum_log,
        properties.raft_voters.elected_late,
        properties.raft_voters.split_vote,
        properties.raft_voters.truncation,
        properties.raft_voters.older_batch_is_committed,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2},
    faults="two candidacies of each voter, resignations, late votes and lost replies: any elections of two epochs",
    not_modelled="crashes; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

RAFT_CRASH = Model(
    name="raft_crash",
    doc="Three voters, two epochs, logs of two batches, and what of them is on disk; one crash.",
    init=raft.formatted,
    actions=(
        *VOTES,
        raft_log.append_as_leader,
        raft_log.fetch_from_leader,
        raft_log.receive_fetch,
        raft_log.flush,
        raft_elections.crash_voter,
    ),
    properties=(
        *SAFE,
        properties.raft_voters.acknowledged_is_on_disk,
        properties.raft_voters.a_crash_took_a_tail,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2, "max_crashes": 1},
    faults="one crash that loses what is not flushed, and any elections of two epochs",
    not_modelled=NOT_MODELLED,
    lemmas=(*properties.raft_voters.VOTES, *properties.raft_matching.LOGS),
    assumptions=(several_controllers,),
)

RAFT_REFINES = replace(
    RAFT_CRASH,
    name="raft_refines",
    doc="As raft_crash, and nothing but its refinement, over a crash.",
    properties=(properties.raft_voters.as_quorum_log, properties.raft_voters.a_crash_took_a_tail),
    lemmas=(),
)

RAFT_TORN = Model(
    name="raft_torn",
    doc="Three voters of which two have led, each with a batch of its own that nobody else has; two more epochs.",
    init=raft.torn,
    actions=(*ELECTIONS, *REPLICATION),
    properties=(*SAFE, properties.raft_voters.three_epochs_in_one_log),
    constants={"controllers": 3, "pending_batches": 3, "max_epoch": 4},
    faults="four elections in a row, as many as it takes to tell which batches a leader may commit",
    not_modelled="crashes; " + NOT_MODELLED,
    assumptions=(three_controllers,),
)

RAFT_CANDIDATE = Model(
    name="raft_candidate",
    doc="Three voters, and a leader that has not flushed yet what the others have; two more epochs, and one crash.",
    init=raft.leader_not_flushed,
    actions=(*VOTES, raft_log.fetch_from_leader, raft_log.receive_fetch, raft_log.flush, raft_elections.crash_voter),
    properties=SAFE,
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 3, "max_crashes": 1},
    faults="one crash that loses what is not flushed, and any elections of two more epochs",
    not_modelled="batches of the controller; " + NOT_MODELLED,
    assumptions=(three_controllers,),
)

RAFT_EMPTIED = Model(
    name="raft_emptied",
    doc="Three voters, of which one may lose its disk, and with it what a majority rests on; two epochs, logs of two.",
    init=raft.formatted,
    actions=(*CANDIDACIES, raft_log.fetch_from_leader, raft_log.receive_fetch, raft_elections.lose_disk),
    properties=(properties.raft_voters.applied_is_never_cut, properties.raft_voters.a_voter_refuses_to_truncate),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2, "max_disk_losses": 1},
    faults="a voter whose disk is replaced by an empty one, which no static quorum survives; elections of two epochs",
    not_modelled="crashes, resignations, lost replies, batches of the controller; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

RAFT_CUT = Model(
    name="raft_cut",
    doc="Three voters, three epochs, logs of LeaderChanges; one voter is cut off, and reaches the others again.",
    init=raft.formatted,
    actions=(
        *(replace(action, fair="weak") for action in VOTES),
        replace(raft_log.fetch_from_leader, fair="weak"),
        replace(raft_log.receive_fetch, fair="strong"),
        raft_log.lose_reply,
        raft_timeouts.isolate,
        raft_timeouts.heal,
        replace(raft_timeouts.miss_leader, fair="weak"),
        replace(raft_elections.lose_majority, fair="weak"),
    ),
    properties=(
        *SAFE,
        properties.raft_cuts.some_voter_leads,
        properties.raft_cuts.appended_batch_commits,
        properties.raft_cuts.leader_without_majority_resigns,
        properties.raft_cuts.nobody_stands_against_a_majority,
        properties.raft_cuts.two_lead_over_a_cut,
        properties.raft_cuts.follows_after_a_cut,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 3, "max_cuts": 1},
    faults="one voter that is cut off from the others, for a time or for good; lost replies",
    not_modelled="crashes, batches of the controller, observers, snapshots, changes of the voters; requests for votes "
    "that come late",
    assumptions=(several_controllers,),
)

RAFT_FIVE = Model(
    name="raft_five",
    doc="Five voters, one epoch, logs of one batch: votes and fetches as messages.",
    init=raft.formatted,
    actions=(*CANDIDACIES, raft_log.fetch_from_leader, raft_log.receive_fetch),
    properties=(
        *WITHOUT_RESIGNATIONS,
        properties.raft_voters.split_vote,
    ),
    constants={"controllers": 5, "pending_batches": 1, "max_epoch": 1},
    faults="one candidacy of each voter, late votes: any election of one epoch",
    not_modelled="crashes, resignations, lost replies, batches of the controller; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

RAFT_RESIGNED = Model(
    name="raft_resigned",
    doc="Five voters that a leader has served, who resigns and tells those whom it reaches; one more epoch.",
    init=raft.served_by_leader,
    actions=(
        *CANDIDACIES,
        raft_elections.hand_over,
        raft_timeouts.isolate,
        raft_timeouts.heal,
        raft_timeouts.miss_leader,
    ),
    properties=(
        *SAFE,
        properties.raft_cuts.nobody_stands_against_a_majority,
        properties.raft_cuts.resignation_costs_no_round,
        properties.raft_cuts.a_successor_leads,
    ),
    constants={"controllers": 5, "pending_batches": 2, "max_epoch": 2, "max_cuts": 1},
    faults="a leader that resigns, one voter that is cut off from the others; late votes",
    not_modelled="crashes, fetches, batches of the controller; requests for votes that come late",
    assumptions=(several_controllers,),
)

RAFT_SNAPSHOT = Model(
    name="raft_snapshot",
    doc="Three voters, one epoch, logs of two batches, and two snapshots, before which logs are deleted.",
    init=raft.formatted,
    actions=(
        raft_elections.time_out,
        raft_elections.vote,
        raft_elections.receive_vote,
        replace(raft_elections.adopt_epoch, fair="weak"),
        raft_log.append_as_leader,
        replace(raft_log.fetch_from_leader, fair="weak"),
        replace(raft_log.receive_fetch, fair="strong"),
        raft_log.lose_reply,
        raft_snapshots.freeze_snapshot,
        raft_snapshots.delete_batches,
        replace(raft_snapshots.fetch_snapshot, fair="strong"),
    ),
    properties=(
        *WITHOUT_RESIGNATIONS,
        properties.raft_snapshots.snapshot_is_committed,
        properties.raft_snapshots.catches_up_by_a_snapshot,
        properties.raft_snapshots.follower_lacks_what_is_deleted,
        properties.raft_snapshots.snapshot_is_gone,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 1, "max_snapshots": 2},
    faults="one candidacy of each voter, late votes and lost replies: any election of one epoch",
    not_modelled="crashes, resignations; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

RAFT_SNAPSHOT_EPOCHS = Model(
    name="raft_snapshot_epochs",
    doc="Three voters, two epochs, logs of LeaderChanges, a snapshot in place of a log, and their refinement.",
    init=raft.formatted,
    actions=(
        *CANDIDACIES,
        raft_log.fetch_from_leader,
        raft_log.receive_fetch,
        raft_snapshots.freeze_snapshot,
        raft_snapshots.delete_batches,
        raft_snapshots.fetch_snapshot,
    ),
    properties=(
        *WITHOUT_RESIGNATIONS,
        *SNAPSHOTS,
        properties.raft_voters.as_quorum_log,
        properties.raft_snapshots.log_of_an_older_epoch_is_replaced,
        properties.raft_snapshots.led_by_one_that_took_a_snapshot,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2, "max_snapshots": 1},
    faults="two candidacies of each voter, and late votes: any elections of two epochs",
    not_modelled="crashes, resignations, lost replies, batches of the controller; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

RAFT_SNAPSHOT_TORN = Model(
    name="raft_snapshot_torn",
    doc="Three voters of which two have led, each with a batch that nobody else has; two more epochs, two snapshots.",
    init=raft.torn,
    actions=(
        *VOTES,
        raft_log.append_as_leader,
        raft_log.fetch_from_leader,
        raft_log.receive_fetch,
        raft_log.lose_reply,
        raft_snapshots.freeze_snapshot,
        raft_snapshots.delete_batches,
        raft_snapshots.fetch_snapshot,
    ),
    properties=(
        *SAFE,
        *SNAPSHOTS,
        properties.raft_snapshots.log_of_an_older_epoch_is_replaced,
        properties.raft_snapshots.snapshot_is_gone,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 4, "max_snapshots": 2},
    faults="any elections of two epochs after logs have diverged, late votes and lost replies",
    not_modelled="crashes, resignations; " + NOT_MODELLED,
    assumptions=(three_controllers,),
)

RAFT_SNAPSHOT_CRASH = Model(
    name="raft_snapshot_crash",
    doc="Three voters, a leader that has not flushed what it knows to be committed, a snapshot of it, and one crash.",
    init=raft.leader_not_flushed,
    actions=(
        *VOTES,
        raft_log.fetch_from_leader,
        raft_log.receive_fetch,
        raft_log.flush,
        raft_elections.crash_voter,
        raft_snapshots.freeze_snapshot,
    ),
    properties=(*SAFE, *SNAPSHOTS, properties.raft_snapshots.snapshot_outlives_the_log),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2, "max_crashes": 1, "max_snapshots": 1},
    faults="one crash that loses what is not flushed, and any elections of one more epoch",
    not_modelled="batches of the controller; logs that are deleted; " + NOT_MODELLED,
    assumptions=(three_controllers,),
)

MODELS = [
    QUORUM_LOG,
    RAFT,
    RAFT_CRASH,
    RAFT_REFINES,
    RAFT_TORN,
    RAFT_CANDIDATE,
    RAFT_EMPTIED,
    RAFT_CUT,
    RAFT_FIVE,
    RAFT_RESIGNED,
    RAFT_SNAPSHOT,
    RAFT_SNAPSHOT_EPOCHS,
    RAFT_SNAPSHOT_TORN,
    RAFT_SNAPSHOT_CRASH,
]
