"""The steps of the spec as steps of the cluster under test."""

from __future__ import annotations

from dataclasses import replace

from checker.conform.system import Refusal
from impl.adapters.group.broker_steps import (
    Arguments,
    Step,
    begin,
    broker_of,
    close_sockets,
    commit,
    commit_and_go_on,
    complete,
    consumer_of,
    crash_broker,
    create,
    elect,
    expire,
    handle_new_session,
    hear_of_partition,
    hear_of_topic,
    lapsed,
    of_broker,
    of_consumer,
    read_topics,
    restart_broker,
    resume,
    step_down,
    time_out,
    wait_out_sessions,
    write,
    write_owners,
)
from impl.adapters.group.cluster import (
    LATER_MS,
    LONG_SESSION_MS,
    NOW_MS,
    Channel,
    Cluster,
    ConsumerHost,
    by_consumer,
    copied,
    metadata,
)
from impl.group.consumer import Consumer, State
from impl.group.coordinator import Coordinator
from impl.group.effects import Effects, Timer, Timing
from impl.group.protocol import (
    PingRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    StartFetcherRequest,
    StopFetcherRequest,
)
from impl.group.registry import Member

# Startup of consumers, and their end.


def connect(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A consumer goes through its list up to the broker that is meant; nobody else answers."""
    consumer, asked = consumer_of(arguments), broker_of(arguments, "asked")
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
    broker, consumer = broker_of(arguments), consumer_of(arguments)
    channel = cluster.channels[consumer]
    request = channel.registration
    if request is None or channel.peer != broker or channel.broken or cluster.core(broker).term is None:
        return Refusal("no registration is sent to it")
    cluster = cluster.with_channel(consumer, replace(channel, registration=None))
    done = of_broker(cluster, broker, lambda core: core.on_register(channel.connection, request, NOW_MS))
    if done.core(broker).term is None:
        return Refusal("its write is refused")
    if channel.connection not in done.core(broker).members:
        return done
    return done.with_channel(consumer, replace(done.channels[consumer], server=broker))


def take_answer(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer = consumer_of(arguments)
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
    consumer = consumer_of(arguments)
    closed = replace(cluster.channels[consumer], peer=None, broken=False, requests=(), registration=None)
    return cluster.with_consumer(consumer, ConsumerHost(None)).with_channel(consumer, closed)


def restart(cluster: Cluster, arguments: Arguments) -> Cluster:
    return started(cluster, consumer_of(arguments))


def started(cluster: Cluster, consumer: int) -> Cluster:
    """A consumer starts."""
    threads, session_ms = cluster.extent.threads(consumer), cluster.consumer_settings.session_timeout_ms
    text = cluster.consumer_settings.topic_count.replace("N", str(threads))
    settings = replace(
        cluster.consumer_settings,
        group=cluster.extent.group_of(consumer),
        consumer=f"c{consumer}",
        topic_count=text,
        session_timeout_ms=session_ms if cluster.design.session_maximum or consumer else LONG_SESSION_MS,
    )
    core = Consumer(settings)
    return by_consumer(cluster, consumer, core, core.start(NOW_MS))


def suspect(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """Its connection is closed, or its session over."""
    consumer = consumer_of(arguments)
    core = copied(cluster.consumer(consumer))
    if cluster.channels[consumer].broken and core.connection is not None:
        effects = core.on_closed(core.connection, cluster.now_ms(consumer))
    else:
        effects = core.on_timer(Timer(Timing.SESSION), LATER_MS)
    return by_consumer(cluster, consumer, core, effects)


def suspect_early(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer = consumer_of(arguments)
    return of_consumer(cluster, consumer, lambda core: core.on_timer(Timer(Timing.SESSION), LATER_MS))


def terminate(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return of_consumer(cluster, consumer_of(arguments), lambda core: core.stop(NOW_MS))


# Failures, as the coordinator finds them.


def _member(core: Coordinator, cluster: Cluster, consumer: int) -> Member | None:
    group = core.groups.get(cluster.extent.group_of(consumer))
    return None if group is None else group.members.get(f"c{consumer}")


def find_dead(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = broker_of(arguments), consumer_of(arguments)
    member = _member(cluster.core(broker), cluster, consumer)
    if member is None:
        return Refusal("it is no member")
    if cluster.design.by_sockets:
        return of_broker(cluster, broker, lambda core: _buried(core, cluster, consumer))
    return of_broker(cluster, broker, lambda core: core.on_closed(member.connection, NOW_MS))


def declare_dead(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = broker_of(arguments), consumer_of(arguments)
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
    broker, consumer = broker_of(arguments), consumer_of(arguments)
    if _member(cluster.core(broker), cluster, consumer) is None:
        return Refusal("it is no member")

    def sent(core: Coordinator) -> Effects:
        member = _member(core, cluster, consumer)
        assert member is not None, "it is a member"
        core.send_ping(member)
        return core.context.taken()

    return of_broker(cluster, broker, sent)


def fail_ping(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = broker_of(arguments), consumer_of(arguments)
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
    return _take(cluster, consumer_of(arguments), PingRequest)


def take_stop(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _take(cluster, consumer_of(arguments), StopFetcherRequest)


def take_start(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """What was out of range before begins where it is assigned: the log's first offset."""
    consumer = consumer_of(arguments)
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
    consumer = consumer_of(arguments)
    of = min(cluster.consumer(consumer).fetched)
    cluster = of_consumer(cluster, consumer, lambda core: core.on_out_of_range(of, NOW_MS))
    done = _take(cluster, consumer, PingRequest)
    if isinstance(done, Refusal) or done.consumer(consumer).state is State.JOINED:
        return Refusal("it goes on")
    return done


def take_response(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker, consumer = broker_of(arguments), consumer_of(arguments)
    channel = cluster.channels[consumer]
    if channel.server != broker or not channel.responses:
        return Refusal("no response waits")
    response = channel.responses[0]
    cluster = cluster.with_channel(consumer, replace(channel, responses=channel.responses[1:]))
    return of_broker(cluster, broker, lambda core: core.on_response(channel.connection, response, NOW_MS))


def consume(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    consumer, position = consumer_of(arguments), arguments["position"]
    of = cluster.extent.partition(position.partition.index)
    core = copied(cluster.consumer(consumer))
    taken, effects = core.consume(of, position.offset, position.offset + 1, cluster.now_ms(consumer))
    return by_consumer(cluster, consumer, core, effects) if taken else Refusal("it does not consume")


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        elect, wait_out_sessions, expire, handle_new_session, crash_broker, restart_broker, step_down, create,
        read_topics, hear_of_topic, hear_of_partition, begin, time_out, resume, commit_and_go_on, write_owners, commit,
        close_sockets, complete, write,
        connect, register, take_answer, crash, restart, suspect, suspect_early, terminate, find_dead, declare_dead,
        send_ping, fail_ping, take_ping, take_stop, take_start, find_out_of_range, take_response, consume,
    )
}  # fmt: skip
ATTEMPTED = frozenset(
    {
        "elect", "wait_out_sessions", "step_down", "read_topics", "hear_of_partition", "begin", "resume",
        "commit_and_go_on", "write_owners", "register", "close_sockets", "complete", "write",
    }
)  # fmt: skip
"""What a broker is offered where the spec refuses it: it is the broker's own decision not to."""
