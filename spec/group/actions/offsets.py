"""Offsets: what consumers consume, what is committed to ZooKeeper, and a former coordinator whose write fails."""

from __future__ import annotations

from typing import Annotated

from checker.lang import Map, MemberOf, action, require
from spec.group.decisions.assignment import start_offset
from spec.group.decisions.channels import without_broker
from spec.group.decisions.registry import cleared
from spec.group.design import Design
from spec.group.messages import Offset, Position
from spec.group.state import Cluster, is_coordinator
from spec.group.types import Broker, Consumer, ConsumerState, Group, Handler, Partition, Phase, group_of


@action(who="consumer {consumer}", source="Consumer Coordinator, 2 (Consumer 3)")
def consume(
    s: Cluster, consumer: Consumer, position: Annotated[Position, MemberOf("consumers[consumer].fetched")]
) -> None:
    """A consumer consumes the next record of a partition."""
    process, group = s.consumers[consumer], group_of(consumer)
    require(process.state == ConsumerState.JOINED)
    require(position.offset < Design.records and not (process.lapsed and Design.timer_before_requests))
    after = position.offset + 1
    process.fetched = (process.fetched - {position}) | {Position(position.partition, after)}
    ends = s.consumed[group].ends
    s.consumed[group].ends[position.partition] = max(ends[position.partition], after)


def is_refused(s: Cluster, broker: Broker) -> bool:
    """A write of this coordinator fails: another was elected, or its own session has ended."""
    return Design.fenced_writes and not is_coordinator(s, broker)


def committed_offset(s: Cluster, broker: Broker, group: Group, partition: Partition) -> Offset:
    """The offset in ZooKeeper once this coordinator has committed what was reported to it."""
    there, reported = s.zookeeper.groups[group].offsets[partition], start_offset(s, broker, group, partition)
    return max(there, reported) if Design.commit_is_monotone else reported


def has_uncommitted(s: Cluster, broker: Broker, group: Group) -> bool:
    """A commit would change an offset in ZooKeeper."""
    return any(committed_offset(s, broker, group, p) != s.zookeeper.groups[group].offsets[p] for p in Partition)


@action(who="coordinator {broker}", source="Consumer Coordinator, 5 (field 7, coordinatorStartup 4)")
def commit(s: Cluster, broker: Broker, group: Group) -> None:
    """The committer writes the offsets of a group as last reported to ZooKeeper."""
    require(s.brokers[broker].epoch is not None and not is_refused(s, broker))
    require(has_uncommitted(s, broker, group))
    after: Map[Partition, Offset] = Map({p: committed_offset(s, broker, group, p) for p in Partition})
    if not is_coordinator(s, broker):
        s.former_wrote = True
    s.zookeeper.groups[group].offsets = after


@action(who="coordinator {broker}", source="design switch fenced_writes; Consumer Coordinator, 10 (handleNewSession 1)")
def step_down(s: Cluster, broker: Broker) -> None:
    """A write fails at the check of the epoch: the coordinator is a former one, and clears its memory."""
    process = s.brokers[broker]
    require(process.epoch is not None and is_refused(s, broker))
    is_writing = any(process.handlers[h].phase in {Phase.COMMITTING, Phase.WRITING} for h in Handler)
    require(is_writing or any(has_uncommitted(s, broker, g) for g in Group))
    s.brokers[broker] = cleared(process, None, frozenset())
    s.channels = without_broker(s, broker)
