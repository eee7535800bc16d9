"""Notes on the steps of a counterexample: owners and offsets in ZooKeeper, rebalances, and who fetches what since when.

Brokers, consumers and ZooKeeper may each have another coordinator: a note says whose belief it is that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from checker.lang import Map, Notes, TakenStep
from spec.group.messages import Ping, PingAnswer, Position, Registered, Request, Response, StartFetcher
from spec.group.state import BrokerProcess, Cluster, Rebalance, is_coordinator, is_fetching
from spec.group.types import Broker, Consumer, Group, Handler, Partition, group_of

Taken = TakenStep[Cluster]
V = TypeVar("V")


def on_step(steps: Sequence[Taken]) -> Iterator[str]:
    """Notes on the last of these steps."""
    step = steps[-1]
    before, after = step.before, step.after
    yield from znodes(before, after)
    for broker in Broker:
        yield from coordinator(before, after, broker)
    for consumer in Consumer:
        yield from messages(before, after, consumer)
        yield from fetches(before, after, consumer)
    for partition in Partition:
        for group in Group:
            yield from fetched_twice(before, after, group, partition)


# What ZooKeeper has.


def znodes(before: Cluster, after: Cluster) -> Iterator[str]:
    """The znodes that a step creates, writes and deletes."""
    was, now = before.zookeeper, after.zookeeper
    if was.coordinator != now.coordinator:
        found = "deleted" if now.coordinator is None else f"{now.coordinator}, epoch {now.epoch}"
        yield f"/consumers/coordinator: {found}"
    for partition in sorted(now.partitions - was.partitions, key=repr):
        yield f"/brokers/topics: {partition} is there"
    for group in Group:
        yield from written(group, "owners", was.groups[group].owners, now.groups[group].owners)
        yield from written(group, "offsets", was.groups[group].offsets, now.groups[group].offsets)


def written(group: Group, what: str, was: Map[Partition, V], now: Map[Partition, V]) -> Iterator[str]:
    """The entries of a folder of the group that a step writes."""
    entries = [f"{p} {shown(was[p])} → {shown(now[p])}" for p in Partition if was[p] != now[p]]
    if entries:
        yield f"/consumers/{group}/{what}: {', '.join(entries)}"


def shown(value: object) -> str:
    return "–" if value is None else str(value)


# What the coordinator does.


def coordinator(before: Cluster, after: Cluster, broker: Broker) -> Iterator[str]:
    """Whether a broker takes itself for the coordinator, whom it counts as members, and its rebalances."""
    was, now = before.brokers[broker], after.brokers[broker]
    if now.epoch != was.epoch:
        begun = f"takes itself for the coordinator, epoch {now.epoch}"
        yield f"{broker} {'is the coordinator no more' if now.epoch is None else begun}"
    elif now.epoch is not None and is_coordinator(before, broker) and not is_coordinator(after, broker):
        yield f"{broker} has lost the office, and does not know it"
    if now.epoch is None:
        return
    for group in Group:
        yield from membership(broker, group, was, now)
    for handler in Handler:
        yield from rebalance(handler, was.handlers[handler], now.handlers[handler])


def membership(broker: Broker, group: Group, was: BrokerProcess, now: BrokerProcess) -> Iterator[str]:
    """The members of a group that a coordinator gains and loses, and what it makes of the group."""
    old, new = was.registries[group], now.registries[group]
    if new.members - old.members:
        yield f"{broker} takes {names(new.members - old.members)} into {group}"
    if old.members - new.members:
        yield f"{broker} takes {names(old.members - new.members)} out of {group}"
    if new.bit and not old.bit:
        yield f"a rebalance of {group} is asked for"
    if new.gave_up and not old.gave_up:
        yield f"{broker} gives up rebalancing {group}"


def rebalance(handler: Handler, was: Rebalance, now: Rebalance) -> Iterator[str]:
    """The phase that a rebalance comes to, what it assigns, and for whom it waits."""
    if now.phase != was.phase:
        attempt = "" if now.attempt is None else f", attempt {now.attempt}"
        waits = f"; waits for {names(now.waits_for)}" if now.waits_for else ""
        of = "" if now.group is None else f" of {now.group}"
        yield f"{handler}: the rebalance{of} is {was.phase.value} → {now.phase.value}{attempt}{waits}"
    given = [f"{p} to {now.assignment[p]}" for p in Partition if now.assignment[p] is not None]
    if given and now.assignment != was.assignment:
        yield f"{handler} assigns {', '.join(given)}"


# What travels, and who fetches.


def messages(before: Cluster, after: Cluster, consumer: Consumer) -> Iterator[str]:
    """The connection of a consumer: what is put on it, and when it ends."""
    was, now = before.channels[consumer], after.channels[consumer]
    if now.peer != was.peer:
        yield f"{consumer} is connected to {now.peer or 'nobody'}"
    if now.broken and not was.broken:
        yield f"{was.server or 'the broker'} closes its end of the connection with {consumer}"
    if len(now.requests) > len(was.requests) or (now.requests and now.requests[-1:] != was.requests[-1:]):
        yield f"{now.server or 'the broker'} sends {consumer} {request(now.requests[-1])}"
    if len(now.responses) > len(was.responses) or (now.responses and now.responses[-1:] != was.responses[-1:]):
        yield f"{consumer} answers {response(now.responses[-1])}"


def request(sent: Request) -> str:
    if isinstance(sent, Registered):
        return f"RegisterConsumerResponse: {'accepted' if sent.accepted else 'refused'}, epoch {sent.epoch}"
    if isinstance(sent, Ping):
        return "PingRequest"
    share = f", fetch {positions(sent.share)}" if isinstance(sent, StartFetcher) else ""
    return f"{type(sent).__name__}Request of attempt {sent.attempt}{share}"


def response(sent: Response) -> str:
    if isinstance(sent, PingAnswer):
        return f"PingResponse: consumed {positions(sent.positions)}"
    return f"{type(sent).__name__} of attempt {sent.attempt}"


def positions(found: Iterable[Position]) -> str:
    """Partitions, each with the offset of the record that is consumed next."""
    return ", ".join(sorted(f"{one.partition} from {one.offset}" for one in found)) or "nothing"


def fetches(before: Cluster, after: Cluster, consumer: Consumer) -> Iterator[str]:
    """The partitions of which a consumer begins or stops to fetch."""
    begun = {p for p in Partition if is_fetching(after, consumer, p) and not is_fetching(before, consumer, p)}
    ended = {p for p in Partition if is_fetching(before, consumer, p) and not is_fetching(after, consumer, p)}
    if begun:
        yield f"{consumer} fetches {names(begun)}"
    if ended:
        yield f"{consumer} fetches {names(ended)} no more"
    if after.consumers[consumer].lapsed and not before.consumers[consumer].lapsed:
        yield f"the session of {consumer} is over by its own clock"


def fetched_twice(before: Cluster, after: Cluster, group: Group, partition: Partition) -> Iterator[str]:
    """A partition that comes to be fetched by two consumers of a group."""
    now = fetchers(after, group, partition)
    if len(now) > 1 and fetchers(before, group, partition) != now:
        yield f"{names(now)} fetch {partition} at once"


def fetchers(s: Cluster, group: Group, partition: Partition) -> list[Consumer]:
    return [c for c in Consumer if group_of(c) == group and is_fetching(s, c, partition)]


# The end of a trace.


def at_end(steps: Sequence[Taken]) -> Iterator[str]:
    """The coordinator as each has it, and for each partition its owner and who fetches it."""
    if not steps:
        return
    s = steps[-1].after
    believers = [broker for broker in Broker if s.brokers[broker].epoch is not None]
    as_stored = s.zookeeper.coordinator or "nobody"
    yield f"coordinator: {as_stored}, as ZooKeeper has it; {names(believers) or 'nobody'}, as brokers believe"
    for group in Group:
        for partition in sorted(s.zookeeper.partitions, key=repr):
            owner = s.zookeeper.groups[group].owners[partition]
            fetching = names(fetchers(s, group, partition)) or "nobody"
            yield f"{partition}: owned by {shown(owner)} of {group}, and fetched by {fetching}"


def names(several: Iterable[object]) -> str:
    return ", ".join(sorted(map(repr, several)))


NOTES = [Notes(Cluster, on_step, at_end)]
