"""The coordinator's memory: what is asked for, what a removal leaves, what a new coordinator starts with."""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose, replace
from spec.group.decisions.assignment import unowned
from spec.group.design import Design
from spec.group.state import BrokerProcess, Rebalance, Registry
from spec.group.types import Consumer, CoordinatorEpoch, Group, Handler, Phase, Topic


def empty_registry() -> Registry:
    """A group registry with zero members (handleNewGroup)."""
    return Registry(
        members=frozenset(),
        bit=False,
        gave_up=False,
        started=frozenset(),
        reported=frozenset(),
        unanswered=Map({c: 0 for c in Consumer}),
        failed=Map({c: 0 for c in Consumer}),
        in_a_row=Map({c: 0 for c in Consumer}),
    )


def no_topic() -> Set[Topic]:
    return frozenset()


def idle(queue: Set[Group]) -> Rebalance:
    """A handler that is in no rebalance."""
    return Rebalance(
        queue=queue,
        group=None,
        phase=Phase.IDLE,
        attempt=None,
        retries=0,
        assignment=unowned(),
        waits_for=frozenset(),
    )


def cleared(process: BrokerProcess, epoch: Option[CoordinatorEpoch], known: Set[Topic]) -> BrokerProcess:
    """A broker without its memory: as it is once it is elected, or believes no more to be the coordinator.

    `known`: the topics that are there.
    """
    elected = epoch is not None
    in_one = Design.new_partitions == 0  # the two parts of coordinatorStartup are one step where no topic comes between
    return replace(
        process,
        epoch=epoch,
        waits_out=elected and Design.waits_out_sessions,
        starts_up=elected and not in_one,
        topics=known if elected and (in_one or not Design.watch_then_read) else no_topic(),
        watches_topics=elected and (in_one or Design.watch_then_read),
        watched=known if elected and in_one else no_topic(),
        new_topics=False,
        new_partitions=no_topic(),
        registries=Map({g: empty_registry() for g in Group}),
        handlers=Map({h: idle(frozenset()) for h in Handler}),
    )


def handler_for(process: BrokerProcess, group: Group) -> Handler:
    """Whose queue a rebalance of the group goes to: that of the handler that has the group, else of any."""
    if any(has_group(process.handlers[h], group) for h in Handler):
        return choose(h for h in Handler if has_group(process.handlers[h], group))
    if any(process.handlers[h].phase == Phase.IDLE for h in Handler):
        return choose(h for h in Handler if process.handlers[h].phase == Phase.IDLE)
    return choose(h for h in Handler)


def has_group(handler: Rebalance, group: Group) -> bool:
    return handler.group == group or group in handler.queue


def asked_to_rebalance(process: BrokerProcess, group: Group) -> BrokerProcess:
    """Try to rebalance: if the bit is not set, set it, and queue the group."""
    registry = process.registries[group]
    if registry.bit:
        return replace(process)
    to = handler_for(process, group)
    return replace(
        process,
        registries=Map(
            {
                g: replace(registry, bit=True, gave_up=False) if g == group else replace(process.registries[g])
                for g in Group
            }
        ),
        handlers=Map(
            {
                h: replace(process.handlers[h], queue=process.handlers[h].queue | {group})
                if h == to
                else replace(process.handlers[h])
                for h in Handler
            }
        ),
    )


def without_member(process: BrokerProcess, group: Group, consumer: Consumer) -> BrokerProcess:
    """Removed from the registry (handleConsumerFailure 3), and a rebalance of its group under way has failed (4)."""
    registry = process.registries[group]
    left = replace(
        registry,
        members=registry.members - {consumer},
        started=registry.started - {consumer},
        unanswered=Map({c: 0 if c == consumer else registry.unanswered[c] for c in Consumer}),
        failed=Map({c: 0 if c == consumer else registry.failed[c] for c in Consumer}),
        in_a_row=Map({c: 0 if c == consumer else registry.in_a_row[c] for c in Consumer}),
    )
    return replace(
        process,
        registries=Map({g: left if g == group else replace(process.registries[g]) for g in Group}),
        handlers=Map(
            {
                h: idle(process.handlers[h].queue)
                if process.handlers[h].group == group
                else replace(process.handlers[h])
                for h in Handler
            }
        ),
    )


def after_removal(process: BrokerProcess, group: Group, consumer: Consumer) -> BrokerProcess:
    """A consumer was found dead: with members left, the group is rebalanced (5)."""
    left = without_member(process, group, consumer)
    if len(left.registries[group].members) == 0:
        return left
    return asked_to_rebalance(left, group)
