"""Bugs of registrations, fencing and the ISR."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KIP_903 = Bug(
    name="kip-903",
    title="An acknowledged record is lost: the ISR gains a replica whose disk was replaced",
    label="known: KIP-903, KAFKA-14617",
    found_in="Apache Kafka before 3.5",
    story="""Broker 0 is alone in the ISR, has acknowledged a record, and sees broker 1 caught up: it asks the
        controller to add it. Before the request lands, broker 1 crashes and loses its disk, comes back empty,
        registers as a new incarnation and is unfenced. The request names broker 1 by its id alone, so the controller
        takes the new incarnation for the one that was caught up and adds it to the ISR. When broker 0 is fenced,
        broker 1 is elected from the ISR, and leads with an empty log: the record that a producer was told is safe is
        gone, without any unclean election.""",
    model=models.replication.LOSSY,
    constants={"kip_903": False},
    violates=properties.replication.acknowledged_record_survives,
    states=25,
    guard="""The request carries, for each member, the broker epoch at which the leader saw it fetch. The controller
        refuses with INELIGIBLE_REPLICA when the member has registered again since.""",
)

KIP_841 = Bug(
    name="kip-841",
    title="A fenced broker joins the ISR by a request that was sent before it was fenced",
    label="known: KIP-841, KAFKA-13916",
    found_in="Apache Kafka in KRaft mode before 3.3",
    story="""A follower fell out of the ISR, fetches again, and its leader asks to add it back. While the request is
        under way the follower's lease runs out and the controller fences it. Fencing takes a broker out of every ISR,
        but this one is in none yet, so nothing of the partition changes, and the request is still at the right
        partition epoch. The controller grants it: a broker that it takes for dead is in the ISR, the high watermark
        waits for it, and nothing takes it out again but its leader.""",
    model=models.replication.ISR_SPURIOUS,
    constants={"kip_841": False},
    violates=properties.isr.fenced_broker_is_out_of_isr,
    states=11,
    guard="The controller refuses an ISR with a member that is fenced, with INELIGIBLE_REPLICA.",
)

KAFKA_13173 = Bug(
    name="kafka-13173",
    title="Two brokers expire at once, and the partition is given to one of the dead",
    label="known: KAFKA-13173",
    found_in="Apache Kafka in KRaft mode before 3.0",
    story="""Both replicas crash and both leases run out. The controller fences the two in one decision, and works out
        the records for each from the state before the decision. Fencing broker 0 moves the leadership to broker 1,
        which still counts as alive; fencing broker 1 takes it out of an ISR in which broker 0 still counts as alive.
        Replayed one after the other, the records leave a leader that is fenced and that is not even in the ISR.""",
    model=models.replication.LOSSY,
    constants={"kafka_13173": False},
    violates=properties.leader_election.leader_may_lead,
    states=6,
    guard="""The second broker is fenced from the state that the first fencing left. Kafka fences one broker in a
        decision since.""",
)

KAFKA_16952 = Bug(
    name="kafka-16952",
    title="A registration that is sent again gets another broker epoch",
    label="known: KAFKA-16952",
    found_in="Apache Kafka before 3.8; the draft asks for the right behaviour",
    story="""A broker registers, and the reply is lost. It sends the registration again, as the same incarnation, and
        the controller registers it a second time: a new record, and a new broker epoch, for a process that never
        stopped. Whoever acts on the first epoch is refused from then on. Kafka met it when brokers that run registered
        again after an upgrade of the metadata version: the controller then expected an epoch that the broker did not
        have.""",
    model=models.replication.MEMBERSHIP,
    constants={"kafka_16952": False},
    violates=properties.registration.broker_epochs_rise,
    states=7,
    guard="""A registration of the incarnation that holds the id changes nothing and gets the broker epoch that the
        incarnation has.""",
)

LAPSED_SESSION = Bug(
    name="lapsed-session",
    title="A broker registers over its lapsed session and stays leader while it is fenced",
    label="shipped; akin to KAFKA-18106",
    found_in="Apache Kafka of late 2024, without eligible leader replicas",
    story="""The leader crashes and restarts. Its lease has run out, but the controller has not fenced it yet,
        so the registration of the new incarnation is not refused as a duplicate. The new registration is fenced from
        the start, and the old one is simply replaced: the step that would have moved its leaderships away never
        happens, since a fenced broker is not fenced again. The partition keeps a leader that may not lead, and a
        member of its ISR that may have come back without its log.""",
    model=models.replication.LATE,
    constants={"expired_session": False},
    violates=properties.leader_election.leader_may_lead,
    states=6,
    guard="""A new incarnation that takes the id of an unfenced registration first takes the old one out of its
        leaderships and ISRs, in the same decision.""",
)

LAST_MEMBER_STAYS = Bug(
    name="last-member",
    title="Fencing every replica leaves an empty ISR, from which nobody can be elected",
    label="draft only",
    found_in="KIP-631 as written: a fenced broker 'will be removed from all ISRs'",
    story="""One broker after the other crashes and is fenced. The document removes a fenced broker from all ISRs, the
        last one included. The ISR is then empty: whichever broker comes back first, none is known to have the log,
        and the partition stays without a leader unless an unclean election gives up what was acknowledged.""",
    model=models.replication.LATE,
    constants={"last_member_stays": False},
    violates=properties.isr.isr_is_never_empty,
    states=7,
    guard="""The last member stays in the ISR, without being leader, so that the partition knows whom to wait for. Kafka
        does it so.""",
)

SUPERSEDED_STOPS = Bug(
    name="superseded-stops",
    title="Two processes of one broker id lead in the same leader epoch",
    label="shipped",
    found_in="Apache Kafka of late 2024",
    story="""An operator starts a second process with the id of a broker that runs. While the first one's lease has
        lapsed (a long pause), the second registers, becomes the id's incarnation, is unfenced and elected. The first
        process learns of it from the metadata log, where it finds its own id as leader, and takes the new leader epoch
        for its own: both serve it, and followers and producers cannot tell them apart. Kafka's broker keeps running
        when its heartbeats are refused with STALE_BROKER_EPOCH.""",
    model=models.replication.TWINS_SPURIOUS,
    constants={"superseded_stops": False},
    violates=properties.registration.leader_epoch_has_one_incarnation,
    states=15,
    guard="""A process that sees its id registered at another broker epoch than its own neither leads nor follows any
        more.""",
)

REFUSAL_RAISES_EPOCH = Bug(
    name="refusal-raises-epoch",
    title="A request that was refused commits all the same, once its leader has forgotten it",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""A leader asks to add a follower, and a retry leaves the request under way twice. The follower's lease runs
        out early, it is fenced, and the first copy is refused with INELIGIBLE_REPLICA. The leader takes that for the
        end of it, goes back to the committed ISR and acknowledges a record without waiting for the follower. A refusal
        changes no epoch, though: once a heartbeat of the follower unfences it, the second copy passes every check and
        is granted. The leader crashes, and the follower is elected without the record. A follower that crashes and
        registers again does no such harm: it is at another broker epoch then, and KIP-903 refuses the copy.""",
    model=models.replication.REFUSED,
    constants={"refusal_raises_epoch": False},
    violates=properties.replication.acknowledged_record_survives,
    states=21,
    guard="""Refusing a change with INELIGIBLE_REPLICA raises the partition epoch, so that no other copy of the request
        can commit.""",
)

KNOWN_RECORD_SETTLES_NOTHING = Bug(
    name="known-record",
    title="An acknowledged record is lost: a leader forgets the expansion of the ISR that it has asked for",
    label="shipped; no report known; akin to KAFKA-12686",
    found_in="Apache Kafka in KRaft mode up to 3.9 at least",
    story="""Broker 1 has not been at the end of its leader's log for replica.lag.time.max.ms, and the leader has it
        removed from the ISR. The leader hears of that from the reply to its request. Broker 1 fetches again; it is not
        behind the high watermark, which waits for broker 2, so the leader asks for it to be added. Now the metadata
        log brings the record of the removal. The leader knows of it, its partition epoch is the leader's own; Kafka
        skips only older ones, and takes over the ISR of the record. That drops the expansion from the leader's memory,
        while its request is under way. The high watermark does not wait for broker 1 any more: it is in no ISR that
        the leader knows of, and has not been caught up for too long to be waited for on that account. A record is
        acknowledged with brokers 0 and 2, the controller grants the expansion, the leader crashes, and broker 1, the
        next in replica order, is elected without the record.""",
    model=models.replication.EXPANSION,
    constants={"known_record_settles_nothing": False},
    violates=properties.replication.acknowledged_record_survives,
    states=16,
    guard="""A record at the partition epoch that the leader has already settles nothing: what the leader has asked for
        since stays asked for, until its own reply or a newer record.""",
)

KAFKA_14154 = Bug(
    name="kafka-14154",
    title="A deposed controller refuses a leader that is ahead of it, and the leader waits for metadata that it has",
    label="known: KAFKA-14154",
    found_in="Apache Kafka in KRaft mode before 3.3",
    story="""Controller 1 is elected, and controller 0 does not know of it yet. The new one fences broker 1, which takes
        it out of the ISR, and unfences it. Broker 0, the leader, has that from the metadata log, sees broker 1 fetch,
        and asks to add it. The request goes to controller 0, the one that it has known so far, whose partition epoch is
        an older one: it refuses with INVALID_UPDATE_VERSION. The leader takes that for a sign that it is the one behind
        and that newer metadata is on its way. There is none. It asks no more, and until something else changes the
        partition its ISR neither grows nor shrinks.""",
    model=models.failover.FAILOVER_CHANGES,
    constants={"kafka_14154": False, "repeats_after_errors": False},
    violates=properties.alter_isr.pending_change_is_resolved,
    states=26,
    guard="""A controller answers a request that is ahead of it with NOT_CONTROLLER: the leader then looks for the
        active controller and asks again. A leader that asks again after every answer that leaves its change open
        (repeats_after_errors) does as well.""",
)

BUGS = [
    KIP_903, KIP_841, KAFKA_13173, KAFKA_16952, LAPSED_SESSION, LAST_MEMBER_STAYS, SUPERSEDED_STOPS,
    REFUSAL_RAISES_EPOCH, KNOWN_RECORD_SETTLES_NOTHING, KAFKA_14154,
]  # fmt: skip
