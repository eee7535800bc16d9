"""Sizes, fault budgets and design switches of the KIP-631 spec, what is assumed of them, and the settings with a name.

A switch that is True has its guard in force; False removes that guard and nothing else. Budgets bound
perturbations only (crashes, early lease expiries, duplicates): restarts, retries, heartbeats, fetches,
fencing, the loss of messages and the expiry of a silent broker's lease are never bounded.
"""

from __future__ import annotations

from checker.lang import assume, constants


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, two brokers and no faults."""

    controllers: int = 1
    "Voters of the metadata quorum. With 1, what is decided is committed at once."
    brokers: int = 2
    "Broker ids."
    spare_brokers: int = 0
    "The last so many brokers hold no replica at the start."
    partitions: int = 1
    "Partitions of the topic, each with every broker but the spare ones as a replica: 1 or 2."
    second_processes: int = 0
    "How many processes beyond one an id there are: with 1, a second process is configured as broker 0."
    min_insync_replicas: int = 1
    "min.insync.replicas: members that the ISR must have for a record to be written and acknowledged (acks=all)."
    records: int = 1
    "Records that a partition's log has room for in the models of `replica_logs`; elsewhere there is one."
    lifecycle_in_flight: int = 1
    "Registrations and heartbeats under way at once in the whole cluster, copies not counted."
    alter_in_flight: int = 1
    "AlterIsr requests under way at once in the whole cluster, copies not counted."
    pending_batches: int = 0
    """Batches that a controller's log may have beyond what is committed; in the models of `raft` and `quorum_log`, in
    all. 0 with one controller."""
    max_epoch: int = 0
    "The newest epoch that voters may stand in, in the models of `raft` and `quorum_log`."
    snapshots: int = 0
    "With 1, controllers write snapshots of the metadata log."
    previous_images: int = 0
    "With 1, a broker's metadata image may stop at the last batch but one that is committed, on its way to the newest."
    removals: int = 0
    "With 1, the log of several controllers may remove a topic or a registration, and an operator awaits the reply."

    max_crashes: int = 0
    "Budget of crashes, those that lose the disk among them."
    max_disk_losses: int = 0
    "Budget of crashes that lose the disk."
    max_cuts: int = 0
    """Budget of cuts between a voter and all others, in the models of `raft`. With 0 a voter may stand, and a leader
    resign, at any time; else only where they hear nothing."""
    max_snapshots: int = 0
    "Budget of snapshots that voters write, in the models of `raft`."
    lag_is_known: int = 0
    """With 1, a leader knows which followers were at the end of its log within replica.lag.time.max.ms: its high
    watermark waits for those that may join the ISR, and only the others leave it. With 0, that time may have passed for
    anybody at any moment."""
    max_lags: int = 0
    "Budget of followers that do not reach the end of their leader's log for replica.lag.time.max.ms, if that is known."
    max_early_expiries: int = 0
    "Budget of leases that run out although the broker is alive and sending (a pause, a slow network)."
    max_duplicates: int = 0
    "Budget of requests of which a second copy lands later."
    max_second_starts: int = 0
    "Budget of starts of a process while another of its id is alive."
    max_shutdowns: int = 0
    "Budget of SIGTERMs."
    max_failovers: int = 0
    "Budget of elections of a controller, by which the soft state of the one before is lost."
    max_reassignments: int = 0
    "Budget of reassignments that are asked for. With 0, nothing is ever added or removed."
    max_topics: int = 0
    "Budget of topics that are created. With 0, there is one, and it stays."
    metadata_responses: int = 0
    "Metadata responses that are remembered: 1 where clients ask for metadata, else 0."
    listings: int = 0
    "Listings of reassignments that are remembered: 1 where operators ask for them, else 0."
    max_unregistrations: int = 0
    "Budget of brokers that an operator unregisters."

    last_member_stays: bool = True
    "Fencing leaves the last member of an ISR in it. The draft has fenced brokers 'removed from all ISRs'."
    kip_841: bool = True
    "KIP-841 (KAFKA-13916): the controller refuses an ISR that has a fenced member."
    kip_903: bool = True
    "KIP-903 (KAFKA-14617): the controller refuses to add a replica that is not at the broker epoch the leader saw."
    kafka_13173: bool = True
    "KAFKA-13173: where one decision fences two brokers, the second is fenced from the state that the first left."
    kafka_16952: bool = True
    "KAFKA-16952: a registration repeated by the incarnation that holds the id changes nothing: no new epoch."
    expired_session: bool = True
    """A new incarnation that registers over a session that lapsed but was not yet fenced first takes the old one
    out of its leaderships and ISRs (akin to KAFKA-18106)."""
    fenced_holder_yields: bool = True
    """A fenced holder of an id does not block it (BrokerHeartbeatManager.hasValidSession of Kafka 3.9). In the document
    and in Kafka 4.3 any contact counts, "even if the broker is fenced", and the id is free once that lease is over."""
    registration_starts_lease: bool = True
    """Where a fenced holder of an id blocks it, it does so from its registration on. In Kafka 4.0 to 4.3 from its first
    heartbeat (ClusterControlManager.trackBrokerHeartbeat)."""
    failover_starts_leases: bool = True
    """Where a fenced holder of an id blocks it, it does so again after a failover. In Kafka 4.3 only brokers that are
    unfenced have a lease then (ClusterControlManager.activate)."""
    repeated_registration_renews: bool = True
    """A registration repeated by the incarnation that holds the id renews its lease. In Kafka 4.3 only a heartbeat does
    (ClusterControlManager.registerBroker)."""
    repeated_registration_is_known: bool = True
    """A broker that repeats its registration, and has applied the first one, may be unfenced. In Kafka it has to apply
    the amended record, too (ClusterControlManager.replay)."""
    registration_keeps_report: bool = True
    """What a broker has reported to have applied is remembered where it is unfenced, or repeats its registration. Kafka
    forgets it until the next heartbeat (BrokerHeartbeatManager.register), and shutdowns wait for the broker."""
    failover_knows_shutdowns: bool = True
    """A controller that becomes active knows from the metadata who is in controlled shutdown, and lets nobody wait for
    them. In Kafka such a broker counts as active until it asks again (ClusterControlManager.activate)."""
    fences_once: bool = True
    """Of a fenced broker that asks to shut down, or whose lease ends, nothing is written. Kafka fences it again, by a
    batch that changes nothing (ReplicationControlManager.processBrokerHeartbeat, maybeFenceOneStaleBroker)."""
    finds_uncommitted_topics: bool = True
    """An operator may delete a topic as soon as its controller has decided to create it. Kafka looks names and ids up
    in what is committed (QuorumController.findTopicIds), and knows of no such topic before."""
    keeps_record_behind_snapshot: bool = True
    """A controller that renounces goes back to what is committed. Kafka's goes back to the snapshot that it has loaded,
    where that is one record less, for it takes the snapshot's end for the last offset that the snapshot has
    (OffsetControlManager.endLoadSnapshot)."""
    snapshot_keeps_offsets: bool = True
    """A controller that has loaded a snapshot knows where in the log each broker registered. Kafka's takes its end for
    that: a fenced broker has to apply all that is in it before it is unfenced (ClusterControlManager.replay)."""
    own_image_ends_start: bool = True
    """A broker leaves STARTING once its own image has what is committed. Kafka's does once a heartbeat's reply says
    that it has caught up with its registration (BrokerLifecycleManager.BrokerHeartbeatResponseEvent.run)."""
    superseded_stops: bool = True
    "A process that sees its id registered at another broker epoch no longer acts as a replica."
    stale_process_stops: bool = True
    """A process that is told that its broker epoch is stale, for another has its id or none has, ends; else it goes on
    with its heartbeats, for ever. Who starts it again starts a new incarnation."""
    refusal_raises_epoch: bool = True
    """Refusing a change with INELIGIBLE_REPLICA raises the partition epoch, so that no other copy of the request can
    commit once its leader has forgotten it."""
    known_record_settles_nothing: bool = True
    """A record of the metadata log with a change that the leader knows already, from the reply to its request, settles
    nothing: what the leader has asked for since stays asked for. Kafka (Partition.makeLeader,
    Partition.updateAssignmentAndIsr) skips only records of an older partition epoch, and drops it."""
    repeats_after_errors: bool = True
    """A leader asks again after an answer that leaves open what became of its change. Kafka's does after
    STALE_BROKER_EPOCH and NOT_CONTROLLER only; after any other error (Partition.handleAlterPartitionError), and after
    a success at a newer leader epoch (Partition.handleAlterPartitionUpdate), it waits for the metadata."""
    kafka_14154: bool = True
    """KAFKA-14154: to a leader that is ahead of it a controller answers NOT_CONTROLLER, not as if the leader were
    behind: the metadata for which such a leader waits is there already."""
    kafka_17333: bool = True
    "KAFKA-17333: an elected controller becomes active only once it has replayed its log to the end."
    successes_wait: bool = True
    "The reply of a success leaves only when all is committed that its controller had written by then."
    refusals_wait: bool = True
    """A refusal that is the result of a decision, as INELIGIBLE_REPLICA is, waits as a success does. In Kafka, too: a
    result without records waits for the highest offset that is pending (QuorumController.ControllerWriteEvent.run)."""
    thrown_errors_wait: bool = True
    """STALE_BROKER_EPOCH and DUPLICATE_BROKER_REGISTRATION wait, too. In Kafka they are exceptions
    (ClusterControlManager.checkBrokerEpoch, ClusterControlManager.registerBroker), which leave at once."""
    atomic_batches: bool = True
    "The records of one decision are one batch, which survives a failover whole or not at all."
    shutdown_awaits_images: bool = True
    """A controlled shutdown ends only when every active broker has applied the metadata in which its leaderships moved;
    else as soon as they have."""
    kafka_13959: bool = True
    """KAFKA-13959: to be unfenced, a broker must have applied its own registration; else it must reach the end of the
    log, which keeps growing."""
    lease_check_by_timer: bool = True
    """A new active controller looks for leases that run out by itself; else only once it has accepted a registration or
    a heartbeat."""
    idle_shutdown_waits: bool = True
    "A broker that asks to shut down while it leads nothing waits, too, until the others have seen that."
    fenced_shutdown_waits: bool = True
    "A broker that was fenced before it asks to shut down waits, too, until the others have seen that."
    shutdown_outlives_soft_state: bool = True
    """A broker in controlled shutdown of which the active controller knows no offset (after a failover, or after its
    lease ran out) gets a new one to wait for. Else it is taken for one that asks for the first time."""
    repeated_registration_keeps_shutdown: bool = True
    """A registration repeated by the incarnation that holds the id leaves its controlled shutdown as it is. In Kafka
    the amended record makes the controller forget the offset to wait for (ClusterControlManager.replay)."""
    shutdown_is_final: bool = True
    "A broker that was told to shut down stays fenced until it registers again, whatever heartbeat lands late."
    kafka_14292: bool = True
    "KAFKA-14292: the offset that a controlled shutdown waits for stays; else each of its heartbeats moves it on."
    kafka_15665: bool = True
    """KAFKA-15665: a reassignment waits for all its target replicas to be in the ISR, not only for those that it adds.
    The draft: it 'can be completed immediately' with one target in the ISR."""
    kafka_19975: bool = True
    """KAFKA-19975: unless it leaves fewer replicas than there were, a reassignment does not wait for a target replica
    that it does not add, and that may be dead for good."""
    completion_keeps_min_isr: bool = True
    "A reassignment does not complete where that would take the ISR below min.insync.replicas."
    reassignment_replaced: bool = True
    """A second reassignment replaces what the first was adding and removing. Without it, what the first was adding
    counts as there already, and a list that would become empty stays as it was."""
    removed_addition_is_dropped: bool = True
    """A reassignment does not wait for a replica that it was to add and that a second one removes again. Else it waits,
    and for ever (4.3: PartitionReassignmentReplicas.maybeCompleteReassignment, which looks at all that are added)."""
    removed_keep_order: bool = True
    """Replicas that are to go stand behind the targets as they stood before. Else by id
    (4.3: PartitionReassignmentReplicas.calculateDifference), and a cancel leads back to them in that order."""
    cancel_keeps_min_isr: bool = True
    "A cancel is refused that would take the ISR below min.insync.replicas."
    listing_is_committed: bool = True
    """A listing of reassignments shows what is committed. Else an active controller shows what it has decided, and may
    yet lose."""
    unfencing_joins_no_isr: bool = True
    "Unfencing adds a broker to no ISR. The draft speaks of one that completes a reassignment 'during unfencing'."
    kip_516: bool = True
    "KIP-516: AlterIsr names its topic by id, which distinguishes it from a later topic of the same name."
    kafka_14616: bool = True
    "KAFKA-14616: what a process that starts finds on disk of a deleted topic, it deletes."
    kip_101: bool = True
    "KIP-101: a follower cuts its log off where its newest epoch ends in its leader's log; else at its high watermark."
    kip_279: bool = True
    """KIP-279: the leader says which epoch it answers for, and the follower cuts off what it has of others; else it
    takes the start of the leader's next epoch for the end of its own."""
    kip_320: bool = True
    "KIP-320: a leader answers only followers that are at its own leader epoch."
    own_epoch_commits: bool = True
    """KAFKA-12619: a leader's high watermark moves once a batch of its own epoch is on a majority; else over any that
    is, by whomever it was written."""
    restart_resigns: bool = True
    """KAFKA-10527: a voter that restarts and finds that it led the epoch does not lead on: it may have lost the end of
    what it wrote."""
    restart_keeps_vote: bool = True
    """KAFKA-10661: a voter that restarts and finds that it led the epoch votes for nobody else in it; else it has
    forgotten its vote, for the file has the leader alone."""
    flush_before_fetch: bool = True
    "KAFKA-10533: a follower fetches from where its log on disk ends, which tells the leader that it has all before."
    counts_flushed_only: bool = True
    """A leader counts itself up to where its log is on disk. Kafka's counts its whole log, for one thread appends,
    flushes, and then reads the next request."""
    vote_is_durable: bool = True
    "A vote is on disk before it is told."
    candidate_flushes: bool = True
    """A candidate's log is on disk before it asks for votes: it may restart with the votes that were given to more than
    it has. In Kafka one thread appends and flushes, so that a candidate has nothing that is not on disk."""
    vote_compares_logs: bool = True
    "A voter votes only for a candidate whose log is as good as its own."
    resigned_raises_epoch: bool = True
    """KAFKA-18379: a resigned leader takes up the next epoch when its election timeout runs out; else it follows the
    leader of its epoch, itself."""
    check_quorum: bool = True
    """KAFKA-15489: a leader from which no majority fetches resigns; else it leads on, and its clients wait for ever."""
    prevote: bool = True
    """KIP-996: a voter stands only where a majority would vote for it; else a voter that comes back from a partition
    deposes a leader that has a majority."""
    prevote_after_resignation: bool = True
    """KAFKA-20895: a voter whose leader tells it that it resigns would vote for another from then on; else only the one
    that is to stand first does, and the others refuse it, for they have fetched, until their own turn to stand."""
    keeps_committed: bool = True
    """KAFKA-12460: a follower that is to cut off what it knows to be committed stops instead: a voter must have lost
    its disk."""
    snapshot_ends_batch: bool = True
    """KAFKA-14619: a snapshot ends where a batch does; else one record before (KAFKA-14618), for its end is taken from
    the last record in it."""
    deletes_behind_snapshot: bool = True
    """KAFKA-14238, KAFKA-14240: a log is deleted up to where the newest snapshot ends; else whatever is old is deleted,
    as far as it is committed."""


@assume
def brokers_have_ids() -> bool:
    """there are one to five brokers, of which `node_id` knows the ids."""
    return 1 <= Design.brokers <= 5


@assume
def broker_0_holds_a_replica() -> bool:
    """spare brokers are some of the brokers, and broker 0, which leads at the start, is none of them."""
    return 0 <= Design.spare_brokers < Design.brokers


@assume
def isr_can_have_its_minimum() -> bool:
    """min.insync.replicas is at least 1, and no more than the replicas at the start."""
    return 1 <= Design.min_insync_replicas <= Design.brokers - Design.spare_brokers


@assume
def partitions_are_one_or_two() -> bool:
    """the topic has one partition or two."""
    return 1 <= Design.partitions <= 2


@assume
def one_second_process() -> bool:
    """at most one process more than there are ids, configured as broker 0."""
    return 0 <= Design.second_processes <= 1


@assume
def requests_can_be_sent() -> bool:
    """one request of each kind at least can be under way."""
    return Design.lifecycle_in_flight >= 1 and Design.alter_in_flight >= 1


@assume
def log_is_that_of_its_quorum() -> bool:
    """the log of a single controller is committed at once; several controllers need batches that are not yet."""
    return Design.pending_batches == 0 if Design.controllers == 1 else Design.pending_batches >= 1


@assume
def quorum_is_odd() -> bool:
    """there are one, three or five controllers."""
    return Design.controllers in (1, 3, 5)


@assume
def parts_are_there_or_not() -> bool:
    """snapshots, removals, previous images, metadata responses, listings and lags are modelled, 1, or not, 0."""
    parts = (
        Design.snapshots,
        Design.removals,
        Design.previous_images,
        Design.metadata_responses,
        Design.listings,
        Design.lag_is_known,
    )
    return all(0 <= part <= 1 for part in parts)


@assume
def budgets_are_counts() -> bool:
    """a budget is 0 or more."""
    return all(
        budget >= 0
        for budget in (
            Design.max_crashes,
            Design.max_disk_losses,
            Design.max_cuts,
            Design.max_snapshots,
            Design.max_lags,
            Design.max_early_expiries,
            Design.max_duplicates,
            Design.max_second_starts,
            Design.max_shutdowns,
            Design.max_failovers,
            Design.max_reassignments,
            Design.max_topics,
            Design.max_unregistrations,
            Design.max_epoch,
        )
    )


REPAIRED: dict[str, bool] = {}
"""Every guard in force."""

SHIPPED = {
    "stale_process_stops": False,
    "expired_session": False,
    "superseded_stops": False,
    "refusal_raises_epoch": False,
    "known_record_settles_nothing": False,
    "repeats_after_errors": False,
    "thrown_errors_wait": False,
    "lease_check_by_timer": False,
    "idle_shutdown_waits": False,
    "fenced_shutdown_waits": False,
    "shutdown_outlives_soft_state": False,
    "repeated_registration_keeps_shutdown": False,
    "shutdown_is_final": False,
    "kafka_19975": False,
    "completion_keeps_min_isr": False,
    "reassignment_replaced": False,
    "cancel_keeps_min_isr": False,
    "listing_is_committed": False,
}
"""Apache Kafka 3.9 in KRaft mode, without ELR: KIP-841, KIP-903 and the KAFKA fixes are in, these are not."""

KAFKA_3_9 = {
    **SHIPPED,
    "repeated_registration_is_known": False,
    "registration_keeps_report": False,
    "failover_knows_shutdowns": False,
    "removed_keep_order": False,
    "fences_once": False,
    "finds_uncommitted_topics": False,
    "keeps_record_behind_snapshot": False,
    "snapshot_keeps_offsets": False,
    "own_image_ends_start": False,
}
"""Apache Kafka 3.9, as far as the released controller of 3.9.2 was driven (docs/apache-kafka.md)."""
OF_LIFECYCLE = ("stale_process_stops", "own_image_ends_start")
BROKERS_SIDE = (*OF_LIFECYCLE, "superseded_stops", "known_record_settles_nothing", "repeats_after_errors")
KAFKA_4_3 = {
    **SHIPPED,
    "expired_session": True,
    "lease_check_by_timer": True,
    "fenced_holder_yields": False,
    "registration_starts_lease": False,
    "failover_starts_leases": False,
    "repeated_registration_renews": False,
    "repeated_registration_is_known": False,
    "registration_keeps_report": False,
    "failover_knows_shutdowns": False,
    "fences_once": False,
    "finds_uncommitted_topics": False,
    "keeps_record_behind_snapshot": False,
    "snapshot_keeps_offsets": False,
    "own_image_ends_start": False,
    "kafka_19975": True,
    "removed_addition_is_dropped": False,
    "removed_keep_order": False,
}
"""Apache Kafka 4.3, as far as its released controller was driven (docs/apache-kafka.md)."""
KAFKA_4_4 = KAFKA_4_3
"""Apache Kafka 4.4: nothing of the controller or of lifecycles that is modelled is otherwise than in 4.3."""
KAFKA_4_2 = {**KAFKA_4_3, "kafka_19975": False, "removed_addition_is_dropped": True}
"""Apache Kafka 4.2: a reassignment waits for its targets, all of them and no others."""
KAFKA_4_1 = KAFKA_4_2
KAFKA_4_0 = {**KAFKA_4_1, "failover_starts_leases": True}
"""Apache Kafka 4.0: a controller that becomes active has heard of fenced brokers, too."""


def controller_of(release: dict[str, bool]) -> dict[str, bool]:
    """The controller of a release, and brokers with every guard in force."""
    return {name: value for name, value in release.items() if name not in BROKERS_SIDE}


def lifecycle_of(release: dict[str, bool]) -> dict[str, bool]:
    """The controller of a release, and its brokers as far as they register, recover and shut down."""
    return {**controller_of(release), **{name: release[name] for name in OF_LIFECYCLE}}


DRAFT = {
    **SHIPPED,
    "last_member_stays": False,
    "kip_841": False,
    "kip_903": False,
    "shutdown_awaits_images": False,
    "lease_check_by_timer": True,
    "kafka_15665": False,
    "unfencing_joins_no_isr": False,
}
"""The document as written. Its text asks for what KAFKA-16952 restored ("the same successful result as before") and for
leases that end "once the period has elapsed"; KAFKA-13173 and KAFKA-14292 were bugs of the code; so these stay on.
`fenced_holder_yields` does, too: without it a broker waits longer, and what goes wrong otherwise is the same."""

SETTINGS = {
    "repaired": REPAIRED,
    "shipped": SHIPPED,
    "kafka_3_9": KAFKA_3_9,
    "kafka_3_9_controller": controller_of(KAFKA_3_9),
    "kafka_3_9_lifecycle": lifecycle_of(KAFKA_3_9),
    "kafka_4_0": KAFKA_4_0,
    "kafka_4_0_controller": controller_of(KAFKA_4_0),
    "kafka_4_0_lifecycle": lifecycle_of(KAFKA_4_0),
    "kafka_4_1": KAFKA_4_1,
    "kafka_4_1_controller": controller_of(KAFKA_4_1),
    "kafka_4_1_lifecycle": lifecycle_of(KAFKA_4_1),
    "kafka_4_2": KAFKA_4_2,
    "kafka_4_2_controller": controller_of(KAFKA_4_2),
    "kafka_4_2_lifecycle": lifecycle_of(KAFKA_4_2),
    "kafka_4_3": KAFKA_4_3,
    "kafka_4_3_controller": controller_of(KAFKA_4_3),
    "kafka_4_3_lifecycle": lifecycle_of(KAFKA_4_3),
    "kafka_4_4": KAFKA_4_4,
    "kafka_4_4_controller": controller_of(KAFKA_4_4),
    "kafka_4_4_lifecycle": lifecycle_of(KAFKA_4_4),
    "draft": DRAFT,
}
"""`shipped` is the newest release that was read; a setting is named for each release, too."""
