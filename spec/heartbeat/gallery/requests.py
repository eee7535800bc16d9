"""ISR changes, shutdowns and upgrades: what a request does not say, and what nobody answers."""

from __future__ import annotations

from checker.lang import Bug
from spec.heartbeat.models.liveness import LIVE_LEGACY, LIVE_STOPPING, LIVE_UPGRADE
from spec.heartbeat.models.operations import STOPPING
from spec.heartbeat.models.sessions import LATE, REFUSED, TWINS
from spec.heartbeat.properties import leadership, liveness, records

LATE_EXPANSION = Bug(
    name="late-expansion",
    title="A late copy of an expansion lands after the ISR has shrunk again",
    label="draft only; KIP-497 has a version",
    found_in="KIP-343, IsrChangeRequest",
    story="""An IsrChange is sent twice. The first copy is granted, the ISR shrinks again by another, and then the
        second copy arrives: same leader, same leader epoch. The controller grants it. The leader does not know that
        the ISR has a member that it no longer waits for.""",
    model=LATE,
    constants={"partition_version": False},
    violates=records.maximal_isr_covers_committed,
    states=15,
    guard="An IsrChange carries the version of the partition state that it is to change.",
)

REFUSED_AND_GRANTED = Bug(
    name="refused-and-granted",
    title="A copy of what was refused is granted, once the leader has given it up",
    label="draft only; Kafka's refusal is final, too",
    found_in="KIP-343, IsrChangeRequest; KIP-841, KIP-903",
    story="""A leader wants to add a broker, which is INACTIVE at that moment: refused, and the leader gives it up.
        The broker comes back. A copy of the request arrives: the version is as it was, the member is active. It is
        granted, and the leader does not reckon with that.""",
    model=REFUSED,
    constants={"refusal_raises_version": False},
    violates=records.maximal_isr_covers_committed,
    states=16,
    guard="A refusal raises the version of the partition state.",
)

REQUEST_IN_HAND = Bug(
    name="request-in-hand",
    title="A fenced leader acknowledges a request in hand, and its successor's disk is empty",
    label="draft only",
    found_in="KIP-343, Broker-Side Heartbeat Timeout (existing network requests will be completed)",
    story="""A leader is the last member of the ISR, and fences itself with a request in hand. Another process of the
        same id registers, with a disk of its own, and takes its place in the ISR. Now the first completes its
        request.""",
    model=TWINS,
    constants={"acknowledges_unfenced": False},
    violates=records.acknowledged_record_survives,
    states=14,
    guard="Requests in hand are completed with an error: a fenced process acknowledges nothing.",
)

HANDOVER = Bug(
    name="handover",
    title="A leadership is moved from a broker that serves, and the new leader hears of it first",
    label="draft only; as in Kafka",
    found_in="KIP-343, Broker State (we gradually migrate leaders away from the broker)",
    story="""A broker that is stopping serves on while its leaderships are moved. The controller writes the new leader
        to ZooKeeper and sends the request to both. The new one takes it first, and for a while two serve.""",
    model=STOPPING,
    constants={"handover_acknowledged": False},
    violates=leadership.one_process_serves,
    states=6,
    guard="The leadership is taken first, and given to another once everybody has acknowledged that.",
)

NO_EXIT = Bug(
    name="no-leave-to-exit",
    title="A broker that is stopping never learns that it may exit",
    label="draft only",
    found_in="KIP-343, Broker State; BrokerState Enum",
    story="""STOPPING is a state to be in. The document has no state, and no answer, that says that all leaderships
        have moved. A broker that is shut down waits forever, or exits too early.""",
    model=LIVE_STOPPING,
    constants={"exit_signal": False},
    violates=liveness.shutdown_ends,
    states=17,
    guard="A broker that is stopping and leads nothing is answered INACTIVE: its leave to exit.",
)

FENCED_FETCH = Bug(
    name="fenced-fetch",
    title="A legacy leader adds a fenced broker, the controller removes it, and so on",
    label="draft only; a hole of the first repair",
    found_in="KIP-343, Compatibility, Deprecation, and Migration Plan (legacy brokers modify ZooKeeper)",
    story="""A broker comes back, and is INACTIVE until it has acknowledged what it is owed. It fetches all the same,
        and the leader, a legacy broker, takes it into the ISR, without the controller. The controller takes it out,
        and owes it a control request for that. If this goes on, the broker is never unfenced.""",
    model=LIVE_LEGACY,
    constants={"fetches_unfenced": False},
    violates=liveness.registered_broker_is_active,
    states=21,
    guard="A process that is fenced does not fetch.",
)

GATED_HANDLING = Bug(
    name="gated-handling",
    title="The first brokers of the second roll stay fenced until the controller is rolled",
    label="draft only, where all new behaviour is gated",
    found_in="KIP-343, Compatibility, Deprecation, and Migration Plan (gated behind the IBP)",
    story="""After the first roll everybody has the new code and the old protocol. In the second roll a broker begins
        to send heartbeats. If the controller's handling of them is gated as well, nobody answers, until the
        controller happens to be rolled.""",
    model=LIVE_UPGRADE,
    constants={"handles_any_ibp": False},
    violates=liveness.registered_broker_is_active,
    states=16,
    guard="Only sending is gated: a controller of the new code handles heartbeats whatever its protocol.",
)

BUGS = [LATE_EXPANSION, REFUSED_AND_GRANTED, REQUEST_IN_HAND, HANDOVER, NO_EXIT, FENCED_FETCH, GATED_HANDLING]
