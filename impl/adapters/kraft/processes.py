"""The steps of broker processes, each through a public entry point of the broker's core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft import observed, reply_rules
from impl.adapters.kraft.cluster import Answer, Cluster, ControllerHost, Envelope, Log, ProcessHost, Shape, put
from impl.adapters.kraft.core import BrokerCore
from impl.adapters.kraft.running import (
    asks_still,
    begun,
    deliver,
    fire_at,
    is_asked,
    left_on_disk,
    moves,
    run,
    settled,
    without_answer,
)
from impl.adapters.kraft.values import Call, recalled, replace
from impl.kraft.broker import BrokerState, Due
from impl.kraft.broker.timers import due_for
from impl.kraft.effects import Effects
from impl.kraft.image import PartitionKey
from impl.kraft.messages import AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest, Response
from impl.kraft.records import Batch

Arguments = Mapping[str, Any]
UNWRITTEN, WRITTEN, ACKNOWLEDGED = "UNWRITTEN", "WRITTEN", "ACKNOWLEDGED"


# Its life.


def start(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = started(cluster.shape, place, cluster.processes[place], cluster.incarnations)
    return replace(cluster.with_process(place, host), incarnations=cluster.incarnations + 1)


@recalled
def started(shape: Shape, place: int, host: ProcessHost, incarnation: int) -> ProcessHost:
    return begun(shape.broker(place, incarnation, left_on_disk(host)), host.controller)


@recalled
def crashed(host: ProcessHost) -> ProcessHost:
    return ProcessHost(disk=left_on_disk(host))


def crash(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    return cluster.with_process(place, crashed(cluster.processes[place]))


def crash_losing_disk(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return cluster.with_process(arguments["process"].index, ProcessHost())


def sigterm(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = asked_to_stop(cluster.processes[place])
    cluster = cluster.with_process(place, settled(host))
    return finish_shutdown(cluster, arguments, before) if host.broker.state == BrokerState.SHUTTING_DOWN else cluster


def finish_shutdown(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    return cluster.with_process(place, crashed(stopped(cluster.processes[place])))


@recalled
def asked_to_stop(host: ProcessHost) -> ProcessHost:
    return run(host, Call("shut_down"))[0]


@recalled
def stopped(host: ProcessHost) -> ProcessHost:
    def stop(core: BrokerCore, _: int) -> Effects:
        core.stopped()
        return []

    return run(host, stop)[0]


# Registration and heartbeats.


def send_lifecycle(cluster: Cluster, place: int, kind: type) -> Cluster | Refusal:
    """Send the next lifecycle request of the process, which must be a `kind`. One that it waits for is given up."""
    cluster = without_waiting(cluster, place)
    found = communicated(cluster.processes[place], place, kind)
    if isinstance(found, Refusal):
        return found
    host, envelope = found
    request = envelope.request
    if isinstance(request, BrokerHeartbeatRequest):
        offset = request.current_metadata_offset
        if observed.lack(cluster, envelope.to, request.broker_id, envelope.incarnation, offset):
            envelope = lacking(envelope)
    return replace(cluster.with_process(place, host), lifecycle=(*cluster.lifecycle, envelope))


@recalled
def lacking(envelope: Envelope) -> Envelope:
    """A heartbeat of an image that lacks something of its controller's snapshot."""
    return replace(envelope, lacks=1)


@recalled
def communicated(host: ProcessHost, place: int, kind: type) -> tuple[ProcessHost, Envelope] | Refusal:
    """The process once it has sent its next lifecycle request, and that."""
    fired = None if host.core is None else fire_at(host, (Due.COMMUNICATION,))
    if fired is None:
        return Refusal("it is not about to send anything")
    host, sent = fired
    if not sent:
        return Refusal("it sends nothing")
    (send,) = sent
    request = send.request
    if not isinstance(request, kind) or not isinstance(request, BrokerRegistrationRequest | BrokerHeartbeatRequest):
        return Refusal(f"it sends {type(request).__name__}")
    return host, Envelope(place, host.broker.lifecycle.incarnation_id, host.controller, request)


def send_registration(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return send_lifecycle(cluster, arguments["process"].index, BrokerRegistrationRequest)


def send_heartbeat(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return send_lifecycle(cluster, arguments["process"].index, BrokerHeartbeatRequest)


def receive_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = cluster.processes[place]
    if host.answer is None:
        return Refusal("no reply is under way to it")
    return cluster.with_process(place, replied(host))


@recalled
def replied(host: ProcessHost) -> ProcessHost:
    """The process once it has the reply that is under way to it."""
    assert host.answer is not None
    return settled(deliver(replace(host, answer=None), host.answer.request, host.answer.response))


def finish_recovery(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    return cluster.with_process(place, recovered(cluster.processes[place]))


@recalled
def recovered(host: ProcessHost) -> ProcessHost:
    return run(host, Call("recovered"))[0]


# Metadata.


def apply_metadata(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """It replays what is committed; what there is nothing new in, it acts on because it has set itself a timer.

    Where it has done both, nothing happens: one that lacks what decides nothing looks the same, and has the same key.
    """
    place = arguments["process"].index
    return cluster.with_process(place, up_to_date(cluster.processes[place], cluster.log))


@recalled
def up_to_date(host: ProcessHost, log: Log) -> ProcessHost:
    offset = host.broker.image.offset
    news = tuple(batch for batch in log.batches if batch.base_offset > offset)
    if news or host.broker.state == BrokerState.STARTING:
        return after_news(host, news, log.end_offset)
    fired = fire_at(host, (Due.PUBLICATION,))
    return host if fired is None else settled(fired[0])


@recalled
def after_news(host: ProcessHost, news: tuple[Batch, ...], end_offset: int) -> ProcessHost:
    """The process once it has replayed what is new to it."""
    return settled(run(host, Call("replay", (news, end_offset)))[0])


def answer_metadata(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    listed = tuple(registration.broker_id for registration in cluster.processes[place].broker.alive_brokers())
    return replace(cluster, answer=(place, listed))


# Leaders and followers.


def led(host: ProcessHost, arguments: Arguments) -> PartitionKey | None:
    """The partition `p` (of the topic with the id `topic`, if that is said), if the process leads it."""
    return None if host.core is None else matching_key(host.core.leaders, arguments)


def followed(host: ProcessHost, arguments: Arguments) -> PartitionKey | None:
    return None if host.core is None else matching_key(host.core.followers, arguments)


def matching_key(keys: Iterable[PartitionKey], arguments: Arguments) -> PartitionKey | None:
    p, topic = arguments["p"].index, arguments.get("topic")
    return next((key for key in keys if key[1] == p and topic in (None, key[0])), None)


def write(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place, p = arguments["leader"].index, arguments["p"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None:
        return Refusal("NOT_LEADER_OR_FOLLOWER")
    after = appended(host, key)
    if isinstance(after, Refusal):
        return after
    written = cluster.with_process(place, after)
    return replace(written, records=put(written.records, p, WRITTEN)) if key[0] == cluster.topic else written


@recalled
def appended(host: ProcessHost, key: PartitionKey) -> ProcessHost | Refusal:
    """The leader once it has appended the record."""
    errors = []

    def append(core: BrokerCore, _: int) -> Effects:
        errors.append(core.leaders[key].append([b"record"], core.min_insync_replicas(key[0])))
        return []

    host, _ = run(host, append)
    return Refusal(errors[0].name) if errors[0] != 0 else host


def fetch(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A follower's request, the leader's bookkeeping, and the response, unless it is lost."""
    follower, leader = arguments["follower"].index, arguments["leader"].index
    fetching, serving = cluster.processes[follower], cluster.processes[leader]
    key = followed(fetching, arguments)
    if serving.core is None or key is None:
        return Refusal("it does not follow, or nobody is there to answer")
    found = fetched(fetching, serving, key)
    if isinstance(found, Refusal):
        return found
    after, served = found
    cluster = cluster.with_process(leader, served)
    return cluster.with_process(follower, after) if arguments["answered"] else cluster


@recalled
def fetched(
    fetching: ProcessHost, serving: ProcessHost, key: PartitionKey
) -> tuple[ProcessHost, ProcessHost] | Refusal:
    """The follower and the leader after a fetch and its response."""
    request = fetching.broker.fetch_request(key)
    if request is None:
        return Refusal("it does not fetch")
    error = serving.broker.fetch_error(request)
    if error != 0:
        return Refusal(error.name)

    def note(core: BrokerCore, now_ms: int) -> Effects:
        core.leaders[key].note_fetch(request, now_ms)
        return core.expand_isr(key, request.replica_id, now_ms)

    serving, _ = run(serving, note)
    core = serving.broker
    response = core.leaders[key].read(request, core.settings.replica_fetch_max_bytes)

    def take(core: BrokerCore, _: int) -> Effects:
        core.on_fetch_response(request, response)
        return []

    return run(fetching, take)[0], serving


def shrink_isr(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """Time passes until a member lags for too long. One member is removed at a time, as the spec has it."""
    place, member = arguments["leader"].index, arguments["member"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None:
        return Refusal("it does not lead")
    after = without_member(host, key, member)
    return after if isinstance(after, Refusal) else cluster.with_process(place, after)


@recalled
def without_member(host: ProcessHost, key: PartitionKey, member: int) -> ProcessHost | Refusal:
    """The leader once it has asked for a member to be removed that lags."""
    max_lag_ms = host.broker.settings.replica_lag_time_max_ms
    late_ms = host.now_ms + max_lag_ms + 1
    late = host.broker.leaders[key].out_of_sync(late_ms, max_lag_ms)
    if member not in late:
        return Refusal("the member does not lag")
    if host.broker.leaders[key].pending_change is not None:
        return run(host, Call("expire_isr"), by_ms=late_ms)[0]

    def remove(core: BrokerCore, now_ms: int) -> Effects:
        if late == {member}:
            return core.expire_isr(now_ms)
        core.leaders[key].ask_to_remove([member])
        return [due_for(Due.ALTER_PARTITION, key, now_ms)]

    return run(host, remove, by_ms=late_ms)[0]


def send_alter_isr(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["leader"].index
    key = led(cluster.processes[place], arguments)
    if key is None:
        return Refusal("it does not lead")
    cluster = without_waiting(cluster, place, key)
    found = asked(cluster.processes[place], place, key)
    if isinstance(found, Refusal):
        return found
    host, envelope = found
    return replace(cluster.with_process(place, host), alterations=(*cluster.alterations, envelope))


@recalled
def asked(host: ProcessHost, place: int, key: PartitionKey) -> tuple[ProcessHost, Envelope] | Refusal:
    """The leader once it has asked for the ISR that it wants, and the request."""
    isr = host.broker.leaders[key].isr
    fired = fire_at(host, (Due.ALTER_PARTITION, key[0].int, key[1]))
    if fired is None:
        return Refusal("it is not about to ask for anything")
    host, sent = fired
    if not sent:
        return Refusal("it asks for nothing, or has asked")
    (send,) = sent
    request = send.request
    assert isinstance(request, AlterPartitionRequest)
    added = next((member.broker_id for member in request.new_isr if member.broker_id not in isr), None)
    return host, Envelope(place, host.broker.lifecycle.incarnation_id, host.controller, request, added=added)


def receive_alter_isr_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["leader"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None or key not in host.isr_answers:
        return Refusal("no reply is under way to it")
    return cluster.with_process(place, granted(host, key))


@recalled
def granted(host: ProcessHost, key: PartitionKey) -> ProcessHost:
    """The leader once it has the answer about its ISR."""
    answer = host.isr_answers[key]
    return settled(deliver(without_answer(host, key), answer.request, answer.response))


def advance_high_watermark(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place, p = arguments["leader"].index, arguments["p"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    after = None if key is None else advanced(host, key)
    if key is None or after is None:
        return Refusal("it has not moved")
    acknowledged = after.broker.acknowledgement(key, 1) == 0
    cluster = cluster.with_process(place, after)
    if acknowledged and key[0] == cluster.topic and cluster.records[p] == WRITTEN:
        cluster = replace(cluster, records=put(cluster.records, p, ACKNOWLEDGED))
    return cluster


@recalled
def advanced(host: ProcessHost, key: PartitionKey) -> ProcessHost | None:
    """The leader once its high watermark has moved, if it does."""
    moved = []

    def advance(core: BrokerCore, _: int) -> Effects:
        moved.append(core.advance_high_watermark(key))
        return []

    host, _ = run(host, advance)
    return host if moved[0] else None


# What reaches a process.


def waits(cluster: Cluster, envelope: Envelope) -> bool:
    """The sender of a request still waits for its reply."""
    host = cluster.processes[envelope.sender]
    core = host.core
    if host.stand_in is not None:
        return True
    return core is not None and core.lifecycle.incarnation_id == envelope.incarnation and not envelope.late


def without_waiting(cluster: Cluster, place: int, key: PartitionKey | None = None) -> Cluster:
    """The cluster once a process has given up what a controller has yet to answer: about a partition, or itself."""
    for voter, controller in enumerate(cluster.controllers):
        for call, envelope in controller.waiting.items():
            is_meant = envelope.sender == place and envelope.about == key and waits(cluster, envelope)
            if is_meant and is_asked(cluster.processes[place], envelope.request):
                cluster = cluster.with_controller(voter, with_late(controller, call))
                return given_up(cluster, envelope)
    return cluster


@recalled
def with_late(host: ControllerHost, call: int) -> ControllerHost:
    """A controller for whose answer to a call nobody waits any more."""
    return replace(host, waiting={**host.waiting, call: replace(host.waiting[call], late=True)})


def answered(cluster: Cluster, envelope: Envelope, response: Response) -> Cluster:
    """The answer to a request is under way to its sender, if it still waits for one."""
    reply_rules.look_at(envelope.request, response, cluster.controllers[envelope.to].core)
    if not waits(cluster, envelope):
        return cluster
    host = cluster.processes[envelope.sender]
    if host.stand_in is not None and not moves(response, is_recovering=True):
        return cluster
    return cluster.with_process(envelope.sender, with_answer(host, envelope, response))


@recalled
def with_answer(host: ProcessHost, envelope: Envelope, response: Response) -> ProcessHost:
    """What answers an older request than the one that it still makes is no more than got, and the other one stays."""
    answer = Answer(envelope.request, response)
    if host.core is not None and not asks_still(host, answer):
        return settled(deliver(host, answer.request, answer.response))
    if envelope.about is None:
        return settled(replace(host, answer=answer))
    return settled(replace(host, isr_answers={**host.isr_answers, envelope.about: answer}))


def given_up(cluster: Cluster, envelope: Envelope) -> Cluster:
    """A request was lost, and its sender gives it up."""
    if not waits(cluster, envelope):
        return cluster
    return cluster.with_process(envelope.sender, without_request(cluster.processes[envelope.sender], envelope))


@recalled
def without_request(host: ProcessHost, envelope: Envelope) -> ProcessHost:
    """The process once it has given up a request."""
    return settled(deliver(host, envelope.request, None))


@recalled
def without_reply(host: ProcessHost, key: PartitionKey | None) -> ProcessHost:
    """The process once the answer about a partition, or to itself, is lost, and it has given up its request."""
    if key is not None:
        return settled(deliver(without_answer(host, key), host.isr_answers[key].request, None))
    assert host.answer is not None
    return settled(deliver(replace(host, answer=None), host.answer.request, None))


@recalled
def late_copy(envelope: Envelope) -> Envelope:
    """A copy that the network delivers whenever it likes."""
    return replace(envelope, late=True)
