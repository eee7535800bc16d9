"""Bugs of replicas' logs whose leader changes."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KIP_101 = Bug(
    name="kip-101",
    title="A follower cuts off an acknowledged record, for its high watermark lags behind its leader's",
    label="known: KIP-101, KAFKA-1211",
    found_in="Apache Kafka before 0.11",
    story="""A follower has copied a record, and has asked for what comes after it: its leader counts it as safe.
        The high watermark reaches the follower only with a later reply. Before that the leader epoch changes (here
        the lead moves to and fro), and the follower starts over: it cuts its log off at its own high watermark, and
        the record is gone there. The leader, which has not heard of the change, acknowledges it. Should the follower
        now be elected, as a member of the ISR may be at any time, the record is nowhere.""",
    model=models.replica_logs.EPOCH_LOGS,
    constants={"kip_101": False},
    violates=properties.replica_logs.acknowledged_records_survive,
    states=10,
    guard="""Each record has the leader epoch in which it was written. A follower asks where its newest epoch
        ends in its leader's log, and cuts off only what lies beyond; its high watermark no longer matters.""",
)

KIP_279 = Bug(
    name="kip-279",
    title="Two logs part for good when the lead moves away and back before both have heard of it",
    label="known: KIP-279, KAFKA-6361",
    found_in="Apache Kafka from 0.11 up to 1.1",
    story="""The lead moves from broker 0 to broker 1 and back, and neither has time to fetch from the other:
        each writes a record at the same offset, in its own epoch. Broker 1 then follows, and asks where its epoch
        ends in the log of broker 0. There is no such epoch; the leader answers with the start of the next one that it
        has, which is the end of its log. Nothing of broker 1's log lies beyond, so it cuts off nothing, and fetches
        on from there. The two logs differ below, and no later step finds out.""",
    model=models.replica_logs.EPOCH_LOGS,
    constants={"kip_279": False},
    violates=properties.replica_logs.follower_extends_no_other_log,
    states=10,
    guard="""The leader answers with the largest epoch that it has up to the one that was asked for, and where
        that ends. A follower that does not have this epoch cuts off what it has of later ones, and asks again.""",
)

KIP_320 = Bug(
    name="kip-320",
    title="A leader counts the fetches of followers of another leader epoch, and acknowledges what they cut off",
    label="known: KIP-320, KAFKA-6880",
    found_in="Apache Kafka before 2.1",
    story="""Broker 0 leads and has a record that broker 1 has copied. The lead moves to broker 2 and back, and
        broker 0 hears of neither: it leads on in its first epoch. Broker 1 has followed broker 2 meanwhile and cut
        the record off. Broker 2 follows broker 0 in the newest epoch, and its fetch is answered by a leader of an
        older one, who counts it. With what it remembers of broker 1 the whole ISR seems to have the record: it
        acknowledges it, and a member of the ISR does not have it.""",
    model=models.replica_logs.MOVED_LEADS,
    constants={"kip_320": False},
    violates=properties.replica_logs.acknowledged_records_survive,
    states=16,
    guard="""A fetch carries the leader epoch that the follower knows, and who is at another refuses it, with
        FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.""",
)

BUGS = [KIP_101, KIP_279, KIP_320]
