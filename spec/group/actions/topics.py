"""Topics: new topics and partitions, and the coordinator that hears of them (5, 6)."""

from __future__ import annotations

from checker.lang import Map, Set, action, replace, require
from spec.group.decisions.assignment import is_interested, topics_of
from spec.group.decisions.registry import asked_to_rebalance
from spec.group.design import Design
from spec.group.state import BrokerProcess, Cluster
from spec.group.types import Broker, Group, Partition, Topic, topic_of


@action(who="operator", source="Consumer Coordinator, 6; 2 (Co-ordinator 6)")
def create(s: Cluster, partition: Partition) -> None:
    """A partition is created, and with its first one a topic: watches that are set fire."""
    require(partition not in s.zookeeper.partitions)
    topic = topic_of(partition)
    is_new = topic not in topics_of(s)
    s.zookeeper.partitions |= {partition}
    s.brokers = Map({b: told(s.brokers[b], topic, is_new) for b in Broker})


def told(process: BrokerProcess, topic: Topic, is_new: bool) -> BrokerProcess:
    """A broker once a topic, or a partition of a topic, is new."""
    if is_new:
        return replace(process, new_topics=process.new_topics or process.watches_topics)
    fired = frozenset({topic}) if topic in process.watched else frozenset()
    return replace(process, new_partitions=process.new_partitions | fired)


@action(who="coordinator {broker}", source="Consumer Coordinator, 5 (coordinatorStartup 2, 3.1, 3.2)")
def read_topics(s: Cluster, broker: Broker) -> None:
    """The second part of the startup: it reads the topics, having set its watches; or, as written, sets watches."""
    process = s.brokers[broker]
    require(process.starts_up)
    s.brokers[broker].starts_up = False
    s.brokers[broker].watches_topics = True
    if Design.watch_then_read:
        s.brokers[broker] = with_topics(s, broker)
    else:
        s.brokers[broker].watched = process.topics


def with_topics(s: Cluster, broker: Broker) -> BrokerProcess:
    """A coordinator that has read the topics, and watches each; groups with a new one are rebalanced (2.1-2.3)."""
    process = s.brokers[broker]
    found = topics_of(s)
    after = replace(process, starts_up=False, watches_topics=True, topics=found, watched=found, new_topics=False)
    return asked_if_any(after, found - process.topics)


def asked_if_any(process: BrokerProcess, topics: Set[Topic]) -> BrokerProcess:
    """Every group that is interested in one of these topics, and has members, is to be rebalanced."""
    changed = any(is_interested(process, t) for t in topics)
    first = asked_if(process, Group(0), changed)
    return asked_if(first, Group(1), changed) if Design.groups > 1 else first


def asked_if(process: BrokerProcess, group: Group, changed: bool) -> BrokerProcess:
    if changed and len(process.registries[group].members) > 0:
        return asked_to_rebalance(process, group)
    return replace(process)


@action(who="coordinator {broker}", source="Consumer Coordinator, 6 (TopicChangeListener.handleChildChange 1, 2.1-2.3)")
def hear_of_topic(s: Cluster, broker: Broker) -> None:
    """The coordinator hears of a new topic: it watches it, and rebalances the groups that are interested."""
    require(s.brokers[broker].new_topics)
    s.brokers[broker] = with_topics(s, broker)


@action(who="coordinator {broker}", source="Consumer Coordinator, 6 (TopicPartitionChangeListener.handleChildChange 1)")
def hear_of_partition(s: Cluster, broker: Broker, topic: Topic) -> None:
    """The coordinator hears of a new partition, and rebalances the groups that are interested in its topic."""
    process = s.brokers[broker]
    require(topic in process.new_partitions)
    after = replace(process, new_partitions=process.new_partitions - {topic})
    s.brokers[broker] = asked_if_any(after, frozenset({topic}))
