"""The models of controlled shutdown, and of what must eventually happen.

`shutdown`, `shutdown_late`, `stopped_record` and `rolling` are of controlled shutdown; `lifecycle` and `restarts` are
the broker's life without the ISR, small enough to judge mutants by; those named `..._end` or `..._ends` are of what
must eventually happen.
`failover_shutdown` in `models.failover` is of controlled shutdown with three controllers.
"""

from __future__ import annotations

from checker.lang import Declared, Model, replace
from spec.kraft import abstract_isr, properties
from spec.kraft.actions import broker, clients, controller, faults, network, replica, shutdown, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import nothing_registered, running_cluster
from spec.kraft.models.replication import CHANGES, DATA, ISR, LEASES, LIFECYCLE, LOSS, RECORD, REPLIES, SAFETY
from spec.kraft.models.sizes import one_controller

NO_LOG = (
    "the metadata log (what is decided is committed at once; a failover loses soft state only), unregistering, "
    "reassignment, topics, more than one partition; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)
NO_LOG_NO_DATA = "data; " + NO_LOG

STOPPING = (shutdown.sigterm, shutdown.finish_shutdown)
STOPPED = (
    properties.shutdown.exiting_broker_leads_nothing,
    properties.shutdown.exiting_broker_stays_fenced,
    properties.shutdown.shutdown_waits_for_images,
    properties.shutdown.shutdown_ends_with_registration,
    properties.shutdown.broker_pending_controlled_shutdown,
    properties.shutdown.broker_shutting_down,
    properties.shutdown.shutdown_waits_for_an_image,
    properties.shutdown.whole_cluster_back_after_shutdown,
)

SHUTDOWN = Model(
    name="shutdown",
    doc="Two brokers without data; one SIGTERM, one crash, one lease that runs out early, one failover.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, *STOPPING, faults.crash, faults.expire_lease_early, faults.fail_over),
    properties=(*SAFETY, *STOPPED, properties.shutdown.last_isr_member_shuts_down),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_early_expiries": 1, "max_failovers": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker while the cluster has a bad day: a crash, a failover of the active "
    "controller, a lease that runs out early (a long pause)",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

SHUTDOWN_LATE = Model(
    name="shutdown_late",
    doc="Two brokers without data; one SIGTERM, one crash, and a copy of a heartbeat that lands late.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, *STOPPING, network.copy_heartbeat, faults.crash),
    properties=(*SAFETY, *STOPPED, properties.shutdown.last_isr_member_shuts_down),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_duplicates": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker while another is down, and one heartbeat is delivered a second time, late: "
    "its connection was given up, but not what was under way on it",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

STOPPED_RECORD = Model(
    name="stopped_record",
    doc="Two brokers and a record; one SIGTERM, and one crash that may lose the disk.",
    init=running_cluster,
    actions=(*DATA, *ISR, *LIFECYCLE, *LOSS, *STOPPING, faults.crash, faults.crash_losing_disk),
    properties=(
        *SAFETY,
        *STOPPED,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        properties.shutdown.last_isr_member_shuts_down,
    ),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_disk_losses": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker, and the other one, or this one, fails meanwhile, perhaps with its disk",
    not_modelled=NO_LOG,
    assumptions=(one_controller,),
)

LISTED_SHUTDOWN = Model(
    name="listed_shutdown",
    doc="Two brokers that answer clients, without data; one SIGTERM and one crash.",
    init=running_cluster,
    actions=(clients.answer_metadata, *LIFECYCLE, *STOPPING, faults.crash),
    properties=(
        *STOPPED[:4],
        clients.only_unfenced_brokers_are_listed,
        clients.broker_shutting_down_listed,
        clients.fenced_broker_listed,
    ),
    constants={"metadata_responses": 1, "max_shutdowns": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker, and one broker crashes",
    not_modelled="AlterIsr, lost messages; " + NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

REGISTERED_AGAIN = Model(
    name="registered_again",
    doc="Two brokers that register again at any time, without data; one SIGTERM, one crash, heartbeats out of time.",
    init=running_cluster,
    actions=(*LIFECYCLE, *STOPPING, broker.register_again, controller.expire_heartbeat, faults.crash),
    properties=(*SAFETY, *REPLIES, *STOPPED[:4], properties.shutdown.registers_again_while_stopping),
    constants={"max_crashes": 1, "max_shutdowns": 1},
    settings=SETTINGS,
    faults="an operator stops a broker and one crashes, while brokers register a second time, as they do when the "
    "metadata version changes, and heartbeats wait too long in the queue of a controller that is overloaded",
    not_modelled="AlterIsr, lost messages; " + NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

ROLLING = Model(
    name="rolling",
    doc="Three brokers without data; two SIGTERMs, as in a rolling restart, and one failover.",
    init=running_cluster,
    actions=(*ISR, *(a for a in LIFECYCLE if a not in LEASES), *LOSS, *STOPPING, faults.fail_over),
    properties=(*SAFETY, *STOPPED, properties.broker_states.process_follows_the_state_machine),
    constants={"brokers": 3, "max_shutdowns": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="an operator restarts two of three brokers, one after the other or at once, and the active controller "
    "fails over; any number of lost messages",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)


def fairly(*actions: Declared) -> tuple[Declared, ...]:
    """The same actions, strongly fair: what is possible infinitely often happens infinitely often.

    Strongly, because the channel that brokers share here is often taken by another, which in Kafka it is not.
    """
    return tuple(replace(one, fair="strong") for one in actions)


LIFECYCLE_MODEL = Model(
    name="lifecycle",
    doc="Two brokers without data or changes of the ISR; two crashes, two failovers. Small, for what a change breaks.",
    init=running_cluster,
    actions=(*LIFECYCLE, faults.crash, faults.fail_over),
    properties=(
        *SAFETY,
        *REPLIES,
        *CHANGES,
        properties.failover.failover_loses_soft_state,
        properties.leadership.another_process_leads,
        properties.broker_states.broker_runs_again,
        properties.registration.duplicate_registration_refused,
    ),
    constants={"max_crashes": 2, "max_failovers": 2},
    settings=SETTINGS,
    faults="two crashes and two failovers",
    not_modelled="lost messages, AlterIsr; " + NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

RESTARTS = Model(
    name="restarts",
    doc="Two brokers without data or changes of the ISR; two SIGTERMs, one failover. Small, for what a change breaks.",
    init=running_cluster,
    actions=(*LIFECYCLE, *STOPPING, network.lose_lifecycle_reply, faults.fail_over),
    properties=(
        *SAFETY,
        *REPLIES,
        *CHANGES,
        *STOPPED[:4],
        properties.shutdown.shutdown_ends_heartbeats,
        properties.failover.failover_loses_soft_state,
    ),
    constants={"max_shutdowns": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="two restarts by an operator, and one failover of the active controller meanwhile",
    not_modelled="lost requests, AlterIsr; " + NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

SHUTDOWN_ENDS = Model(
    name="shutdown_ends",
    doc="Two brokers, two SIGTERMs, one failover: every controlled shutdown ends, if brokers apply metadata.",
    init=running_cluster,
    actions=(
        *fairly(*LIFECYCLE, shutdown.finish_shutdown),
        network.lose_lifecycle_reply,
        shutdown.sigterm,
        faults.fail_over,
    ),
    properties=(properties.shutdown.controlled_shutdown_ends,),
    constants={"max_shutdowns": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="two restarts by an operator, and one failover of the active controller meanwhile",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

RESTARTS_END = Model(
    name="restarts_end",
    doc="Two brokers, a SIGTERM, a crash, a failover: a shutdown does not wait for the dead.",
    init=running_cluster,
    actions=(
        broker.start,
        *fairly(*LIFECYCLE[1:], shutdown.finish_shutdown),
        network.lose_lifecycle_reply,
        shutdown.sigterm,
        faults.crash,
        faults.fail_over,
    ),
    properties=(
        properties.shutdown.controlled_shutdown_ends,
        properties.registration.starting_process_is_registered,
        properties.heartbeat.ready_broker_is_unfenced,
        properties.leader_election.leaderless_partition_gets_leader,
    ),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_failovers": 1},
    settings=SETTINGS,
    faults="a restart by an operator, a crash after which the broker may never come back, and a failover of the active "
    "controller",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

CONFLICTS_END = Model(
    name="conflicts_end",
    doc="A broker, a second process with its id, an operator who unregisters it: who lost the id is gone in the end.",
    init=running_cluster,
    actions=(
        broker.start,
        *fairly(*LIFECYCLE[1:], broker.stop_when_stale),
        network.lose_lifecycle_reply,
        topics.unregister,
        faults.start_second,
        faults.expire_lease_early,
        faults.crash,
    ),
    properties=(
        properties.registration.only_the_stale_end,
        properties.registration.process_that_starts_was_down,
        properties.registration.stale_process_is_gone,
        properties.registration.live_broker_is_registered,
        properties.registration.two_hold_an_epoch,
        properties.registration.live_broker_unregistered,
    ),
    constants={
        "brokers": 1,
        "second_processes": 1,
        "max_second_starts": 2,
        "max_unregistrations": 1,
        "max_early_expiries": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="two starts of a process while another of its id is alive, one crash, one lease that runs out early, and an "
    "operator who unregisters the broker, dead or alive",
    not_modelled="AlterIsr; the service that starts a process again (it may or may not); " + NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

LEASES_END = Model(
    name="leases_end",
    doc="Two brokers, two crashes, two failovers: who is silent is fenced, even if nobody ever sends anything again.",
    init=running_cluster,
    actions=(*LIFECYCLE[: -len(LEASES)], *fairly(*LEASES), faults.crash, faults.fail_over),
    properties=(properties.heartbeat.silent_broker_is_fenced,),
    constants={"lifecycle_in_flight": 2, "max_crashes": 2, "max_failovers": 2},
    settings=SETTINGS,
    faults="two crashes and two failovers; processes may start and send again, but need not",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

UNFENCING_ENDS = Model(
    name="unfencing_ends",
    doc="Two brokers from their first registration on, while the log grows; one crash: who is ready gets unfenced.",
    init=nothing_registered,
    actions=(*fairly(*LIFECYCLE), network.lose_lifecycle_reply, controller.grow_log, faults.crash),
    properties=(
        properties.registration.starting_process_is_registered,
        properties.heartbeat.ready_broker_is_unfenced,
        properties.leader_election.leaderless_partition_gets_leader,
        properties.heartbeat.log_has_grown,
    ),
    constants={"max_crashes": 1},
    settings=SETTINGS,
    faults="one crash, while the metadata log grows by a record every half second",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

CHANGES_END = Model(
    name="changes_end",
    doc="Two brokers, a second process for broker 0, one lease that runs out early: each change of an ISR is settled.",
    init=running_cluster,
    actions=(
        *fairly(*LIFECYCLE, *ISR[1:]),
        replica.fetch,
        network.lose_alter_isr_reply,
        faults.start_second,
        faults.expire_lease_early,
        faults.crash,
    ),
    properties=(properties.alter_isr.pending_change_is_resolved,),
    constants={"second_processes": 1, "max_second_starts": 1, "max_early_expiries": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one crash, and one lease runs out early",
    not_modelled=NO_LOG_NO_DATA,
    assumptions=(one_controller,),
)

MODELS = [
    SHUTDOWN,
    SHUTDOWN_LATE,
    LISTED_SHUTDOWN,
    REGISTERED_AGAIN,
    STOPPED_RECORD,
    ROLLING,
    LIFECYCLE_MODEL,
    RESTARTS,
]
MODELS += [SHUTDOWN_ENDS, RESTARTS_END, CONFLICTS_END, LEASES_END, UNFENCING_ENDS, CHANGES_END]
