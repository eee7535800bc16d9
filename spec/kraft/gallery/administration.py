"""Bugs and holes of reassignments and topics."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KAFKA_15665 = Bug(
    name="kafka-15665",
    title="A reassignment completes while a replica that stays is not in the ISR, and takes it below the minimum",
    label="known: KAFKA-15665",
    found_in="Apache Kafka in KRaft mode before 3.8; KIP-631 has it 'completed immediately'",
    story="""A partition has three replicas and needs two in sync. The leader dies, and the other two carry on. An
        operator now takes one of the living replicas away. The reassignment adds nobody, so nothing is left to wait for
        and it completes at once: the dead replica is kept, one of the two that are in sync is removed, and the
        partition is left with a single one, below min.insync.replicas.""",
    model=models.administration.MOVED_RECORD,
    constants={"kafka_15665": False, "completion_keeps_min_isr": False, "spare_brokers": 0},
    violates=properties.reassignment.reassignment_keeps_min_isr,
    states=5,
    guard="""A reassignment that leaves fewer replicas than there were completes only when all that remain are in the
        ISR.""",
)

KAFKA_19975 = Bug(
    name="kafka-19975",
    title="A reassignment waits forever for a dead replica that it neither adds nor removes",
    label="known: KAFKA-19975",
    found_in="Apache Kafka from 3.8, fixed in December 2025",
    story="""An operator replaces a replica, and then a broker dies for good of which another replica is to stay. What
        the reassignment adds comes into the ISR, but it does not complete: since KAFKA-15665 it waits for every target,
        and one of them is dead. No harm could come of completing, for the ISR would not be smaller than before.""",
    model=models.administration.STUCK_REASSIGNMENT,
    constants={"kafka_19975": False},
    violates=properties.reassignment.reassignment_completes,
    states=7,
    guard="A reassignment that leaves as many replicas as there were, or more, waits only for those that it adds.",
)

REASSIGNMENT_REPLACED = Bug(
    name="reassignment-replaced",
    title="A second reassignment leaves part of the first in force",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""An operator asks for replicas [2] instead of [0, 1] and, before that completes, for all three. The second
        reassignment neither adds a replica to the three that there are by then nor removes one. The controller starts
        from the lists of the partition and sets only those that have something in them, so the lists of the first
        reassignment stay: replicas 0 and 1 are still to be removed. Once replica 2 is in the ISR the partition is left
        with it alone, and what the operator last asked for never comes about.""",
    model=models.administration.REASSIGNMENT,
    constants={"reassignment_replaced": False},
    violates=properties.reassignment.reassignment_ends_as_last_requested,
    states=3,
    guard="A second reassignment replaces both lists, counted from the replicas before the first.",
)

REMOVED_ADDITION_IS_DROPPED = Bug(
    name="removed-addition",
    title="A reassignment waits forever for a replica that it is to remove",
    label="shipped since the repair of KAFKA-19975; no report known",
    found_in="Apache Kafka 4.3.1 (PartitionReassignmentReplicas.maybeCompleteReassignment)",
    story="""An operator asks for replicas [2] instead of [0, 1] and, before that completes, for [0]. Replica 2 is now
        one that the first reassignment adds and the second removes: it stands in both lists. Since the repair of
        KAFKA-19975 a reassignment waits until all that it adds are in the ISR, of which those that it removes do not
        count. So it waits for replica 2 as one that is to come, and does not count it when it has come. Though all
        three are in sync, nothing completes until an operator cancels, or asks for something else.""",
    model=models.administration.STUCK_REASSIGNMENT,
    constants={"removed_addition_is_dropped": False, "max_reassignments": 2, "max_crashes": 0},
    violates=properties.reassignment.reassignment_completes,
    states=7,
    guard="A reassignment waits only for those of the replicas that it adds which are to stay.",
)

LISTING_IS_COMMITTED = Bug(
    name="listing-is-committed",
    title="A listing of reassignments shows what is then lost",
    label="shipped; no report known",
    found_in="Apache Kafka in KRaft mode from 3.0 to late 2024",
    story="""An operator asks for a reassignment, the controller decides it, and before that is committed somebody lists
        the reassignments. The reply to the first waits for the commit, the reply to the second does not: it is given
        at once, and takes what it says of a partition from the controller's newest image; only which topics there are
        is read from what is committed. Another controller has been elected by then that does not have the decision, and
        once its own first batch is committed the decision is gone. A tool that polls for the end of a reassignment
        reads the same listing.""",
    model=models.failover.FAILOVER_REASSIGNMENT,
    constants={"listing_is_committed": False},
    violates=properties.failover.listing_is_never_truncated,
    states=6,
    guard="A listing is read from what is committed.",
)

CANCEL_KEEPS_MIN_ISR = Bug(
    name="cancel-keeps-min-isr",
    title="A cancelled reassignment takes the ISR below the minimum",
    label="shipped; akin to KAFKA-14424",
    found_in="Apache Kafka from 3.8",
    story="""A reassignment replaces one of two replicas, and the other one, which is to stay, dies. The new replica
        comes into the ISR with the one that is to go, and the reassignment waits for the dead one. The operator
        cancels, and the cancel takes the new replica out of the ISR again, of which only one member is left. A cancel
        is refused only where it would leave nobody to lead: the partition, which could be written, cannot be written
        any more, and holds its records once.""",
    model=models.administration.MOVED_RECORD,
    constants={"cancel_keeps_min_isr": False, "kafka_19975": False},
    violates=properties.reassignment.reassignment_keeps_min_isr,
    states=11,
    guard="""A cancel is refused that would take the ISR below min.insync.replicas when it is not below. With
        KAFKA-19975 fixed, the reassignment of this story completes before it could be cancelled.""",
)

COMPLETION_KEEPS_MIN_ISR = Bug(
    name="completion-keeps-min-isr",
    title="A reassignment back to the old replicas completes at once, and takes the ISR below the minimum",
    label="shipped since the repair of KAFKA-19975; no report known",
    found_in="Apache Kafka from December 2025 on, as the repair of KAFKA-19975 is described",
    story="""A partition needs two replicas in sync of its three. One is dead, and a reassignment brings a new one into
        the ISR; then another of the old ones dies. The operator gives up and asks for the old replicas again, of which
        two are dead. Nothing is added by that, so nothing is left to wait for: it completes at once and takes the new
        replica out of the ISR, in which one member is left. That the ISR cannot become smaller, as the repair argues,
        is so for one reassignment on its own.""",
    model=models.administration.STUCK_REASSIGNMENT,
    constants={
        "completion_keeps_min_isr": False, "brokers": 4, "min_insync_replicas": 2, "max_reassignments": 2,
        "max_crashes": 2,
    },
    violates=properties.reassignment.reassignment_keeps_min_isr,
    states=9,
    guard="""A reassignment completes only if it leaves min.insync.replicas members in the ISR, or if the ISR was below
        that before.""",
)  # fmt: skip

UNFENCING_JOINS_NO_ISR = Bug(
    name="unfencing-joins-isr",
    title="Unfencing a broker that is being added puts it into the ISR without its data",
    label="draft only",
    found_in="KIP-631 as written: a reassignment may complete 'during unfencing'",
    story="""A reassignment adds a broker, which crashes and is fenced before it has fetched anything. A heartbeat that
        it had sent lands now and unfences it. The document has the active controller complete a reassignment when it
        unfences the broker that this waits for, and that puts the broker into the ISR. Nobody asked the leader, who
        alone knows how far the broker's log reaches: it acknowledges records without waiting for a replica that the
        controller counts upon.""",
    model=models.administration.REASSIGNMENT_ENDS,
    constants={"unfencing_joins_no_isr": False},
    violates=properties.isr.maximal_isr_covers_committed,
    states=7,
    guard="Unfencing adds a broker to no ISR. Its leader does, once it has caught up. Kafka does it so.",
)

KAFKA_14616 = Bug(
    name="kafka-14616",
    title="A broker that was down comes back with the log of a topic that was deleted, under the new one's name",
    label="known: KAFKA-14616",
    found_in="Apache Kafka in KRaft mode before 3.7",
    story="""While a broker is down, a topic that it has a replica of is deleted, and created again. The broker comes
        back, finds a directory of that name on its disk, and takes it for its replica of the new topic: records of the
        deleted topic are there again.""",
    model=models.administration.RECREATED,
    constants={"kafka_14616": False},
    violates=properties.topics.deleted_log_stays_deleted,
    states=11,
    guard="A process that starts compares the topic id of each log with the metadata, and deletes those of another id.",
)

KIP_516 = Bug(
    name="kip-516",
    title="A request about a deleted topic changes the one that was created after it",
    label="known: KIP-516",
    found_in="AlterIsr as KIP-497 and KIP-631 first had it, by the topic's name",
    story="""A topic is deleted and created again, and the new topic's epochs start where the old one's did. A leader
        that has not heard of it yet asks to remove a follower from the ISR. The request names its topic by name: it
        passes every check, and changes the ISR of a topic that it was never about.""",
    model=models.administration.RECREATED,
    constants={"kip_516": False},
    violates=properties.topics.deleted_topic_changes_nothing,
    states=7,
    guard="AlterIsr names its topic by id (AlterPartition v2 and later), which no later topic of that name has.",
)

BUGS = [
    KAFKA_15665, KAFKA_19975, KAFKA_14616, KIP_516, REASSIGNMENT_REPLACED, REMOVED_ADDITION_IS_DROPPED,
    CANCEL_KEEPS_MIN_ISR, COMPLETION_KEEPS_MIN_ISR, LISTING_IS_COMMITTED, UNFENCING_JOINS_NO_ISR,
]  # fmt: skip
