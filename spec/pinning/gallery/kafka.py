"""Bugs of Kafka's controllers over ZooKeeper, as far as pinning rests on what they concern."""

from __future__ import annotations

from checker.lang import Bug
from spec.pinning import models, properties

ZOMBIE, LIVE_CRASH = models.sessions.ZOMBIE, models.liveness.LIVE_CRASH

KAFKA_6082 = Bug(
    name="kafka-6082",
    title="A former controller writes on",
    label="known: KAFKA-6082",
    found_in="Apache Kafka before 2.1",
    story="""`/controller` is gone while the controller's session lives, another broker is elected, and the former
        controller has yet to hear of it. Its writes to ZooKeeper succeed, and overwrite what its successor has
        decided.""",
    model=ZOMBIE,
    constants={"zk_writes_fenced": False},
    violates=properties.office.only_newest_epoch_writes,
    states=9,
    guard="Every write of a controller is a multi that checks the version of `/controller_epoch`.",
)

KAFKA_1096 = Bug(
    name="kafka-1096",
    title="An old controller takes the newest epoch for its own",
    label="known: KAFKA-1096",
    found_in="Apache Kafka up to 0.8.2",
    story="""A controller comes back from a long pause, is told that `/controller_epoch` has changed, and takes over
        what it reads there. From now on its requests carry the epoch of its successor, and no broker refuses them.""",
    model=ZOMBIE,
    constants={"epoch_is_own": False},
    violates=properties.office.epoch_has_one_controller,
    states=5,
    guard="A controller keeps the epoch that its own election gave it.",
)

KAFKA_2300 = Bug(
    name="kafka-2300",
    title="What a controller had decided survives its resignation",
    label="known: KAFKA-2300",
    found_in="Apache Kafka up to 0.8.2",
    story="""A controller has decided something that it has not written yet, and leaves office. It is elected again
        later, and the old decision is still there: it goes out with the new epoch, over all that was decided in
        between. In Kafka it was a batch of requests, which the next term found not empty, and failed.""",
    model=ZOMBIE,
    constants={"clears_state_on_resign": False},
    violates=properties.office.only_newest_epoch_writes,
    states=11,
    guard="Who leaves office drops what it has decided.",
)

TWO_WRITES = Bug(
    name="two-writes",
    title="Between two writes, the former controller still has the newest epoch",
    label="known: KAFKA-6082",
    found_in="Apache Kafka before 2.1",
    story="""The election was two writes: `/controller` is created, then `/controller_epoch` is raised. In between, the
        broker that ZooKeeper names has no epoch yet, and its predecessor, which has yet to hear that it is deposed, has
        the newest one. Whatever checks the epoch lets the writes of the predecessor pass.""",
    model=ZOMBIE,
    constants={"epoch_with_office": False},
    violates=properties.office.newest_epoch_is_of_the_owner,
    states=4,
    guard="One multi creates `/controller` and raises the epoch.",
)

CONDITIONAL_RESIGN = Bug(
    name="late-resignation",
    title="A late resignation deletes the successor's /controller",
    label="known: KAFKA-6082",
    found_in="Apache Kafka before 2.1",
    story="""A controller has yet to handle that a target is ready. Meanwhile its `/controller` is deleted, and
        another broker is elected. Now it resigns: it deletes `/controller`, and that is its successor's.""",
    model=models.alternatives.MIXED,
    constants={"conditional_resign": False},
    violates=properties.office.resignation_deletes_own_office,
    states=7,
    guard="A resignation is a multi that checks the version of `/controller_epoch`.",
)

KAFKA_4229 = Bug(
    name="kafka-4229",
    title="A broker is elected in its new session, and then steps down for the end of the former one",
    label="known: KAFKA-4229",
    found_in="Apache Kafka up to 0.10",
    story="""The controller's session ends, and its client gets a new one. In its queue, the deletion of `/controller`
        is before the news of its session. It runs, and is elected. Then it handles that its session has ended, and
        steps down; but `/controller` is of the new session, and stays. Everybody sees a controller, and there is
        none.""",
    model=LIVE_CRASH,
    constants={"expiry_first": False},
    violates=properties.liveness.there_is_a_controller,
    states=9,
    guard="A broker handles the end of its session before anything else, and before it has a new one.",
)

KAFKA_1387 = Bug(
    name="kafka-1387",
    title="A broker finds its own /controller in its way",
    label="known: KAFKA-1387, KAFKA-7165",
    found_in="Apache Kafka up to 2.1",
    story="""A broker creates `/controller`, and the reply is lost. It tries again, is told that the znode is there,
        and takes it for another's. The znode is its own and lives as long as its session; nobody does the
        controller's work. In Kafka it was the znode of a broker's registration in the first place, and the znode of
        its own former session.""",
    model=models.sessions.LOST_REPLY,
    constants={"outcome_read_back": False},
    violates=properties.liveness.there_is_a_controller,
    states=9,
    guard="Whose create is refused reads the owner back; where that is its own session, it has succeeded.",
)

KAFKA_928 = Bug(
    name="kafka-928",
    title="After the end of a session its watches are missing",
    label="known: KAFKA-928",
    found_in="Apache Kafka 0.8",
    story="""A broker's session ends, and with it go all its watches. It gets a new session, and does not set them
        again. It does not hear of the request for it, nor that `/controller` goes.""",
    model=LIVE_CRASH,
    constants={"watches_after_expiry": False},
    violates=properties.liveness.target_takes_office,
    states=8,
    guard="A broker with a new session reads everything, with watches, as after a start.",
)

KAFKA_1451 = Bug(
    name="kafka-1451",
    title="A broker that lost an election sets its watch too late",
    label="known: KAFKA-1451",
    found_in="Apache Kafka 0.8",
    story="""A broker runs, and is told that `/controller` is there. It then sets a watch on it; but the winner has
        died in between, and the znode is gone. What the watch would have told has happened already: nobody runs.""",
    model=LIVE_CRASH,
    constants={"loser_watches": False},
    violates=properties.liveness.there_is_a_controller,
    states=13,
    guard="The watch is set before the election, or with a read that shows whether the znode is there.",
)

KAFKA_5473 = Bug(
    name="kafka-5473",
    title="A broker that cannot get a new session gives up",
    label="known: KAFKA-5473",
    found_in="Apache Kafka before 1.1",
    story="""A broker's session ends, and the attempt to get a new one fails, say since a name cannot be resolved at
        that moment. The client does not try again. The process runs on, without ZooKeeper.""",
    model=LIVE_CRASH,
    constants={"session_retried": False},
    violates=properties.liveness.target_takes_office,
    states=7,
    guard="A broker tries until it has a new session.",
)

BUGS = [
    KAFKA_6082, KAFKA_1096, KAFKA_2300, TWO_WRITES, CONDITIONAL_RESIGN, KAFKA_4229, KAFKA_1387, KAFKA_928, KAFKA_1451,
    KAFKA_5473,
]  # fmt: skip
