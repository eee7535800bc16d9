"""Bugs that Kafka had over ZooKeeper, as far as KIP-343 concerns them."""

from __future__ import annotations

from checker.lang import Bug
from spec.heartbeat import timed
from spec.heartbeat.models.leases import LEASES
from spec.heartbeat.models.liveness import LIVE, LIVE_CRASH, LIVE_LEGACY
from spec.heartbeat.models.operations import LEGACY, ZOMBIE
from spec.heartbeat.models.sessions import ISR_OF_THREE
from spec.heartbeat.models.timed import TIMED_QUEUE
from spec.heartbeat.properties import incarnations, leadership, liveness, records

CUT_OFF_LEADER = Bug(
    name="cut-off-leader",
    title="A leader that the controller cannot reach keeps its leaderships",
    label="shipped: KIP-343, Motivation",
    found_in="Apache Kafka up to 3.9 in ZooKeeper mode",
    story="""A broker is cut off from the controller, and not from ZooKeeper. Its znode stays, so it counts as alive.
        It hears of no change, and leads on, for as long as the network is like that.""",
    model=LIVE,
    constants={"heartbeats": False},
    violates=liveness.cut_off_leader_is_replaced,
    states=3,
    guard="Heartbeats.",
)

KAFKA_7235 = Bug(
    name="kafka-7235",
    title="A broker that bounces between two reads of /brokers/ids is not missed",
    label="known: KAFKA-7235, KAFKA-1120 (KIP-380)",
    found_in="Apache Kafka before 2.2",
    story="""A leader restarts so quickly that the controller, which reads /brokers/ids late, sees its id both times.
        It has not failed, then: the leadership is as it was, and the new process, which knows nothing, is given its
        predecessor's leader epoch.""",
    model=LEGACY,
    constants={"bounce_fences": False},
    violates=leadership.leader_epoch_is_of_one_incarnation,
    states=7,
    guard="The controller compares czxids: another one is a failure, then a startup.",
)

KAFKA_2729 = Bug(
    name="kafka-2729",
    title="A leader's cached version never matches again",
    label="known: KAFKA-2729, KAFKA-1382",
    found_in="Apache Kafka before 0.8.2 and up to 1.0",
    story="""A leader writes the ISR to ZooKeeper, and the reply is lost. Its write has happened, and it does not
        know. It tries again, with the version that it remembers: BADVERSION, for ever. `Cached zkVersion not equal to
        that in zookeeper, skip updating ISR`.""",
    model=LIVE_LEGACY,
    constants={"rereads_on_bad_version": False},
    violates=liveness.isr_change_is_resolved,
    states=7,
    guard="Who fails with BADVERSION reads what is there.",
)

KAFKA_7165 = Bug(
    name="kafka-7165",
    title="A broker takes the znode of its former session for its own",
    label="known: KAFKA-7165, KAFKA-1387",
    found_in="Apache Kafka up to 2.1",
    story="""A broker restarts before its former session has ended. Its create is refused: the znode is there. It
        takes that for its own. The former session ends, the znode goes, and the broker runs on without one.""",
    model=LIVE_CRASH,
    constants={"registration_retried": False},
    violates=liveness.process_is_registered,
    states=13,
    guard="Who is refused reads the owner, and tries again when the znode of another session is gone.",
)

KAFKA_6082 = Bug(
    name="former-controller-writes",
    title="A former controller changes the partition state",
    label="known: KAFKA-6082",
    found_in="Apache Kafka before 2.1",
    story="""A controller has decided that a leader is gone, and its own session ends. Another takes office. The first
        has yet to hear of that, its copy of the partition state is current, and its write succeeds.""",
    model=ZOMBIE,
    constants={"zk_writes_fenced": False},
    violates=leadership.former_controller_writes_nothing,
    states=5,
    guard="Every write of a controller is a multi that checks the version of the controller epoch.",
)

KAFKA_14140 = Bug(
    name="kafka-14140",
    title="A leader adds a broker to the ISR that the controller takes for dead",
    label="known: KAFKA-14140, KAFKA-13916 (KIP-841); akin to KAFKA-8836",
    found_in="Apache Kafka up to 3.2",
    story="""A follower has caught up, and the leader asks to add it. Meanwhile the controller has declared the
        follower inactive. It looks at leader and epoch only, and adds it.""",
    model=LEASES,
    constants={"active_members": False},
    violates=incarnations.nobody_inactive_is_added,
    states=10,
    guard="The controller adds no inactive member.",
)

KAFKA_14617 = Bug(
    name="kafka-14617",
    title="The ISR gains a replica whose disk was replaced",
    label="known: KAFKA-14617 (KIP-903); never repaired in ZooKeeper mode",
    found_in="Apache Kafka up to 3.4",
    story="""A follower has caught up, and the leader asks to add it. The follower dies with its disk, comes back with
        an empty one, and is active again before the request is handled. It joins the ISR without the record.""",
    model=ISR_OF_THREE,
    constants={"member_incarnations": False},
    violates=records.acknowledged_record_survives,
    states=21,
    guard="An IsrChange names the incarnation at which the leader has seen whom it adds.",
)

KAFKA_4453 = Bug(
    name="kafka-4453",
    title="A broker loses its lease while its heartbeat waits behind data",
    label="known: KAFKA-4453 (KIP-291), for the requests that a controller sends",
    found_in="Apache Kafka before 2.2; KIP-343, Controller Heartbeat",
    story="""The controller is a broker, too: what brokers ask it waits in the queue in which producers and consumers
        wait. The queue stands still for 3 s. A heartbeat waits in it until its sender gives it up and sends the next,
        which is handled in the end, and whose answer is a moment too late: nothing was lost, nobody was paused, and the
        broker's timeout of 6 s has run out.""",
    model=TIMED_QUEUE,
    constants={"max_stall_ticks": 6},
    violates=timed.reachable_broker_serves,
    states=19,
    guard="""What brokers and the controller ask of each other has a queue of its own (`control.plane.listener.name`,
        KIP-291). With these timeouts it may stand still for 2.5 s, once.""",
)

BUGS = [CUT_OFF_LEADER, KAFKA_7235, KAFKA_2729, KAFKA_7165, KAFKA_6082, KAFKA_14140, KAFKA_14617, KAFKA_4453]
