"""The models of the slice: small enough to explore, each with its faults and the properties it is the home of.

Each starts from a cluster that runs (every broker registered, unfenced and in the ISR, broker 0 leading), but for
`membership`, which starts from nothing, so that first registrations are explored too.
Leaves out: a model with all faults at once, which does not close.
"""

from __future__ import annotations

from checker.lang import Bag, Map, Model, init
from spec.kraft import broker, controller, faults, network, properties, replica, witnesses
from spec.kraft.design import SETTINGS
from spec.kraft.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Faults,
    Leadership,
    Partition,
    Registration,
    Service,
    stopped,
)
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
)

NO_FAULTS = dict.fromkeys(("crashes", "disk_losses", "early_expiries", "duplicates", "second_starts"), 0)


@init
def nothing_registered() -> Cluster:
    """No process runs, no broker is registered; the partition has broker 0 as the last member of its ISR."""
    partition = Partition(tuple(Broker), frozenset({Broker(0)}), None, LeaderEpoch(0), PartitionEpoch(0))
    return Cluster(
        controller=Controller(Map(dict.fromkeys(Broker)), BrokerEpoch(0), partition, frozenset()),
        processes=Map({process: stopped(has_record=False) for process in Process}),
        lifecycle=Bag(),
        alterations=Bag(),
        record=RecordStatus.UNWRITTEN,
        last_service=None,
        faults=Faults(**NO_FAULTS),
    )


@init
def running_cluster() -> Cluster:
    """Every broker is registered, unfenced, up to date and in the ISR; broker 0 leads. Second processes do not run."""
    everyone = frozenset(Broker)
    last = BrokerEpoch(len(Broker) - 1)
    partition = Partition(tuple(Broker), everyone, Broker(0), LeaderEpoch(0), PartitionEpoch(0))
    leadership = Leadership(
        partition_epoch=PartitionEpoch(0),
        isr=everyone,
        asked=None,
        holders=frozenset(),
        starts_with_record=False,
        applied=last,
        candidates=frozenset(),
    )
    processes = {process: stopped(has_record=False) for process in Process}
    registrations = {}
    for process, id_ in zip(Process, Broker, strict=False):
        epoch, incarnation = BrokerEpoch(id_.index), Incarnation(id_.index)
        registrations[id_] = Registration(incarnation, epoch, fenced=False)
        leads = leadership if id_ == Broker(0) else None
        processes[process] = BrokerProcess(
            BrokerState.RUNNING, incarnation, epoch, True, LeaderEpoch(0), leads, False, has_record=False
        )
    return Cluster(
        controller=Controller(Map(registrations), last, partition, frozenset()),
        processes=Map(processes),
        lifecycle=Bag(),
        alterations=Bag(),
        record=RecordStatus.UNWRITTEN,
        last_service=Service(LeaderEpoch(0), BrokerEpoch(0)),
        faults=Faults(**NO_FAULTS),
    )


LIFECYCLE = (
    broker.start,
    broker.send_registration,
    controller.handle_registration,
    broker.receive_registration_reply,
    broker.apply_metadata,
    broker.send_heartbeat,
    controller.handle_heartbeat,
    broker.receive_heartbeat_reply,
    controller.expire_lease,
    controller.fence_lapsed,
    network.lose_lifecycle,
    faults.crash,
)
ISR = (
    replica.fetch,
    replica.send_alter_isr,
    controller.handle_alter_isr,
    replica.receive_alter_isr_reply,
    network.lose_alter,
)
DATA = (replica.write, replica.shrink_isr, replica.advance_high_watermark)
COPIES = (network.duplicate_lifecycle, network.duplicate_alter)

SAFETY = (
    properties.superseded_incarnation_changes_nothing,
    properties.leader_epoch_has_one_incarnation,
    properties.broker_epochs_rise,
    properties.unfenced_broker_is_ready,
    properties.leader_may_lead,
    properties.isr_is_never_empty,
    properties.fenced_broker_is_out_of_isr,
    properties.epochs_never_go_back,
    properties.maximal_isr_covers_committed,
)
RECORD = (properties.acknowledged_record_survives, witnesses.record_acknowledged)
SEEN = (
    witnesses.broker_not_running,
    witnesses.broker_starting,
    witnesses.broker_in_recovery,
    witnesses.broker_runs_again,
    witnesses.every_broker_runs,
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
    actions=(*LIFECYCLE, controller.fence_two_lapsed, faults.expire_lease_early, *ISR),
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
    not_modelled=NOT_MODELLED,
)

LOSSY = Model(
    name="lossy",
    doc="Two brokers and a record; two crashes, of which one may lose the disk, and one copied request (KIP-903).",
    init=running_cluster,
    actions=(*LIFECYCLE, faults.crash_losing_disk, controller.fence_two_lapsed, *ISR, *DATA, *COPIES),
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
    not_modelled=NOT_MODELLED,
)

TWINS = Model(
    name="twins",
    doc="Two brokers, and a second process configured as broker 0; one crash that may lose the disk, one copied request.",
    init=running_cluster,
    actions=(*LIFECYCLE, faults.crash_losing_disk, faults.start_second, *ISR, *DATA, *COPIES),
    properties=(
        *SAFETY,
        *RECORD,
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
    not_modelled=NOT_MODELLED,
)

ISR_MODEL = Model(
    name="isr",
    doc="Three brokers and a record, min.insync.replicas 2; one crash that may lose the disk.",
    init=running_cluster,
    actions=(*LIFECYCLE, faults.crash_losing_disk, *ISR, *DATA),
    properties=(*SAFETY, *RECORD, *SEEN, witnesses.record_outlives_its_leader),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_crashes": 1, "max_disk_losses": 1},
    settings=SETTINGS,
    not_modelled=NOT_MODELLED,
)

MODELS = [MEMBERSHIP, LOSSY, TWINS, ISR_MODEL]
