"""The steps of broker processes, each through a public entry point of the broker's core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft import reply_rules
from impl.adapters.kraft.cluster import (
    Answer,
    Cluster,
    Envelope,
    ProcessHost,
    deliver,
    fire_at,
    left_on_disk,
    moves,
    put,
    run,
    settled,
    without_answer,
)
from impl.adapters.kraft.core import BrokerCore
from impl.adapters.kraft.values import replace
from impl.kraft.broker import BrokerState, Due
from impl.kraft.broker.timers import due_for
from impl.kraft.effects import Effects
from impl.kraft.image import PartitionKey
from impl.kraft.messages import AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest

Arguments = Mapping[str, Any]
UNWRITTEN, WRITTEN, ACKNOWLEDGED = "UNWRITTEN", "WRITTEN", "ACKNOWLEDGED"


# Its life.


def start(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = cluster.processes[place]
    core = cluster.shape.broker(place, cluster.incarnations, left_on_disk(host))
    started, _ = run(ProcessHost(core, controller=host.controller), lambda core, now_ms: core.start(now_ms))
    return replace(cluster.with_process(place, started), incarnations=cluster.incarnations + 1)


def crash(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    return cluster.with_process(place, ProcessHost(disk=left_on_disk(cluster.processes[place])))


def crash_losing_disk(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return cluster.with_process(arguments["process"].index, ProcessHost())


def sigterm(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host, _ = run(cluster.processes[place], lambda core, now_ms: core.shut_down(now_ms))
    cluster = cluster.with_process(place, settled(host))
    return finish_shutdown(cluster, arguments, before) if host.broker.state == BrokerState.SHUTTING_DOWN else cluster


def finish_shutdown(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index

    def stopped(core: BrokerCore, _: int) -> Effects:
        core.stopped()
        return []

    host, _ = run(cluster.processes[place], stopped)
    return cluster.with_process(place, ProcessHost(disk=left_on_disk(host)))


# Registration and heartbeats.


def send_lifecycle(cluster: Cluster, place: int, kind: type) -> Cluster | Refusal:
    """Send the next lifecycle request of the process, which must be a `kind`. One that it waits for is given up."""
    cluster = without_waiting(cluster, place)
    host = cluster.processes[place]
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
    envelope = Envelope(place, host.broker.lifecycle.incarnation_id, host.controller, request)
    return replace(cluster.with_process(place, host), lifecycle=(*cluster.lifecycle, envelope))


def send_registration(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return send_lifecycle(cluster, arguments["process"].index, BrokerRegistrationRequest)


def send_heartbeat(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return send_lifecycle(cluster, arguments["process"].index, BrokerHeartbeatRequest)


def receive_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = cluster.processes[place]
    if host.answer is None:
        return Refusal("no reply is under way to it")
    host = deliver(replace(host, answer=None), host.answer.request, host.answer.response)
    return cluster.with_process(place, settled(host))


def finish_recovery(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host, _ = run(cluster.processes[place], lambda core, now_ms: core.recovered(now_ms))
    return cluster.with_process(place, host)


# Metadata.


def apply_metadata(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """It replays what is committed; what there is nothing new in, it acts on because it has set itself a timer."""
    place = arguments["process"].index
    host = cluster.processes[place]
    end = cluster.log[-1].last_offset + 1 if cluster.log else 0
    news = [batch for batch in cluster.log if batch.base_offset > host.broker.image.offset]
    if news or host.broker.state == BrokerState.STARTING:
        host, _ = run(host, lambda core, now_ms: core.replay(news, end, now_ms))
        return cluster.with_process(place, settled(host))
    fired = fire_at(host, (Due.PUBLICATION,))
    if fired is None:
        return Refusal("it has all that is committed, and has acted on it")
    return cluster.with_process(place, settled(fired[0]))


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
    errors = []

    def append(core: BrokerCore, _: int) -> Effects:
        errors.append(core.leaders[key].append([b"record"], core.min_insync_replicas(key[0])))
        return []

    host, _ = run(host, append)
    if errors[0] != 0:
        return Refusal(errors[0].name)
    written = cluster.with_process(place, host)
    return replace(written, records=put(written.records, p, WRITTEN)) if key[0] == cluster.topic else written


def fetch(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A follower's request, the leader's bookkeeping, and the response, unless it is lost."""
    follower, leader = arguments["follower"].index, arguments["leader"].index
    fetching, serving = cluster.processes[follower], cluster.processes[leader]
    key = followed(fetching, arguments)
    if serving.core is None or key is None:
        return Refusal("it does not follow, or nobody is there to answer")
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
    cluster = cluster.with_process(leader, serving)
    if not arguments["answered"]:
        return cluster

    def take(core: BrokerCore, _: int) -> Effects:
        core.on_fetch_response(request, response)
        return []

    return cluster.with_process(follower, run(fetching, take)[0])


def shrink_isr(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """Time passes until a member lags for too long. One member is removed at a time, as the spec has it."""
    place, member = arguments["leader"].index, arguments["member"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None:
        return Refusal("it does not lead")
    max_lag_ms = host.broker.settings.replica_lag_time_max_ms
    late_ms = host.now_ms + max_lag_ms + 1
    late = host.broker.leaders[key].out_of_sync(late_ms, max_lag_ms)
    if member not in late:
        return Refusal("the member does not lag")
    if host.broker.leaders[key].pending_change is not None:
        after, _ = run(host, lambda core, now_ms: core.expire_isr(now_ms), by_ms=late_ms)
        return cluster.with_process(place, after)

    def remove(core: BrokerCore, now_ms: int) -> Effects:
        if late == {member}:
            return core.expire_isr(now_ms)
        core.leaders[key].ask_to_remove([member])
        return [due_for(Due.ALTER_PARTITION, key, now_ms)]

    return cluster.with_process(place, run(host, remove, by_ms=late_ms)[0])


def send_alter_isr(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place, p = arguments["leader"].index, arguments["p"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None:
        return Refusal("it does not lead")
    cluster = without_waiting(cluster, place, key)
    host = cluster.processes[place]
    isr = host.broker.leaders[key].isr
    fired = fire_at(host, (Due.ALTER_PARTITION, key[0].int, p))
    if fired is None:
        return Refusal("it is not about to ask for anything")
    host, sent = fired
    if not sent:
        return Refusal("it asks for nothing, or has asked")
    (send,) = sent
    request = send.request
    assert isinstance(request, AlterPartitionRequest)
    added = next((member.broker_id for member in request.new_isr if member.broker_id not in isr), None)
    envelope = Envelope(place, host.broker.lifecycle.incarnation_id, host.controller, request, added=added)
    return replace(cluster.with_process(place, host), alterations=(*cluster.alterations, envelope))


def receive_alter_isr_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["leader"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    answer = None if key is None else host.isr_answers.get(key)
    if key is None or answer is None:
        return Refusal("no reply is under way to it")
    host = deliver(without_answer(host, key), answer.request, answer.response)
    return cluster.with_process(place, settled(host))


def advance_high_watermark(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place, p = arguments["leader"].index, arguments["p"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is None:
        return Refusal("it does not lead")
    moved = []

    def advance(core: BrokerCore, _: int) -> Effects:
        moved.append(core.advance_high_watermark(key))
        return []

    host, _ = run(host, advance)
    if not moved[0]:
        return Refusal("it has not moved")
    acknowledged = host.broker.acknowledgement(key, 1) == 0
    cluster = cluster.with_process(place, host)
    if acknowledged and key[0] == cluster.topic and cluster.records[p] == WRITTEN:
        cluster = replace(cluster, records=put(cluster.records, p, ACKNOWLEDGED))
    return cluster


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
            if envelope.sender == place and envelope.about == key and waits(cluster, envelope):
                waiting = {**controller.waiting, call: replace(envelope, late=True)}
                cluster = cluster.with_controller(voter, replace(controller, waiting=waiting))
                return given_up(cluster, envelope)
    return cluster


def answered(cluster: Cluster, envelope: Envelope, answer: Answer) -> Cluster:
    """An answer is under way to the sender of a request, if it still waits for one."""
    reply_rules.look_at(answer.request, answer.response)
    if not waits(cluster, envelope):
        return cluster
    host = cluster.processes[envelope.sender]
    if host.stand_in is not None and not moves(answer.response, is_recovering=True):
        return cluster
    if envelope.about is not None:
        host = replace(host, isr_answers={**host.isr_answers, envelope.about: answer})
    else:
        host = replace(host, answer=answer)
    return cluster.with_process(envelope.sender, settled(host))


def given_up(cluster: Cluster, envelope: Envelope) -> Cluster:
    """A request was lost, and its sender gives it up."""
    if not waits(cluster, envelope):
        return cluster
    host = cluster.processes[envelope.sender]
    return cluster.with_process(envelope.sender, settled(deliver(host, envelope.request, None)))
