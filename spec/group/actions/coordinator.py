"""The coordinator: it is elected, starts, hears that its session has ended, dies (5, 10)."""

from __future__ import annotations

from checker.lang import Map, Option, action, fresh, replace, require
from spec.group.decisions.assignment import topics_of
from spec.group.decisions.channels import without_broker
from spec.group.decisions.registry import cleared, empty_registry
from spec.group.design import Design
from spec.group.state import Cluster, ConsumerProcess, Registry, is_connected
from spec.group.types import Broker, Consumer, ConsumerState, CoordinatorEpoch, Group, Handler


@action(who="broker {broker}", source="Consumer Coordinator, 5 (elector; coordinatorStartup 1-5), 10")
def elect(s: Cluster, broker: Broker) -> None:
    """A broker finds no coordinator, creates the path, and starts with an empty memory."""
    process = s.brokers[broker]
    require(process.is_up and not process.expired and process.epoch is None and s.zookeeper.coordinator is None)
    epoch = fresh(s, CoordinatorEpoch)
    s.zookeeper.coordinator = broker
    s.zookeeper.epoch = epoch
    s.brokers[broker] = cleared(process, epoch, topics_of(s))
    if Design.by_sockets:
        s.brokers[broker].registries = Map({g: with_stored_members(s, g) for g in Group})
        s.brokers[broker].handlers[Handler(0)].queue = frozenset(g for g in Group if stored_members(s, g))


def stored_members(s: Cluster, group: Group) -> bool:
    return len(s.zookeeper.groups[group].members) > 0


def with_stored_members(s: Cluster, group: Group) -> Registry:
    """Section 2: the registry of a group whose members a new coordinator has read, and for which it waits."""
    return replace(empty_registry(), members=s.zookeeper.groups[group].members, bit=stored_members(s, group))


@action(who="broker {broker}", source="design switch waits_out_sessions; Consumer Coordinator, 2 (Co-ordinator 2)")
def wait_out_sessions(s: Cluster, broker: Broker) -> None:
    """The longest session has passed since the election: the session of who has not registered is over.

    But for those whose session a former coordinator still renews (stops_before_expiry).
    """
    require(s.brokers[broker].waits_out)
    s.brokers[broker].waits_out = False
    s.consumers = Map({c: after_longest_session(s, broker, c) for c in Consumer})


def after_longest_session(s: Cluster, broker: Broker, consumer: Consumer) -> ConsumerProcess:
    """A consumer once the longest session has passed since this coordinator was elected.

    A session begins with the sending of the registration: the answer to it may be taken too late. Of a former
    coordinator's election the time passes, too; who registers with its successor is not concerned.
    """
    process = s.consumers[consumer]
    runs = process.state not in {ConsumerState.STARTING, ConsumerState.LEFT, ConsumerState.DOWN}
    renewed = is_connected(s, broker, consumer) or (not Design.stops_before_expiry and is_served(s, consumer))
    if not runs or renewed or outlasts(consumer) or began_later(s, broker, consumer):
        return replace(process)
    return replace(process, lapsed=True)


def began_later(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """The consumer's session is with a coordinator that was elected after this one."""
    epoch, channel = s.brokers[broker].epoch, s.channels[consumer]
    return is_after(s.consumers[consumer].heard, epoch) or any(
        channel.peer == b and is_after(s.brokers[b].epoch, epoch) for b in Broker
    )


def is_after(epoch: Option[CoordinatorEpoch], other: Option[CoordinatorEpoch]) -> bool:
    return epoch is not None and other is not None and other < epoch


def outlasts(consumer: Consumer) -> bool:
    """The consumer's session is longer than what a new coordinator waits out."""
    return not Design.session_maximum and consumer == Consumer(0)


def is_served(s: Cluster, consumer: Consumer) -> bool:
    """Some broker that believes to be the coordinator has the consumer as a member, by an open connection."""
    return any(is_connected(s, b, consumer) and s.brokers[b].epoch is not None for b in Broker)


@action(who="ZooKeeper", source="ZooKeeper, Sessions; Consumer Coordinator, 10")
def expire(s: Cluster, broker: Broker) -> None:
    """The session of the coordinator ends under it: it was cut off, or paused. It has yet to hear of that."""
    require(s.zookeeper.coordinator == broker and s.faults.expiries < Design.max_expiries)
    s.faults.expiries += 1
    s.zookeeper.coordinator = None
    s.brokers[broker].expired = True


@action(who="broker {broker}", source="Consumer Coordinator, 10 (handleNewSession 1-3)")
def handle_new_session(s: Cluster, broker: Broker) -> None:
    """A broker hears that its session has ended: it clears its memory, and takes part in elections again."""
    require(s.brokers[broker].expired)
    s.brokers[broker] = cleared(s.brokers[broker], None, frozenset())
    s.brokers[broker].expired = False
    s.channels = without_broker(s, broker)


@action(who="broker {broker}", source="Consumer Coordinator, 10")
def crash_broker(s: Cluster, broker: Broker) -> None:
    """A broker dies, and its session ends."""
    require(s.brokers[broker].is_up and s.faults.broker_crashes < Design.max_broker_crashes)
    s.faults.broker_crashes += 1
    if s.zookeeper.coordinator == broker:
        s.zookeeper.coordinator = None
    s.brokers[broker] = cleared(s.brokers[broker], None, frozenset())
    s.brokers[broker].is_up = False
    s.brokers[broker].expired = False
    s.channels = without_broker(s, broker)


@action(who="broker {broker}", source="Consumer Coordinator, 10")
def restart_broker(s: Cluster, broker: Broker) -> None:
    """A broker starts again."""
    require(not s.brokers[broker].is_up)
    s.brokers[broker].is_up = True
