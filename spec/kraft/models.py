"""The models of the slice: small enough to explore, each with its faults and the properties it is the home of.

Each starts from a cluster that runs (every broker registered, unfenced and in the ISR, broker 0 leading), but
for `membership`, which starts from nothing, so that first registrations are explored too. `lossy` is the home
of KIP-903, `twins` of two processes with one id, `isr` and `isr_spurious` of three brokers, `zombie` of leaders
that were deposed and lead on, `late` of copies that land late; `shutdown`, `shutdown_late` and `rolling` of controlled
shutdown. `quorum`, `failover`, `election`, `snapshot` and `refusal` have three controllers; the others one. The models
whose names end in `end` or `ends` are of what must eventually happen. All budgets are guards: nothing is cut.
Leaves out: a model with all faults at once, which does not close.
"""

from __future__ import annotations

from checker.lang import Bag, Declared, Map, Model, Option, Set, init, replace
from spec.kraft import (
    abstract_isr,
    broker,
    controller,
    faults,
    liveness,
    network,
    properties,
    quorum,
    quorum_properties,
    quorum_witnesses,
    replica,
    shutdown,
    shutdown_properties,
    snapshot,
    witnesses,
)
from spec.kraft.design import SETTINGS, Design
from spec.kraft.messages import AlterIsr
from spec.kraft.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Faults,
    FirstEpochs,
    IsrChange,
    Leadership,
    Metadata,
    Partition,
    Registration,
    Replica,
    Service,
    Stable,
    at_once,
    committed,
    stopped,
    unassigned,
)
from spec.kraft.timed import TIMED
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
    Role,
    TopicId,
    TopicPartition,
    Voter,
)

NO_FAULTS = dict.fromkeys(
    (
        "crashes",
        "disk_losses",
        "early_expiries",
        "duplicates",
        "second_starts",
        "shutdowns",
        "failovers",
        "reassignments",
        "topics",
        "unregistrations",
    ),
    0,
)


def every(isr: Set[Broker], leader: Option[Broker]) -> Map[TopicPartition, Option[Partition]]:
    """Every partition, unchanged since it was created with every broker but the spare ones as a replica."""
    first = Partition(not_spare(), isr, leader, LeaderEpoch(0), PartitionEpoch(0), adding=(), removing=())
    return Map(dict.fromkeys(TopicPartition, first))


def not_spare() -> tuple[Broker, ...]:
    return tuple(Broker)[: len(Broker) - Design.spare_brokers]


def no_logs() -> Map[TopicPartition, Replica]:
    return Map(dict.fromkeys(TopicPartition, unassigned(TopicId(0), has_record=False)))


def all_have(image: Metadata) -> Map[Voter, Controller]:
    """Controllers that have the same log, all of it committed, and know of no lease that ran out; 0 is active."""
    return Map({voter: in_role(Role.ACTIVE if voter == Voter(0) else Role.STANDBY, image) for voter in Voter})


def in_role(role: Role, image: Metadata) -> Controller:
    """A controller that remembers nothing of the brokers, and looks for leases that run out."""
    checks_leases = role == Role.ACTIVE or Design.lease_check_by_timer
    no_shutdowns = Map(dict.fromkeys(Broker))
    return Controller(image, frozenset(), checks_leases, no_shutdowns, role, ControllerEpoch(0), behind=None, log=())


@init
def nothing_registered() -> Cluster:
    """No process runs, no broker is registered; the partition has broker 0 as the last member of its ISR."""
    last = frozenset({Broker(0)})
    image = Metadata(Map(dict.fromkeys(Broker)), TopicId(0), every(last, None), None)
    return Cluster(
        controllers=all_have(image),
        stable=(Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else (),
        snapshots=(),
        processes=Map(dict.fromkeys(Process, stopped(no_logs()))),
        lifecycle=Bag(),
        alterations=Bag(),
        produced=Map(dict.fromkeys(TopicPartition, RecordStatus.UNWRITTEN)),
        last_service=Map(dict.fromkeys(TopicPartition)),
        start=(FirstEpochs(LeaderEpoch(0), PartitionEpoch(0)),) * min(Design.max_topics, 1),
        last_target=Map(dict.fromkeys(TopicPartition, ())),
        answer=(),
        faults=Faults(**NO_FAULTS),
    )


@init
def running_cluster() -> Cluster:
    """Every broker is registered, unfenced, up to date and, unless it is spare, in the ISR; broker 0 leads.

    Second processes do not run.
    """
    everyone = frozenset(not_spare())
    seen = Broker(0) if Design.max_shutdowns > 0 else None
    last = BrokerEpoch(len(Broker) - 1)
    leadership = Leadership(
        partition_epoch=PartitionEpoch(0),
        isr=everyone,
        asked=None,
        reply=None,
        holders=frozenset(),
        starts_with_record=False,
        applied=last,
        candidates=frozenset(),
    )
    processes = dict.fromkeys(Process, stopped(no_logs()))
    registrations = {}
    for process, id_ in zip(Process, Broker, strict=False):
        epoch, incarnation = BrokerEpoch(id_.index), Incarnation(id_.index)
        registrations[id_] = Registration(incarnation, epoch, fenced=False, in_controlled_shutdown=False)
        leads = leadership if id_ == Broker(0) else None
        follows = LeaderEpoch(0) if id_ in everyone else None
        replica = Replica(TopicId(0), follows, leads, at_once(), seen, False, False)
        processes[process] = BrokerProcess(
            state=BrokerState.RUNNING,
            incarnation=None,
            broker_epoch=epoch,
            controller=Voter(0),
            reply=None,
            deferral=at_once(),
            wants_fence=False,
            caught_up=True,
            applied=None,
            listing=(),
            replicas=Map(dict.fromkeys(TopicPartition, replica)),
        )
    image = Metadata(Map(registrations), TopicId(0), every(everyone, Broker(0)), None)
    return Cluster(
        controllers=all_have(image),
        stable=(Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else (),
        snapshots=(),
        processes=Map(processes),
        lifecycle=Bag(),
        alterations=Bag(),
        produced=Map(dict.fromkeys(TopicPartition, RecordStatus.UNWRITTEN)),
        last_service=Map(dict.fromkeys(TopicPartition, Service(LeaderEpoch(0), BrokerEpoch(0)))),
        start=(FirstEpochs(LeaderEpoch(0), PartitionEpoch(0)),) * min(Design.max_topics, 1),
        last_target=Map(dict.fromkeys(TopicPartition, ())),
        answer=(),
        faults=Faults(**NO_FAULTS),
    )


@init
def addition_asked() -> Cluster:
    """The leader, broker 0, is alone in the ISR and has asked twice to add broker 1, which is unfenced."""
    s: Cluster = running_cluster()
    alone = frozenset({Broker(0)})
    image = replace(committed(s), partitions=every(alone, Broker(0)))
    s.controllers = all_have(image)
    s.stable = (Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else ()
    for p in TopicPartition:
        leadership = s.processes[Process(0)].replicas[p].leadership
        assert leadership is not None
        leadership.isr, leadership.candidates = alone, frozenset({Broker(1)})
        leadership.asked = IsrChange(Broker(1), BrokerEpoch(1))
        request = AlterIsr(
            sender=Process(0),
            broker_epoch=BrokerEpoch(0),
            topic=TopicId(0),
            partition=p,
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            isr=frozenset(Broker),
            added_epoch=BrokerEpoch(1),
            late=False,
            to=Voter(0),
        )
        s.alterations = s.alterations.add(request).add(replace(request, late=True))
    s.faults.duplicates = 1
    return s


ISR = (
    replica.fetch,
    replica.send_alter_isr,
    controller.handle_alter_isr,
    replica.receive_alter_isr_reply,
)
DATA = (replica.write, replica.advance_high_watermark, replica.shrink_isr)
LEASES = (controller.expire_lease, controller.fence_lapsed)
LIFECYCLE = (
    broker.start,
    broker.send_registration,
    controller.handle_registration,
    broker.receive_registration_reply,
    broker.apply_metadata,
    broker.finish_recovery,
    broker.send_heartbeat,
    controller.handle_heartbeat,
    broker.receive_heartbeat_reply,
    *LEASES,
)
LOSS = (
    network.lose_lifecycle_request,
    network.lose_lifecycle_reply,
    network.lose_alter_isr,
    network.lose_alter_isr_reply,
)

SAFETY = (
    properties.superseded_incarnation_changes_nothing,
    properties.leader_epoch_has_one_incarnation,
    properties.broker_epochs_rise,
    properties.fenced_for_cause,
    properties.unfenced_broker_is_ready,
    properties.lapsed_broker_is_unfenced,
    properties.heartbeat_renews_lease,
    properties.leader_may_lead,
    properties.leaderless_for_want_of_candidates,
    properties.leader_changes_in_replica_order,
    properties.isr_is_never_empty,
    properties.fenced_broker_is_out_of_isr,
    properties.epochs_never_go_back,
    properties.maximal_isr_covers_committed,
)
RECORD = (
    properties.acknowledged_on_enough_disks,
    properties.acknowledged_record_survives,
    witnesses.record_acknowledged,
)
SEEN = (
    witnesses.broker_not_running,
    witnesses.broker_starting,
    witnesses.broker_in_recovery,
    witnesses.broker_runs_again,
    witnesses.whole_isr_follows_broker_1,
    witnesses.elected_after_fencing,
    witnesses.leaderless_partition,
    witnesses.fenced_last_isr_member,
    witnesses.isr_changed_by_leader,
    witnesses.maximal_isr_beyond_committed,
)

NOT_MODELLED = (
    "controller failover (what is decided is committed at once), controlled shutdown, unregistering, reassignment, "
    "topics, more than one partition and one record; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)

MEMBERSHIP = Model(
    name="membership",
    doc="Two brokers from their first registration on; one crash, one lease that runs out early. No data.",
    init=nothing_registered,
    actions=(*ISR, *LIFECYCLE, controller.fence_two_lapsed, *LOSS, faults.expire_lease_early, faults.crash),
    properties=(
        *SAFETY,
        *SEEN,
        witnesses.stale_heartbeat_refused,
        witnesses.duplicate_registration_refused,
        witnesses.ineligible_replica_refused,
        witnesses.late_change_refused,
        witnesses.deposed_leader_refused,
    ),
    constants={"lifecycle_in_flight": 2, "max_crashes": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one crash and one lease that runs out early (a long pause, a slow network): a bad day of any "
    "cluster; any number of lost messages",
    not_modelled=NOT_MODELLED,
)

LOSSY = Model(
    name="lossy",
    doc="Two brokers and a record; two crashes, of which one may lose the disk, and one copied request (KIP-903).",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_lapsed,
        *LOSS,
        network.copy_alter_isr,
        faults.crash,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        *SEEN,
        witnesses.duplicate_registration_refused,
        witnesses.ineligible_replica_refused,
        witnesses.record_outlives_its_leader,
        witnesses.record_forfeited,
    ),
    constants={"max_crashes": 2, "max_disk_losses": 1, "max_duplicates": 1},
    settings=SETTINGS,
    faults="two crashes, of which one loses the disk (or an operator replaces it), and one request that a retry "
    "leaves under way twice: rare, and KIP-903 tells of it from production",
    not_modelled=NOT_MODELLED,
)

TWINS = Model(
    name="twins",
    doc="Two brokers and a record, a second process for broker 0; a crash that loses the disk, one late registration.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        *LOSS,
        network.copy_registration,
        faults.start_second,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        *SEEN,
        witnesses.two_processes_of_one_id,
        witnesses.stale_heartbeat_refused,
        witnesses.duplicate_registration_refused,
    ),
    constants={
        "second_processes": 1,
        "max_second_starts": 1,
        "max_crashes": 1,
        "max_disk_losses": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one disk is lost, one registration lands late: "
    "a mistake of configuration on top of a failure",
    not_modelled=NOT_MODELLED,
)

ISR_MODEL = Model(
    name="isr",
    doc="Three brokers and a record, min.insync.replicas 2; one crash that may lose the disk.",
    init=running_cluster,
    actions=(*DATA, *ISR, *LIFECYCLE, *LOSS, faults.crash, faults.crash_losing_disk),
    properties=(
        *SAFETY,
        *RECORD,
        properties.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        *SEEN,
        witnesses.record_outlives_its_leader,
    ),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_crashes": 1, "max_disk_losses": 1},
    settings=SETTINGS,
    faults="one crash, clean or with loss of the disk: the failure that replication factor 3 with "
    "min.insync.replicas 2 is bought for",
    not_modelled=NOT_MODELLED,
)

ZOMBIE = Model(
    name="zombie",
    doc="Two brokers and a record; two leases that run out early, so that a deposed leader leads on; one crash.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_lapsed,
        *LOSS,
        faults.expire_lease_early,
        faults.crash,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        *SEEN,
        witnesses.deposed_leader_refused,
        witnesses.record_outlives_its_leader,
    ),
    constants={"max_crashes": 1, "max_disk_losses": 1, "max_early_expiries": 2},
    settings=SETTINGS,
    faults="two leases that run out early and one crash: pauses long enough that a deposed leader serves on, "
    "which garbage collection and frozen machines do",
    not_modelled=NOT_MODELLED,
)

ISR_SPURIOUS = Model(
    name="isr_spurious",
    doc="Three brokers and a record, min.insync.replicas 2; nobody crashes, one lease runs out early.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        controller.fence_lapsed,
        network.lose_lifecycle_request,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
        faults.expire_lease_early,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        witnesses.elected_after_fencing,
        witnesses.whole_isr_follows_broker_1,
        witnesses.isr_changed_by_leader,
        witnesses.deposed_leader_refused,
        witnesses.late_change_refused,
        witnesses.record_outlives_its_leader,
    ),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one lease that runs out early, nobody crashes",
    not_modelled=NOT_MODELLED,
)

LATE = Model(
    name="late",
    doc="Two brokers without data; two crashes, and a copy of a registration or heartbeat that lands late.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, network.copy_registration, network.copy_heartbeat, faults.crash),
    properties=(*SAFETY, *SEEN, witnesses.stale_heartbeat_refused, witnesses.duplicate_registration_refused),
    constants={"lifecycle_in_flight": 2, "max_crashes": 2, "max_duplicates": 1},
    settings=SETTINGS,
    faults="two crashes, and one registration or heartbeat that the network delivers a second time, late",
    not_modelled=NOT_MODELLED,
)

TWINS_SPURIOUS = Model(
    name="twins_spurious",
    doc="Two brokers without data, a second process for broker 0; one crash, and one lease that runs out early.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, faults.start_second, faults.expire_lease_early, faults.crash),
    properties=(*SAFETY, *SEEN, witnesses.two_processes_of_one_id, witnesses.superseded_leader_refused),
    constants={"second_processes": 1, "max_second_starts": 1, "max_crashes": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one crash, and one lease that runs out early",
    not_modelled=NOT_MODELLED,
)

RAFT = (
    quorum.elect,
    quorum.hear_of_leader,
    quorum.fetch_batch,
    quorum.commit_batch,
    quorum.claim,
)
LOGS = (
    quorum_properties.newest_leader_has_what_is_committed,
    quorum_properties.logs_match,
    quorum_properties.image_is_replay_of_log,
    quorum_witnesses.two_controllers_active,
    quorum_witnesses.decision_is_truncated,
    quorum_witnesses.controller_lacks_committed,
    quorum_witnesses.active_after_failover,
)
COMMITTED = (
    properties.broker_epochs_rise,
    properties.unfenced_broker_is_ready,
    properties.leader_may_lead,
    properties.leader_changes_in_replica_order,
    properties.isr_is_never_empty,
    properties.fenced_broker_is_out_of_isr,
    properties.epochs_never_go_back,
)
NOT_MODELLED_QUORUM = (
    "how far a standby or the broker's fetch lags behind the high watermark, voters that lose their disk, changes of "
    "the quorum, epochs and offsets that are issued anew after a truncation; controlled shutdown, unregistering, "
    "reassignment, topics; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)

QUORUM = Model(
    name="quorum",
    doc="Three controllers and a broker through its life; two failovers and one crash of the broker.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *LIFECYCLE,
        network.lose_lifecycle_request,
        network.lose_lifecycle_reply,
        faults.crash,
    ),
    properties=(
        *LOGS,
        quorum_witnesses.decision_survives_failover,
        *COMMITTED,
        properties.lapsed_broker_is_unfenced,
        quorum_properties.registration_is_never_truncated,
        quorum_properties.no_decision_stays_half_done,
        quorum_witnesses.reply_waits_for_commit,
        quorum_witnesses.reply_waits_in_deposed_controller,
        witnesses.fenced_last_isr_member,
        witnesses.duplicate_registration_refused,
    ),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 2, "max_crashes": 1},
    settings=SETTINGS,
    faults="two failovers and one crash of a broker: a rolling restart of the controllers that goes wrong once",
    not_modelled=NOT_MODELLED_QUORUM,
)

FAILOVER = Model(
    name="failover",
    doc="Three controllers, two brokers that run on, and the ISR of their partition; one failover.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        *LEASES,
        network.lose_lifecycle_request,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
    ),
    properties=(
        *LOGS,
        *COMMITTED,
        properties.lapsed_broker_is_unfenced,
        properties.leaderless_for_want_of_candidates,
        properties.maximal_isr_covers_committed,
        witnesses.elected_after_fencing,
        witnesses.isr_changed_by_leader,
        witnesses.maximal_isr_beyond_committed,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="one failover, after which a broker may find the new controller late enough to be fenced; nobody crashes",
    not_modelled=NOT_MODELLED_QUORUM,
)

ELECTION = Model(
    name="election",
    doc="Three controllers alone, and one lease that runs out to decide about; three failovers.",
    init=running_cluster,
    actions=(*RAFT, quorum.catch_up, controller.fence_lapsed, faults.expire_lease_early),
    properties=(*LOGS, *COMMITTED, quorum_witnesses.decision_survives_failover),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 3, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="three elections in a row, as many as it takes to tell which batches a leader may commit",
    not_modelled=NOT_MODELLED_QUORUM,
)

SNAPSHOT = Model(
    name="snapshot",
    doc="Three controllers that write and load snapshots, and a broker; one failover and one crash of the broker.",
    init=running_cluster,
    actions=(
        *RAFT,
        snapshot.write_snapshot,
        snapshot.load_snapshot,
        quorum.find_controller,
        *LIFECYCLE,
        faults.crash,
    ),
    properties=(
        *LOGS,
        quorum_witnesses.decision_survives_failover,
        *COMMITTED,
        quorum_properties.snapshot_stands_for_log,
        quorum_properties.registration_is_never_truncated,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 2,
        "snapshots": 1,
        "max_failovers": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="one failover and one crash of a broker",
    not_modelled=NOT_MODELLED_QUORUM,
)

REFUSAL = Model(
    name="refusal",
    doc="A leader has asked twice to add a follower that the controller is about to fence; two failovers.",
    init=addition_asked,
    actions=(
        *RAFT,
        quorum.catch_up,
        faults.expire_lease_early,
        controller.fence_lapsed,
        controller.handle_alter_isr,
        replica.receive_alter_isr_reply,
    ),
    properties=(
        *LOGS,
        quorum_witnesses.decision_survives_failover,
        *COMMITTED,
        properties.maximal_isr_covers_committed,
        witnesses.ineligible_replica_refused,
        witnesses.isr_changed_by_leader,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 3,
        "max_failovers": 2,
        "max_early_expiries": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="one lease that runs out early, two failovers, and a request that waits in a controller's queue while "
    "the controller is deposed and elected again: hardly ever",
    not_modelled=NOT_MODELLED_QUORUM,
)

NO_LOG_NO_DATA = (
    "the metadata log (what is decided is committed at once; a failover loses soft state only), data, unregistering, "
    "reassignment, topics, more than one partition; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)

STOPPING = (shutdown.sigterm, shutdown.finish_shutdown)
STOPPED = (
    shutdown_properties.told_broker_leads_nothing,
    shutdown_properties.told_broker_stays_fenced,
    shutdown_properties.told_once_others_have_seen,
    shutdown_properties.broker_pending_controlled_shutdown,
    shutdown_properties.broker_shutting_down,
    shutdown_properties.shutdown_waits_for_an_image,
    shutdown_properties.whole_cluster_back_after_shutdown,
)

SHUTDOWN = Model(
    name="shutdown",
    doc="Two brokers without data; one SIGTERM, one crash, one lease that runs out early, one failover.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, *STOPPING, faults.crash, faults.expire_lease_early, faults.fail_over),
    properties=(*SAFETY, *STOPPED, shutdown_properties.last_isr_member_shuts_down),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_early_expiries": 1, "max_failovers": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker while the cluster has a bad day: a crash, a failover of the active "
    "controller, a lease that runs out early (a long pause)",
    not_modelled=NO_LOG_NO_DATA,
)

SHUTDOWN_LATE = Model(
    name="shutdown_late",
    doc="Two brokers without data; one SIGTERM, one crash, and a copy of a heartbeat that lands late.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, *STOPPING, network.copy_heartbeat, faults.crash),
    properties=(*SAFETY, *STOPPED, shutdown_properties.last_isr_member_shuts_down),
    constants={"max_shutdowns": 1, "max_crashes": 1, "max_duplicates": 1},
    settings=SETTINGS,
    faults="an operator restarts a broker while another is down, and one heartbeat is delivered a second time, late: "
    "its connection was given up, but not what was under way on it",
    not_modelled=NO_LOG_NO_DATA,
)

ROLLING = Model(
    name="rolling",
    doc="Three brokers without data; two SIGTERMs, as in a rolling restart, and one failover.",
    init=running_cluster,
    actions=(*ISR, *(a for a in LIFECYCLE if a not in LEASES), *LOSS, *STOPPING, faults.fail_over),
    properties=(*SAFETY, *STOPPED),
    constants={"brokers": 3, "max_shutdowns": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="an operator restarts two of three brokers, one after the other or at once, and the active controller "
    "fails over; any number of lost messages",
    not_modelled=NO_LOG_NO_DATA,
)

def fairly(*actions: Declared) -> tuple[Declared, ...]:
    """The same actions, strongly fair: what is possible again and again happens again and again.

    Strongly, because the channel that brokers share here is often taken by another, which in Kafka it is not.
    """
    return tuple(replace(one, fair="strong") for one in actions)


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
    properties=(liveness.controlled_shutdown_ends,),
    constants={"max_shutdowns": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="two restarts by an operator, and one failover of the active controller meanwhile",
    not_modelled=NO_LOG_NO_DATA,
)

LEASES_END = Model(
    name="leases_end",
    doc="Two brokers, two crashes, two failovers: who is silent is fenced, even if nobody ever sends anything again.",
    init=running_cluster,
    actions=(*LIFECYCLE[: -len(LEASES)], *fairly(*LEASES), faults.crash, faults.fail_over),
    properties=(liveness.silent_broker_is_fenced,),
    constants={"max_crashes": 2, "max_failovers": 2},
    settings=SETTINGS,
    faults="two crashes and two failovers; processes may start and send again, but need not",
    not_modelled=NO_LOG_NO_DATA,
)

UNFENCING_ENDS = Model(
    name="unfencing_ends",
    doc="Two brokers from their first registration on, while the log grows; one crash: who is ready gets unfenced.",
    init=nothing_registered,
    actions=(*fairly(*LIFECYCLE), network.lose_lifecycle_reply, controller.grow_log, faults.crash),
    properties=(liveness.ready_broker_is_unfenced, liveness.leaderless_partition_gets_leader),
    constants={"max_crashes": 1},
    settings=SETTINGS,
    faults="one crash, while the metadata log grows by a record every half second",
    not_modelled=NO_LOG_NO_DATA,
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
    properties=(liveness.pending_change_is_settled,),
    constants={"second_processes": 1, "max_second_starts": 1, "max_early_expiries": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one crash, and one lease runs out early",
    not_modelled=NO_LOG_NO_DATA,
)

MODELS = [
    *(MEMBERSHIP, LOSSY, TWINS, ISR_MODEL, ISR_SPURIOUS, ZOMBIE, LATE, TWINS_SPURIOUS, abstract_isr.ABSTRACT_ISR),
    *(QUORUM, FAILOVER, ELECTION, SNAPSHOT, REFUSAL),
    *(SHUTDOWN, SHUTDOWN_LATE, ROLLING, SHUTDOWN_ENDS, LEASES_END, UNFENCING_ENDS, CHANGES_END, TIMED),
]
