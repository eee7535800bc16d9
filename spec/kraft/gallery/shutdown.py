"""Bugs and holes of leases and controlled shutdown."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KAFKA_14292 = Bug(
    name="kafka-14292",
    title="A controlled shutdown waits for an offset that each of its heartbeats moves on",
    label="known: KAFKA-14292",
    found_in="Apache Kafka in KRaft mode up to 3.3.1",
    story="""A broker asks to shut down. The controller moves its leaderships away, and remembers the offset of the
        metadata log that every active broker must have reached before the broker may go. Each further heartbeat of the
        broker makes the controller remember a new offset, further on. The other brokers report how far they are in
        their own heartbeats, and if one of the leaving broker comes between any two of them, they are always behind:
        everybody does what is to be done, and the broker never stops.""",
    model=models.shutdown.SHUTDOWN_ENDS,
    constants={"kafka_14292": False},
    violates=properties.shutdown.controlled_shutdown_ends,
    states=16,
    guard="The offset is set when the shutdown begins, and stays.",
)

KAFKA_13959 = Bug(
    name="kafka-13959",
    title="A broker that starts is never unfenced, because the log grows faster than it reports",
    label="known: KAFKA-13959",
    found_in="Apache Kafka's 3.3 before its release, once KIP-835 let the metadata log grow by itself",
    story="""A broker that starts stays fenced until it has caught up with the metadata log, and catching up means to
        have reached its end. The controller writes a NoOpRecord every 500 ms, while the broker reports every two
        seconds how far it is: by the time the report is handled the log has grown. The broker reads everything, reports
        faithfully, and is fenced forever; a partition of which it is the last member of the ISR stays without a leader
        just as long.""",
    model=models.shutdown.UNFENCING_ENDS,
    constants={"kafka_13959": False},
    violates=properties.heartbeat.ready_broker_is_unfenced,
    states=24,
    guard="It is enough that the broker has reached the record of its own registration, which stays where it is.",
)

LEASE_CHECK = Bug(
    name="lease-check",
    title="A broker dies during a failover, and nobody ever checks its lease",
    label="shipped; akin to KAFKA-18138",
    found_in="Apache Kafka up to 3.9",
    story="""A broker dies, and the active controller fails over. The new controller starts every lease again, and looks
        for leases that have run out only once a heartbeat or a registration has come in: that is what schedules the
        check. Where no other broker sends anything, as in a small cluster after a power cut, the dead broker stays
        unfenced, and leader, for clients to wait for.""",
    model=models.shutdown.LEASES_END,
    constants={"lease_check_by_timer": False},
    violates=properties.heartbeat.silent_broker_is_fenced,
    states=4,
    guard="The controller schedules the check by itself when it becomes active. Kafka does so since 4.0.",
)

LEASE_FROM_ARRIVAL = Bug(
    name="kafka-17793",
    title="A broker is fenced while its heartbeat waits in the controller's queue",
    label="known: KAFKA-17793",
    found_in="Apache Kafka up to 3.9",
    story="""The controller's thread is blocked for several seconds. A heartbeat arrives and waits in the queue. When
        the thread moves on, the check for leases that have run out overtakes it: a lease counts from the last heartbeat
        that was processed, and that was a session timeout ago. The controller fences a broker from which it heard in
        time, and its leaderships move for nothing. (That the broker dies meanwhile makes the trace shorter, and changes
        nothing: the controller does not know.)""",
    model=models.timed.TIMED,
    constants={"lease_from_arrival": False},
    violates=properties.timed.fenced_after_silence,
    states=24,
    guard="A lease counts from when a heartbeat arrives, before it is put into the queue. Kafka does so since 4.0.",
)

KAFKA_18138 = Bug(
    name="kafka-18138",
    title="A broker that dies while the controller fails over is never fenced: the new one does not know its lease",
    label="known: KAFKA-18138",
    found_in="Apache Kafka's 4.0 before its release, once KAFKA-17793 had changed how leases are counted",
    story="""The active controller fails over, and before the broker has sent the new one a heartbeat, it dies. The new
        controller looks for leases that have run out as it should, but among those only that it knows: of the brokers
        from which it has heard something. The broker that died is not one of them. It stays unfenced, and leader, until
        it starts again. (Times are shorter here than Kafka's: the trace is.)""",
    model=models.timed.TIMED_FAILOVER,
    constants={
        "kafka_18138": False, "max_failovers": 1, "heartbeat_interval_ticks": 1, "request_timeout_ticks": 2,
        "session_timeout_ticks": 4,
    },
    violates=properties.timed.silent_broker_is_fenced_in_time,
    states=12,
    guard="A controller that becomes active counts a lease of every registered broker from then on.",
)  # fmt: skip

IDLE_SHUTDOWN = Bug(
    name="idle-shutdown",
    title="A broker that leads nothing shuts down at once, while others still send clients to it",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""A leader gets SIGTERM. Before it has said so, its lease runs out early: the controller fences it and gives
        the lead away, and a heartbeat from before the SIGTERM unfences it. Now the heartbeat comes that asks to shut
        down. The broker leads nothing any more, so the controller tells it to go at once: the wait for the other
        brokers is only for those that led something when they asked. The other broker has not yet applied the metadata
        in which the lead moved, and keeps sending clients to a broker that is gone.""",
    model=models.shutdown.SHUTDOWN,
    constants={"idle_shutdown_waits": False},
    violates=properties.shutdown.shutdown_waits_for_images,
    states=8,
    guard="A broker that leads nothing when it asks waits like any other until every active broker has seen that.",
)

FENCED_SHUTDOWN = Bug(
    name="fenced-shutdown",
    title="A broker that was fenced while it asked to shut down is told to go at once",
    label="shipped, on purpose; no report known",
    found_in="Apache Kafka of late 2024",
    story="""A leader gets SIGTERM. Before its heartbeat with the wish is handled, its lease runs out early and it is
        fenced: the lead moves. The heartbeat then comes from a fenced broker that wants to stop, which Kafka's
        controller grants at once. The other brokers have not applied the metadata in which the lead moved, and still
        name the broker as leader when it exits.""",
    model=models.shutdown.SHUTDOWN,
    constants={"fenced_shutdown_waits": False},
    violates=properties.shutdown.shutdown_waits_for_images,
    states=6,
    guard="""A fenced broker that asks to shut down waits, too, until every active broker has seen that it leads
        nothing.""",
)

SHUTDOWN_FAILOVER = Bug(
    name="shutdown-failover",
    title="A failover makes the controller forget what a controlled shutdown waits for",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""A leader asks to shut down, and the controller moves its leaderships away and waits until the others have
        seen that. Then the active controller fails over. The registration of the broker says that it is in controlled
        shutdown, but the offset to wait for was only in the old controller's memory. At the broker's next heartbeat the
        new one finds that it leads nothing and has nothing to wait for, and tells it to go, while another broker's
        image still has it as leader.""",
    model=models.shutdown.SHUTDOWN,
    constants={"shutdown_outlives_soft_state": False},
    violates=properties.shutdown.shutdown_waits_for_images,
    states=7,
    guard="""A controller that finds a broker in controlled shutdown, and remembers no offset for it, gives it a new one
        to wait for.""",
)

SHUTDOWN_IS_FINAL = Bug(
    name="shutdown-is-final",
    title="A late copy of a heartbeat unfences a broker that was told to go, and it is elected as it exits",
    label="shipped; no report known, and rare",
    found_in="Apache Kafka of late 2024",
    story="""A broker is told to shut down, and is fenced with that. A copy of a heartbeat that it sent before it asked,
        left on a connection that was given up, reaches the controller now. It has the right broker epoch, wishes for
        nothing and is caught up far enough, so the controller unfences the broker, although its registration still says
        that it is in controlled shutdown. If the broker is the last member of the ISR it is even elected: the leader is
        a process that is closing its logs.""",
    model=models.shutdown.SHUTDOWN_LATE,
    constants={"shutdown_is_final": False},
    violates=properties.leader_election.leader_may_lead,
    states=13,
    guard="A broker that is in controlled shutdown is not unfenced until it registers again.",
)

ASKS_FOR_EVER = Bug(
    name="superseded-asks",
    title="A superseded process leads on by its id, and asks forever for a change that is always refused",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""A second process with the id of a broker takes its registration. The first one finds in its image that its
        id leads, takes up the lead, and asks to add a follower to the ISR. Its broker epoch is not that of the
        registration any more, so the answer is STALE_BROKER_EPOCH, upon which a leader asks again. Nothing of this ever
        ends: the process neither learns what became of its change nor that it does not lead.""",
    model=models.shutdown.CHANGES_END,
    constants={"superseded_stops": False},
    violates=properties.alter_isr.pending_change_is_resolved,
    states=35,
    guard="""A process that sees its id registered at another broker epoch than its own neither leads nor follows any
        more.""",
)

STALE_PROCESS = Bug(
    name="stale-process",
    title="A process whose id another one holds, or nobody, goes on with its heartbeats forever",
    label="shipped; no report known",
    found_in="Apache Kafka of late 2024",
    story="""An operator unregisters a broker that is alive, or starts a second process with the id of one that is
        fenced. The heartbeats of the first process are stale from then on, and each is answered with
        STALE_BROKER_EPOCH. Kafka's broker sends the next one after its usual interval, and never registers again: it
        leads nothing, follows nobody, serves no client, and whatever watches over processes sees one that runs.""",
    model=models.shutdown.CONFLICTS_END,
    constants={"stale_process_stops": False},
    violates=properties.registration.stale_process_is_gone,
    states=6,
    guard="""A process that is told that its broker epoch is stale ends. Whoever starts it again starts a new
        incarnation, which registers, or is refused for as long as another one has a valid session.""",
)

FENCED_HOLDER = Bug(
    name="fenced-holder",
    title="A broker that was shut down in order is kept out by its own last heartbeat",
    label="known: KAFKA-19047",
    found_in="the document; Apache Kafka 4.3, not 3.9",
    story="""A broker shuts down in order and starts again at once, as in a rolling restart. Its last heartbeat renewed
        the lease of the incarnation that is gone, and where contact counts even if the broker is fenced, that lease
        blocks the id: the new incarnation is refused with DUPLICATE_BROKER_REGISTRATION, again and again, until a
        session timeout is over. It costs time only, but for each broker of the cluster.""",
    model=models.shutdown.RESTARTS,
    constants={"fenced_holder_yields": False},
    violates=properties.registration.registration_reply_is_true,
    states=14,
    guard="""Only an unfenced holder has a session that blocks its id. A broker that is told to shut down is fenced in
        that decision, and so gives its id up.""",
)

BUGS = [
    KAFKA_14292, KAFKA_13959, LEASE_FROM_ARRIVAL, KAFKA_18138, LEASE_CHECK, SHUTDOWN_FAILOVER, IDLE_SHUTDOWN,
    FENCED_SHUTDOWN, SHUTDOWN_IS_FINAL, ASKS_FOR_EVER, STALE_PROCESS, FENCED_HOLDER,
]  # fmt: skip
