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
        that lacks what its own log already says: what it writes next contradicts what stands before it. In Kafka a
        controller that restarted after it had led was told so at once, though it had resigned: it took up its work, and
        its writes failed.""",
    model=models.quorum.QUORUM,
    constants={"kafka_17333": False},
    violates=properties.failover.image_is_replay_of_log,
    states=6,
    guard="""An elected controller becomes active only when its log, with the first batch of its own epoch, is committed
        and replayed.""",
)

RECORD_BEHIND_SNAPSHOT = Bug(
    name="record-behind-snapshot",
    title="A controller that renounces forgets the record right behind the snapshot that it has loaded",
    label="shipped; no report known",
    found_in="Apache Kafka 3.9.2, 4.0.2, 4.1.2, 4.2.1 and 4.3.1 (OffsetControlManager.endLoadSnapshot)",
    story="""A controller has loaded a snapshot, and behind it a single record: a topic was deleted. It takes the end of
        the snapshot, which is exclusive, for the last offset that it has, so that the record at that offset seems to be
        nothing new, and what it goes back to stays the snapshot. It is elected, and deposed before anything of its own
        is committed. With what is not committed it takes back the record, too, and its memory has the topic again. No
        other one's has: what it decides about that topic, once it is elected again, they cannot replay.""",
    model=models.quorum.REMOVAL,
    constants={"keeps_record_behind_snapshot": False, "max_failovers": 2},
    violates=properties.failover.image_is_replay_of_log,
    states=11,
    guard="A controller that renounces goes back to what is committed, all of it.",
)

BUGS = [KAFKA_12376, KAFKA_17333, RECORD_BEHIND_SNAPSHOT]
