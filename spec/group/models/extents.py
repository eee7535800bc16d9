"""More than the least: new topics, three consumers, threads, two groups."""

from __future__ import annotations

from checker.lang import Model
from spec.group import properties
from spec.group.actions import coordinator, failure, rebalance, topics
from spec.group.initial import nobody_registered
from spec.group.models.rebalances import (
    DEATH,
    ENDS,
    FAILOVER,
    JOIN,
    NOT_MODELLED,
    QUEUE,
    REBALANCE,
    SAFETY,
    SETTINGS_OF_ALL,
    STEPS,
    WITHOUT_BARRIER,
    fairly,
)

TOPICS_READ = (topics.read_topics, topics.hear_of_topic, topics.hear_of_partition)

TOPICS = Model(
    name="topics",
    doc="A wildcard group of one consumer; a partition is new, a topic is new, and the coordinator fails over.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, *DEATH, *FAILOVER, *TOPICS_READ, topics.create, coordinator.expire),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        properties.liveness.new_partition_is_owned,
        properties.liveness.every_group_fetches,
        properties.liveness.rebalance_ends,
        properties.witnesses.wildcard_gains_a_topic,
        properties.witnesses.skips,
    ),
    constants={
        "consumers": 1,
        "partitions": 3,
        "topics": 2,
        "new_partitions": 2,
        "wildcard": 1,
        "max_expiries": 1,
    },
    settings=WITHOUT_BARRIER,
    faults="one session with ZooKeeper that ends under a live coordinator",
    not_modelled=NOT_MODELLED,
)

THREE = Model(
    name="three",
    doc="Three consumers, one of two threads, and three partitions; a consumer dies.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, failure.find_dead, failure.crash, failure.restart),
    properties=(*SAFETY, *STEPS, properties.witnesses.group_without_members),
    constants={"brokers": 1, "consumers": 3, "partitions": 3, "extra_threads": 1, "max_crashes": 1},
    settings=SETTINGS_OF_ALL,
    faults="one consumer that dies",
    not_modelled=NOT_MODELLED,
)

TWO_GROUPS = Model(
    name="two_groups",
    doc="Two groups of one consumer each share a handler; a response is late.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, rebalance.time_out),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        *ENDS,
        properties.witnesses.group_waits,
        properties.witnesses.everything_is_fetched,
    ),
    constants={"brokers": 1, "groups": 2, "max_time_outs": 1},
    settings=WITHOUT_BARRIER,
    faults="one time-out of 4.2 or 4.5",
    not_modelled=NOT_MODELLED,
)

MODELS = [TOPICS, THREE, TWO_GROUPS]
