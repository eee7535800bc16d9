"""An operator and the quorum: by votes and whole logs, and by elections in one step, which show no less."""

from __future__ import annotations

from checker.lang import Inclusion, Model
from spec.kraft import properties, quorum_asked, quorum_log
from spec.kraft.actions import candidacies, quorum, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import no_leader
from spec.kraft.models.quorum import NOT_MODELLED_OF_VOTERS, RAFT, WIDE, WIDE_LOGS
from spec.kraft.models.sizes import several_controllers

QUORUM_ASKED = Model(
    name="quorum_asked",
    doc="The quorum's log on one page, and controllers that take office, are asked to remove a broker, and confirm it.",
    init=quorum_log.nobody_stood,
    actions=(
        *(one for one in quorum_log.ACTIONS if one is not quorum_log.append_batch),
        quorum_asked.take_office,
        quorum_asked.remove,
        quorum_asked.confirm,
    ),
    properties=(
        *(one for one in quorum_log.QUORUM_LOG.properties if one is not quorum_log.two_epochs_are_committed),
        quorum_asked.confirmed_is_committed,
        quorum_asked.active_without_what_is_committed,
        quorum_asked.removal_is_lost,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 3,
        "max_epoch": 2,
        "removals": 1,
        "max_unregistrations": 2,
    },
    faults=quorum_log.QUORUM_LOG.faults,
    not_modelled=quorum_log.QUORUM_LOG.not_modelled + "; what brokers do",
    assumptions=(several_controllers,),
)

CANDIDACIES_ASKED = Model(
    name="candidacies_asked",
    doc="Three controllers that are asked to remove a broker; leaders that step down, epochs that nobody leads.",
    init=no_leader,
    actions=(
        *RAFT,
        quorum.catch_up,
        *WIDE,
        candidacies.lose_batch,
        topics.unregister,
        topics.confirm_removal,
    ),
    properties=(
        *WIDE_LOGS,
        properties.raft.lagging_controller_keeps_nothing,
        properties.raft.commit_leaves_logs_that_have_it,
        properties.failover.removal_is_never_truncated,
        properties.failover.removal_survives_failover,
        properties.raft.removal_is_truncated,
        properties.failover.removal_confirmed_after_failover,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 3,
        "removals": 1,
        "max_failovers": 3,
        "max_unregistrations": 2,
        "max_crashes": 3,
    },
    settings=SETTINGS,
    faults="three candidacies, won or not, resignations, and three batches that standbys lose",
    not_modelled=NOT_MODELLED_OF_VOTERS + "what brokers do, topics",
    assumptions=(several_controllers,),
)

MODELS = [QUORUM_ASKED, CANDIDACIES_ASKED]

INCLUSIONS = [
    Inclusion(
        name="quorum_as_seen",
        doc="Controllers whose quorum votes and replicates batch by batch look like those with elections in one step.",
        model=QUORUM_ASKED,
        within=CANDIDACIES_ASKED,
        seen=quorum_asked.seen,
        seen_within=quorum_asked.seen_of_cluster,
        source="KIP-631, Controller Failover; KIP-595",
    )
]
