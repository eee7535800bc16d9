"""The steps of the spec as steps of the cluster under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.group.cluster import (
    LATER_MS,
    NOW_MS,
    BrokerHost,
    Channel,
    Cluster,
    ConsumerHost,
    by_broker,
    by_consumer,
    copied,
    do_item,
    heard,
    metadata,
    step_of,
    without_broker,
)
from impl.group.consumer import Consumer, State
from impl.group.coordinator import Coordinator, Item, Work
from impl.group.effects import Effects, Timer, Timing
from impl.group.protocol import (
    PingRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    StartFetcherRequest,
    StopFetcherRequest,
)
from impl.group.registry import Group, Member, Phase
from impl.group.znodes import count_path, topic_path
from impl.zookeeper import Create, Multi, SetData, Submit

Arguments = Mapping[str, Any]
Step = Callable[[Cluster, Arguments], Cluster | Refusal]


def _broker(arguments: Arguments, name: str = "broker") -> int:
    found: int = arguments[name].index
    return found


def _consumer(arguments: Arguments) -> int:
    found: int = arguments["consumer"].index
    return found


def of_broker(cluster: Cluster, broker: int, step: Callable[[Coordinator], Effects]) -> Cluster:
    """A step of a broker's core."""
    core = copied(cluster.core(broker))
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
    broker = _broker(arguments)
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
    broker = _broker(arguments)
    if not cluster.core(broker).waits_out:
        return Refusal("it waits for nothing")
    after = of_broker(cluster, broker, lambda core: core.on_timer(Timer(Timing.WAITED_OUT), NOW_MS))
    for consumer, host in enumerate(cluster.consumers):
        runs = host.core is not None and host.core.state is not State.STARTING and not host.core.has_left
        if runs and not _is_renewed(cluster, broker, consumer):
            after = lapsed(after, consumer)
    return after


def _is_renewed(cluster: Cluster, broker: int, consumer: int) -> bool:
    if cluster.is_open(broker, consumer):
        return True
    if cluster.design.stops_before_expiry:
        return False
    believers = [b for b, host in enumerate(cluster.brokers) if host.core is not None and host.core.term is not None]
    return any(cluster.is_open(b, consumer) for b in believers)


def expire(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = _broker(arguments)
    session = cluster.zookeeper.clients[broker].session
    ended = replace(cluster, zookeeper=cluster.zookeeper.expire(session))
    return heard(ended.with_broker(broker, replace(cluster.brokers[broker], expired=True)))


def handle_new_session(cluster: Cluster, arguments: Arguments) -> Cluster:
    """It hears that its session has ended, and has another one."""
    broker, reader = _broker(arguments), cluster.reader(_broker(arguments))
    zookeeper = cluster.zookeeper.disconnect(broker).reconnect(broker)
    zookeeper = zookeeper.crash(reader).open_session(reader)
    core = copied(cluster.core(broker))
    cluster = by_broker(replace(cluster, zookeeper=zookeeper), broker, core, [])
    cluster = replace(cluster, zookeeper=cluster.zookeeper.open_session(broker))
    host = replace(cluster.brokers[broker], expired=False)
    return heard(without_broker(cluster.with_broker(broker, host), broker))


def crash_broker(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = _broker(arguments)
    client = cluster.zookeeper.clients[broker]
    zookeeper = cluster.zookeeper.crash(broker).crash(cluster.reader(broker))
    if client.session in zookeeper.sessions:
        zookeeper = zookeeper.expire(client.session)
    gone = replace(cluster, zookeeper=zookeeper).with_broker(broker, BrokerHost(None))
    return heard(without_broker(gone, broker))


def restart_broker(cluster: Cluster, arguments: Arguments) -> Cluster:
    broker = _broker(arguments)
    zookeeper = cluster.zookeeper.open_session(broker).open_session(cluster.reader(broker))
    core = Coordinator(replace(cluster.broker_settings, broker_id=broker))
    return step_of(replace(cluster, zookeeper=zookeeper), broker, core, [])


def step_down(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A write is refused: of a rebalance, or of the committer."""
    broker = _broker(arguments)
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
    return _if_waiting(cluster, _broker(arguments), Item(Work.READ_TOPICS))


def hear_of_topic(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """While it starts up, reading is what sets the watch: there is nothing to hear of before."""
    broker = _broker(arguments)
    starts_up = cluster.core(broker).starts_up and cluster.design.watch_then_read
    return _if_waiting(cluster, broker, Item(Work.READ_TOPICS if starts_up else Work.HEAR_TOPICS))


def hear_of_partition(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _if_waiting(cluster, _broker(arguments), Item(Work.HEAR_PARTITIONS, f"t{arguments['topic'].index}"))


def _if_waiting(cluster: Cluster, broker: int, item: Item) -> Cluster | Refusal:
    if item not in cluster.core(broker).queue:
        return Refusal("it has not heard of it")
    return do_item(cluster, broker, item)


# Rebalances.


def _group(arguments: Arguments) -> str:
    return f"g{arguments['group'].index}"


def begin(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, name = _broker(arguments), _group(arguments)
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
    broker = _broker(arguments)
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
    broker, name = _broker(arguments), _group(arguments)
    group = cluster.core(broker).groups.get(name)
    if group is None or not group.gave_up:
        return Refusal("it was not given up")
    return of_broker(cluster, broker, lambda core: core.on_timer(Timer(Timing.RESUME, name), NOW_MS))


def commit_and_go_on(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, _broker(arguments), Phase.COMMITTING)


def write_owners(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _go_on(cluster, _broker(arguments), Phase.WRITING)


def _go_on(cluster: Cluster, broker: int, phase: Phase) -> Cluster | Refusal:
    group = next((group for group in cluster.core(broker).rebalances.to_go_on if group.phase is phase), None)
    if group is None:
        return Refusal(f"no rebalance is {phase.name}")
    done = do_item(cluster, broker, Item(Work.GO_ON, group.name))
    return done if done.core(broker).term is not None else Refusal("its write is refused")


def commit(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, name = _broker(arguments), _group(arguments)
    group = cluster.core(broker).groups.get(name)
    if group is None or not cluster.core(broker).store.to_commit(group):
        return Refusal("it has nothing to commit")
    done = do_item(cluster, broker, Item(Work.COMMIT, name))
    return done if done.core(broker).term is not None else Refusal("its write is refused")


# Startup of consumers, and their end.


def connect(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A consumer goes through its list up to the broker that is meant; nobody else answers."""
    consumer, asked = _consumer(arguments), _broker(arguments, "asked")
    core = copied(cluster.consumer(consumer))
    connecting = cluster.consumers[consumer].connecting
    for _ in range(2 * cluster.extent.brokers + 2):
        if connecting is not None and connecting.port == asked + 1:
            break
        effects = [] if connecting is None else core.on_closed(connecting.connection, NOW_MS)
        effects = effects or core.on_timer(Timer(Timing.START), NOW_MS)
        cluster = by_consumer(cluster, consumer, core, effects)
        before, connecting = connecting, cluster.consumers[consumer].connecting
        connecting = None if connecting is before else connecting
    if connecting is None or connecting.port != asked + 1:
        return Refusal("it does not ask this broker")
    core.on_connected(connecting.connection, NOW_MS)
    cluster, answer = metadata(cluster, asked)
    cluster = by_consumer(cluster, consumer, core, core.on_metadata(answer, NOW_MS))
    found = cluster.consumers[consumer].connecting
    if core.state is not State.REGISTERING or found is None:
        return Refusal("it hears of no coordinator")
    number = cluster.connections + 1
    cluster = replace(cluster, connections=number).with_channel(consumer, Channel(number, found.port - 1))
    return by_consumer(cluster, consumer, core, core.on_connected(found.connection, NOW_MS))


def register(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    channel = cluster.channels[consumer]
    request = channel.registration
    if request is None or channel.peer != broker or channel.broken or cluster.core(broker).term is None:
        return Refusal("no registration is sent to it")
    cluster = cluster.with_channel(consumer, replace(channel, registration=None))
    done = of_broker(cluster, broker, lambda core: core.on_register(channel.connection, request, NOW_MS))
    if channel.connection not in done.core(broker).members:
        return done
    return done.with_channel(consumer, replace(done.channels[consumer], server=broker))


def take_answer(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer = _consumer(arguments)
    cluster, answer = _first(cluster, consumer)
    if not isinstance(answer, RegisterConsumerResponse):
        return Refusal("the first message is no answer")
    return of_consumer(cluster, consumer, lambda core: core.on_registered(answer, cluster.now_ms(consumer)))


def _first(cluster: Cluster, consumer: int) -> tuple[Cluster, RegisterConsumerResponse | RequestToConsumer | None]:
    channel = cluster.channels[consumer]
    if not channel.requests:
        return cluster, None
    return cluster.with_channel(consumer, replace(channel, requests=channel.requests[1:])), channel.requests[0]


def crash(cluster: Cluster, arguments: Arguments) -> Cluster:
    consumer = _consumer(arguments)
    closed = replace(cluster.channels[consumer], peer=None, broken=False, requests=(), registration=None)
    return cluster.with_consumer(consumer, ConsumerHost(None)).with_channel(consumer, closed)


def restart(cluster: Cluster, arguments: Arguments) -> Cluster:
    return started(cluster, _consumer(arguments))


def started(cluster: Cluster, consumer: int) -> Cluster:
    """A consumer starts."""
    threads = cluster.extent.threads(consumer)
    text = cluster.consumer_settings.topic_count.replace("N", str(threads))
    settings = replace(
        cluster.consumer_settings,
        group=cluster.extent.group_of(consumer),
        consumer=f"c{consumer}",
        topic_count=text,
    )
    core = Consumer(settings)
    return by_consumer(cluster, consumer, core, core.start(NOW_MS))


def suspect(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """Its connection is closed, or its session over."""
    consumer = _consumer(arguments)
    core = copied(cluster.consumer(consumer))
    if cluster.channels[consumer].broken and core.connection is not None:
        effects = core.on_closed(core.connection, cluster.now_ms(consumer))
    else:
        effects = core.on_timer(Timer(Timing.SESSION), LATER_MS)
    return by_consumer(cluster, consumer, core, effects)


def suspect_early(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer = _consumer(arguments)
    return of_consumer(cluster, consumer, lambda core: core.on_timer(Timer(Timing.SESSION), LATER_MS))


def terminate(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return of_consumer(cluster, _consumer(arguments), lambda core: core.stop(NOW_MS))


# Failures, as the coordinator finds them.


def _member(core: Coordinator, cluster: Cluster, consumer: int) -> Member | None:
    group = core.groups.get(cluster.extent.group_of(consumer))
    return None if group is None else group.members.get(f"c{consumer}")


def find_dead(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    member = _member(cluster.core(broker), cluster, consumer)
    if member is None:
        return Refusal("it is no member")
    return of_broker(cluster, broker, lambda core: core.on_closed(member.connection, NOW_MS))


def declare_dead(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    if _member(cluster.core(broker), cluster, consumer) is None:
        return Refusal("it is no member")
    done = of_broker(cluster, broker, lambda core: _buried(core, cluster, consumer))
    return lapsed(done, consumer) if cluster.design.lease_from_answers else done


def _buried(core: Coordinator, cluster: Cluster, consumer: int) -> Effects:
    member = _member(core, cluster, consumer)
    assert member is not None, "it is a member"
    core.bury(member, "its pings have failed")
    return core.context.taken()


# Pings and records.


def send_ping(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    if _member(cluster.core(broker), cluster, consumer) is None:
        return Refusal("it is no member")

    def sent(core: Coordinator) -> Effects:
        member = _member(core, cluster, consumer)
        assert member is not None, "it is a member"
        core.send_ping(member)
        return core.context.taken()

    return of_broker(cluster, broker, sent)


def fail_ping(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    if _member(cluster.core(broker), cluster, consumer) is None:
        return Refusal("it is no member")

    def failed(core: Coordinator) -> Effects:
        member = _member(core, cluster, consumer)
        assert member is not None, "it is a member"
        core.fail_ping(member)
        return core.context.taken()

    done = of_broker(cluster, broker, failed)
    is_removed = _member(done.core(broker), cluster, consumer) is None
    return lapsed(done, consumer) if is_removed and cluster.design.lease_from_answers else done


def _take(cluster: Cluster, consumer: int, kind: type[RequestToConsumer]) -> Cluster | Refusal:
    cluster, request = _first(cluster, consumer)
    if not isinstance(request, kind):
        return Refusal("the first request is another")
    return of_consumer(cluster, consumer, lambda core: core.on_request(request, cluster.now_ms(consumer)))


def take_ping(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _take(cluster, _consumer(arguments), PingRequest)


def take_stop(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _take(cluster, _consumer(arguments), StopFetcherRequest)


def take_start(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """What was out of range before begins where it is assigned: the log's first offset."""
    consumer = _consumer(arguments)
    request = cluster.channels[consumer].requests[0]
    done = _take(cluster, consumer, StartFetcherRequest)
    if isinstance(done, Refusal) or not isinstance(request, StartFetcherRequest):
        return done
    core = done.consumer(consumer)
    for share in request.threads:
        for position in share.positions:
            core.begin_at(position.of, position.offset)
    return done


def find_out_of_range(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer = _consumer(arguments)
    of = min(cluster.consumer(consumer).fetched)
    cluster = of_consumer(cluster, consumer, lambda core: core.on_out_of_range(of, NOW_MS))
    done = _take(cluster, consumer, PingRequest)
    if isinstance(done, Refusal) or done.consumer(consumer).state is State.JOINED:
        return Refusal("it goes on")
    return done


def take_response(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = _broker(arguments), _consumer(arguments)
    channel = cluster.channels[consumer]
    if channel.server != broker or not channel.responses:
        return Refusal("no response waits")
    response = channel.responses[0]
    cluster = cluster.with_channel(consumer, replace(channel, responses=channel.responses[1:]))
    return of_broker(cluster, broker, lambda core: core.on_response(channel.connection, response, NOW_MS))


def consume(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer, position = _consumer(arguments), arguments["position"]
    of = cluster.extent.partition(position.partition.index)
    core = copied(cluster.consumer(consumer))
    taken, effects = core.consume(of, position.offset, position.offset + 1, cluster.now_ms(consumer))
    return by_consumer(cluster, consumer, core, effects) if taken else Refusal("it does not consume")


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        elect, wait_out_sessions, expire, handle_new_session, crash_broker, restart_broker, step_down, create,
        read_topics, hear_of_topic, hear_of_partition, begin, time_out, resume, commit_and_go_on, write_owners, commit,
        connect, register, take_answer, crash, restart, suspect, suspect_early, terminate, find_dead, declare_dead,
        send_ping, fail_ping, take_ping, take_stop, take_start, find_out_of_range, take_response, consume,
    )
}  # fmt: skip
ATTEMPTED = frozenset(
    {
        "elect", "wait_out_sessions", "step_down", "read_topics", "hear_of_partition", "begin", "resume",
        "commit_and_go_on", "write_owners", "register",
    }
)  # fmt: skip
"""What a broker is offered where the spec refuses it: it is the broker's own decision not to."""
