"""Bugs and holes of the metadata quorum: what is speculative, and what is committed."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KAFKA_12376 = Bug(
    name="kafka-12376",
    title="A topic is created in two batches, and without its partitions once the first is committed",
    label="known: KAFKA-12376",
    found_in="Apache Kafka's 2.8 before its release; configurations, quotas and features had it, too",
    story="""The records of one decision are appended in two batches: that there is a topic, and the partitions that it
        has. The high watermark passes the first, so every broker and standby learns of a topic without partitions. If
        the active controller fails over now, the second batch is truncated: the topic exists, its name is taken, it has
        no partition that a client could write to, and no controller has anything left to do about it.""",
    model=models.quorum.CREATION,
    constants={"atomic_batches": False},
    violates=properties.topics.topics_are_complete,
    states=4,
    guard="The records of one decision are one batch, which survives whole or not at all.",
)

KAFKA_17333 = Bug(
    name="kafka-17333",
    title="A controller becomes active before it has read its log to the end",
    label="known: KAFKA-17333",
    found_in="Apache Kafka before 3.9",
    story="""A controller has batches in its log that are not committed when it is elected. They will be committed with
        its own first batch, but it has not replayed them. It takes up its work all the same, and decides from an image
        that lacks what its own log already says: what it writes next contradicts what stands before it. In Kafka this
        could happen to a controller that restarted after it had led.""",
    model=models.quorum.QUORUM,
    constants={"kafka_17333": False},
    violates=properties.failover.image_is_replay_of_log,
    states=6,
    guard="""An elected controller becomes active only when its log, with the first batch of its own epoch, is committed
        and replayed.""",
)

ERRORS_WAIT = Bug(
    name="errors-wait",
    title="A refusal is computed from a decision that is then lost",
    label="shipped; no report known, and very rare",
    found_in="Apache Kafka of late 2024",
    story="""A leader's request to add a follower to the ISR is under way twice. A controller that was deposed, and has
        not heard of it, fences the follower and refuses the first copy with INELIGIBLE_REPLICA. A success would wait
        until what it is based on is committed; an error leaves at once, and the fencing is then truncated. The leader
        takes the answer for final, and no longer waits for the follower when it acknowledges records. The second copy
        waits in the queue of a controller, the same one here, elected again, that knows nothing of a fencing, and is
        granted. Kafka's leader relies on the opposite: what is refused with this error can be applied by no controller,
        past or future.""",
    model=models.quorum.REFUSAL,
    constants={"errors_wait": False},
    violates=properties.isr.maximal_isr_covers_committed,
    states=15,
    guard="An error, too, is sent only once everything is committed that its controller had written by then.",
)

BUGS = [KAFKA_12376, KAFKA_17333, ERRORS_WAIT]
