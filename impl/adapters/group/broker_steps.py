"""The steps of brokers: elections, topics, rebalances. `steps` has those of consumers, and all by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.group.cluster import (
    NOW_MS,
    BrokerHost,
    Cluster,
    by_broker,
    by_consumer,
    copied,
    do_item,
    heard,
    step_of,
    without_broker,
)
from impl.group.consumer import Consumer, State
from impl.group.coordinator import Coordinator
from impl.group.effects import Effects, Timer, Timing
from impl.group.registry import Group, Phase
from impl.group.sockets import SocketCoordinator, coordinator_of
from impl.group.work import Item, Work
from impl.group.znodes import count_path, topic_path
from impl.zookeeper import Create, Multi, SetData, Submit

Arguments = Mapping[str, Any]
Step = Callable[[Cluster, Arguments], Cluster | Refusal]


def broker_of(arguments: Arguments, name: str = "broker") -> int:
    found: int = arguments[name].index
    return found


def consumer_of(arguments: Arguments) -> int:
    found: int = arguments["consumer"].index
    return found


def of_broker(cluster: Cluster, broker: int, step: Callable[[Coordinator], Effects]) -> Cluster:
    """A step of a broker's core."""
    core = copied(cluster.core(broker))
    core.context.now_ms = NOW_MS  # a step that is a part of an input is not told
    return step_of(cluster, broker, core, step(core))


def of_consumer(cluster: Cluster, consumer: int, step: Callable[[Consumer], Effects]) -> Cluster:
    """A step of a consumer's core."""
    core = copied(cluster.consumer(consumer))
    return by_consumer(cluster, consumer, core, step(core))


def lapsed(cluster: Cluster, consumer: int) -> Cluster:
    """Time has passed: the session of a consumer is over."""
    return cluster.with_consumer(consumer, replace(cluster.consumers[consumer], lapsed=True))


# Coordinators.


def elect(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = broker_of(arguments)
    if cluster.brokers[broker].expired:
        return Refusal("it has yet to hear that its session has ended")
    if Item(Work.ELECT) not in cluster.core(broker).queue:
        return Refusal("it has heard nothing of the coordinator")
    done = do_item(cluster, broker, Item(Work.ELECT))
    if done.core(broker).term is None:
        return Refusal("it is not elected")
    return done if cluster.extent.new_partitions else do_item(done, broker, Item(Work.READ_TOPICS))


def wait_out_sessions(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """The longest session has passed since the election: of those that nobody has renewed, it is over."""
    broker = broker_of(arguments)
    if not cluster.core(broker).waits_out:
        return Refusal("it waits for nothing")
    after = of_broker(cluster, broker, lambda core: core.on_timer(Timer(Timing.WAITED_OUT), NOW_MS))
    for consumer, host in enumerate(cluster.consumers):
        if host.core is None or host.core.state is State.STARTING or host.core.has_left:
            continue
        outlasts = host.core.settings.session_timeout_ms > cluster.broker_settings.longest_session_ms
        if not (outlasts or _is_renewed(cluster, broker, consumer) or _began_later(cluster, broker, consumer)):
            after = lapsed(after, consumer)
    return after


def _began_later(cluster: Cluster, broker: int, consumer: int) -> bool:
    """Its session is with a coordinator that was elected after this one."""
    office, peer = cluster.core(broker).term, cluster.channels[consumer].peer
    assert office is not None, "it waits"
    host = None if peer is None else cluster.brokers[peer].core
    with_whom = -1 if host is None or host.term is None else host.term.epoch
    return max(with_whom, cluster.consumer(consumer).coordinator_epoch) > office.epoch


def _is_renewed(cluster: Cluster, broker: int, consumer: int) -> bool:
    if cluster.is_open(broker, consumer):
        return True
    if cluster.design.stops_before_expiry:
        return False
    believers = [b for b, host in enumerate(cluster.brokers) if host.core is not None and host.core.term is not None]
    return any(cluster.is_open(b, consumer) for b in believers)


def expire(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = broker_of(arguments)
    session = cluster.zookeeper.clients[broker].session
    ended = replace(cluster, zookeeper=cluster.zookeeper.expire(session))
    return heard(ended.with_broker(broker, replace(cluster.brokers[broker], expired=True)))


def handle_new_session(cluster: Cluster, arguments: Arguments) -> Cluster:
    """It hears that its session has ended, and has another one."""
    broker, reader = broker_of(arguments), cluster.reader(broker_of(arguments))
    zookeeper = cluster.zookeeper.disconnect(broker).reconnect(broker)
    zookeeper = zookeeper.crash(reader).open_session(reader)
    core = copied(cluster.core(broker))
    cluster = by_broker(replace(cluster, zookeeper=zookeeper), broker, core, [])
    cluster = replace(cluster, zookeeper=cluster.zookeeper.open_session(broker))
    host = replace(cluster.brokers[broker], expired=False)
    return heard(without_broker(cluster.with_broker(broker, host), broker))


def crash_broker(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = broker_of(arguments)
    client = cluster.zookeeper.clients[broker]
    zookeeper = cluster.zookeeper.crash(broker).crash(cluster.reader(broker))
    if client.session in zookeeper.sessions:
        zookeeper = zookeeper.expire(client.session)
    gone = replace(cluster, zookeeper=zookeeper).with_broker(broker, BrokerHost(None))
    return heard(without_broker(gone, broker))


def restart_broker(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = broker_of(arguments)
    zookeeper = cluster.zookeeper.open_session(broker).open_session(cluster.reader(broker))
    core = coordinator_of(replace(cluster.broker_settings, broker_id=broker))
    return step_of(replace(cluster, zookeeper=zookeeper), broker, core, [])


def step_down(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A write is refused: of a rebalance, or of the committer."""
    broker = broker_of(arguments)
    core = cluster.core(broker)
    works = [Item(Work.GO_ON, group.name) for group in core.rebalances.to_go_on]
    works += [Item(Work.COMMIT, name) for name, group in core.groups.items() if core.store.to_commit(group)]
    for work in works:
        done = do_item(cluster, broker, work)
        if done.core(broker).term is None:
            return done
    return Refusal("no write is refused")


# Topics.


def create(cluster: Cluster, arguments: Arguments) -> Cluster:
    of = cluster.extent.partition(arguments["partition"].index)
    path = count_path(of.topic, "0")
    if path in cluster.zookeeper.tree:
        count = int(cluster.zookeeper.tree[path].data) + 1
        write: SetData | Multi = SetData(path, b"%d" % count)
    else:
        write = Multi((Create(topic_path(of.topic)), Create(path, b"1")))
    zookeeper = cluster.zookeeper.submit(cluster.operator, Submit(1, write)).serve(cluster.operator)
    _, zookeeper = zookeeper.deliver(cluster.operator)
    return heard(replace(cluster, zookeeper=zookeeper))


def read_topics(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _if_waiting(cluster, broker_of(arguments), Item(Work.READ_TOPICS))


def hear_of_topic(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """While it starts up, reading is what sets the watch: there is nothing to hear of before."""
    broker = broker_of(arguments)
    starts_up = cluster.core(broker).hearing.starts_up and cluster.design.watch_then_read
    return _if_waiting(cluster, broker, Item(Work.READ_TOPICS if starts_up else Work.HEAR_TOPICS))


def hear_of_partition(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _if_waiting(cluster, broker_of(arguments), Item(Work.HEAR_PARTITIONS, f"t{arguments['topic'].index}"))


def _if_waiting(cluster: Cluster, broker: int, item: Item) -> Cluster | Refusal:
    if item not in cluster.core(broker).queue:
        return Refusal("it has not heard of it")
    return do_item(cluster, broker, item)


# Rebalances.


def _group(arguments: Arguments) -> str:
    return f"g{arguments['group'].index}"


def begin(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, name = broker_of(arguments), _group(arguments)
    core = cluster.core(broker)
    group = core.groups.get(name)
    if group is None or not core.can_rebalance:
        return Refusal("it does not rebalance yet")
    if group.phase is Phase.BACKOFF:
        cluster = of_broker(cluster, broker, lambda core: core.on_timer(Timer(Timing.BACKOFF, name), NOW_MS))
    elif group not in core.rebalances.queue or core.rebalances.next() is None:
        return Refusal("nobody has asked for it, or another group is in a rebalance")
    return do_item(cluster, broker, Item(Work.BEGIN, name))


def _in_rebalance(core: Coordinator) -> Group | None:
    """The group whose rebalance the only thread is in."""
    return next((group for group in core.groups.values() if group.rebalance is not None), None)


def time_out(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = broker_of(arguments)
    group = _in_rebalance(cluster.core(broker))
    if group is None or group.rebalance is None or not group.rebalance.waits_for:
        return Refusal("it waits for nobody")
    before, name = group, group.name
    late = sorted(group.rebalance.waits_for)
    done = of_broker(cluster, broker, lambda core: _timed_out(core, name))
    for consumer in map(_number, late):
        is_removed = f"c{consumer}" in before.members and f"c{consumer}" not in done.core(broker).groups[name].members
        if is_removed and cluster.design.lease_from_answers and cluster.is_open(broker, consumer):
            done = lapsed(done, consumer)
    return done


def _timed_out(core: Coordinator, group: str) -> Effects:
    core.rebalances.time_out(core.groups[group])
    return core.context.taken()


def _number(consumer: str) -> int:
    return int(consumer.removeprefix("c"))


def resume(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, name = broker_of(arguments), _group(arguments)
    group = cluster.core(broker).groups.get(name)
    if group is None or not group.gave_up:
        return Refusal("it was not given up")
    done = of_broker(cluster, broker, lambda core: core.on_timer(Timer(Timing.RESUME, name), NOW_MS))
    return done if done.core(broker).groups[name].bit else Refusal("nobody is there to be asked")


def commit_and_go_on(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, broker_of(arguments), Phase.COMMITTING)


def write_owners(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, broker_of(arguments), Phase.WRITING)


def _go_on(cluster: Cluster, broker: int, phase: Phase) -> Cluster | Refusal:
    group = next((group for group in cluster.core(broker).rebalances.to_go_on if group.phase is phase), None)
    if group is None:
        return Refusal(f"no rebalance is {phase.name}")
    done = do_item(cluster, broker, Item(Work.GO_ON, group.name))
    return done if done.core(broker).term is not None else Refusal("its write is refused")


def close_sockets(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """The spec's coordinator knows by then which connections have ended at the other end."""
    broker = broker_of(arguments)
    there = {
        channel.connection for consumer, channel in enumerate(cluster.channels) if cluster.is_open(broker, consumer)
    }
    return begin(of_broker(cluster, broker, lambda core: _noticed(core, there)), arguments)


def _noticed(core: Coordinator, there: Collection[int]) -> Effects:
    assert isinstance(core, SocketCoordinator), "it closes sockets"
    for connection, member in tuple(core.members.items()):
        if connection not in there:
            core.disconnect(member)
    return core.context.taken()


def complete(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, broker_of(arguments), Phase.STOPPING)


def write(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, broker_of(arguments), Phase.WRITING)


def commit(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, name = broker_of(arguments), _group(arguments)
    group = cluster.core(broker).groups.get(name)
    if group is None or not cluster.core(broker).store.to_commit(group):
        return Refusal("it has nothing to commit")
    done = do_item(cluster, broker, Item(Work.COMMIT, name))
    return done if done.core(broker).term is not None else Refusal("its write is refused")
