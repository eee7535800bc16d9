"""Rebalances that start nobody, forget somebody, or believe a response that is late."""

from __future__ import annotations

from checker.lang import Bug
from spec.group import models, properties

JOIN, LATE = models.rebalances.JOIN_MODEL, models.rebalances.LATE
CRASH, FAILOVER = models.rebalances.CRASH, models.rebalances.FAILOVER_MODEL

NOBODY_STARTS = Bug(
    name="nobody-starts",
    title="After a failover nobody is asked to start, and the group stands still for ever",
    label="draft only",
    found_in="Consumer Coordinator, 9 (3.1 to 3.5)",
    story="""A rebalance compares the owners in ZooKeeper with those that it computes, and does nothing where
        they are equal. After a failover with the same consumers they always are: the former coordinator wrote
        them. But every consumer has stopped its fetchers, closed its connection and registered anew, as it has
        to, and waits for a StartFetcherRequest. Nothing changes any more, so nobody ever asks for another
        rebalance.""",
    model=FAILOVER,
    constants={"starts_registered": False},
    violates=properties.liveness.partition_is_fetched,
    states=27,
    guard="A rebalance is skipped only where every member has answered a StartFetcherRequest since it registered.",
)

FORGOTTEN = Bug(
    name="forgotten-member",
    title="A consumer joins during a rebalance, and never gets a partition",
    label="draft only",
    found_in="Consumer Coordinator, 6 (2.3), 7 (handleAddedConsumer 4)",
    story="""A rebalance is asked for "if the group's rebalance bit is not set". The document does not say when
        the bit is cleared; read as "once the rebalance is done", whoever joins meanwhile is in the registry, is
        sent an empty share at 4.4, and nobody asks again.""",
    model=JOIN,
    constants={"bit_cleared_first": False},
    violates=properties.liveness.every_member_has_its_share,
    states=14,
    guard="The bit is cleared before the rebalance reads anything.",
)

OWNERS_FIRST = Bug(
    name="kafka-2017",
    title="Consumers fetch before ZooKeeper knows that they own",
    label="draft only; known: KAFKA-2017",
    found_in="Consumer Coordinator, 9 (4.4, 4.6)",
    story="""Consumers are told to start at 4.4, and the owners are written at 4.6, once all have answered. If
        the coordinator dies in between, its successor reads owners that are out of date, and finds them as it
        computes them or not by chance. Kafka 0.9 answered SyncGroup before it had stored the assignment, and
        repaired that by KAFKA-2017.""",
    model=JOIN,
    constants={"owners_first": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=9,
    guard="The owners are written before anybody is told.",
)

RESPONSE_FIRST = Bug(
    name="request-before-the-answer",
    title="A StopFetcherRequest overtakes the answer to the registration, and is taken for it",
    label="draft only, where it is read in the wrong way",
    found_in="Consumer Coordinator, 7 (RegisterConsumerResponse), 11",
    story="""Requests and the answer to the registration come on one connection, and both begin with an INT16.
        The rebalance that the registration asks for runs in another thread: if its StopFetcherRequest is sent
        first, the consumer reads the type of a request as an error code. It closes, registers again, and may
        meet the same.""",
    model=CRASH,
    constants={"response_first": False},
    violates=properties.liveness.partition_is_fetched,
    states=11,
    guard="The answer is the first message on the connection.",
)

LATE_RESPONSE = Bug(
    name="kafka-9823",
    title="The response to a former attempt clears the watcher of the next one",
    label="draft only; akin to KAFKA-9823",
    found_in="Consumer Coordinator, 11 (Handling StopFetcherResponse 3)",
    story="""A response names the consumer and nothing else. An attempt fails since a consumer is slow; the next
        one sends another StopFetcherRequest; and the late response to the first clears the watcher of the
        second. With another time-out a StartFetcherRequest lies between the two, and the rebalance goes on
        while that consumer is yet to start: two consumers fetch one partition.""",
    model=LATE,
    constants={"attempt_ids": False},
    violates=properties.rebalances.response_clears_its_own_watcher,
    states=11,
    guard="Requests and responses carry the attempt, as they carry the generation since Kafka 0.9.",
)

GIVEN_UP = Bug(
    name="given-up",
    title="After the last retry the group is stopped for good",
    label="draft only",
    found_in="Consumer Coordinator, 9 (ConsumerRebalanceFailedException)",
    story="""Every member was asked to stop (4.1), the rebalance fails with its last retry, and the handler logs
        an exception. Nobody fetches any more, and unless somebody comes or goes there is no other rebalance.""",
    model=LATE,
    constants={"retries_resume": False},
    violates=properties.liveness.given_up_is_tried_again,
    states=17,
    guard="A timer tries again.",
)

NEW_TOPIC = Bug(
    name="unseen-topic",
    title="A topic that is created while the coordinator starts is never seen",
    label="draft only; akin to KAFKA-1030",
    found_in="Consumer Coordinator, 5 (coordinatorStartup 2, 3)",
    story="""The coordinator reads the topics (2), and then sets its watches (3). A topic that is created in
        between is not in what it has read, and fires no watch. Groups with a wildcard do not fetch it until the
        next topic.""",
    model=models.extents.TOPICS,
    constants={"watch_then_read": False},
    violates=properties.liveness.new_partition_is_owned,
    states=17,
    guard="Watches are set first.",
)

BUGS = [NOBODY_STARTS, FORGOTTEN, OWNERS_FIRST, RESPONSE_FIRST, LATE_RESPONSE, GIVEN_UP, NEW_TOPIC]
