"""The steps of the spec as steps of the cluster under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.heartbeat.cluster import (
    LATE_MS,
    NOW_MS,
    PARTITION,
    UPGRADED,
    Answer,
    Cluster,
    ControllerHost,
    InFlight,
    ProcessHost,
    by_broker,
    by_controller,
    copied,
    core_of,
    do_item,
    do_work,
    goes_to,
    heard,
    new_broker,
    replica_of,
    with_session,
)
from impl.heartbeat.broker import Broker, Work
from impl.heartbeat.control_requests import LeaderAndIsrRequest
from impl.heartbeat.controller import Controller
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Effects, Exit, Tell, Timer
from impl.heartbeat.items import Change as ChangeItem
from impl.heartbeat.items import MoveLeaders, See, Serve, Settle
from impl.heartbeat.messages import ErrorCode, IsrChangeRequest
from impl.heartbeat.znodes import id_path

Arguments = Mapping[str, Any]
Step = Callable[[Cluster, Arguments], Cluster | Refusal]
_CALL = 1
_MOST_FETCHES = 6
SUCCESSOR = 100
"""The id of the process that is controller, which is none of the brokers."""


def _process(arguments: Arguments, name: str = "process") -> int:
    found: int = arguments[name].index
    return found


def _controller(arguments: Arguments) -> int:
    found: int = arguments["controller"].index
    return found


def of_broker(step: Callable[[Broker], Effects]) -> Step:
    """A step of a process's core."""

    def run(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
        process = _process(arguments)
        core = copied(core_of(cluster.processes[process]))
        return by_broker(cluster, process, core, step(core))

    return run


# Sessions and faults.


def register(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    cluster = with_session(cluster, process)
    if Work.REGISTER not in core_of(cluster.processes[process]).scripts.queue:
        return Refusal("it does not want to register")
    done = do_work(cluster, process, Work.REGISTER)
    return done.with_process(process, replace(done.processes[process], heartbeat=None))


def take_incarnation(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    if Work.TAKE_INCARNATION not in core_of(cluster.processes[process]).scripts.queue:
        return Refusal("it has registered nothing")
    return do_work(cluster, process, Work.TAKE_INCARNATION)


def expire_session(cluster: Cluster, arguments: Arguments) -> Cluster:
    return end_session(cluster, cluster.zookeeper.clients[_process(arguments)].session)


def end_dead_session(cluster: Cluster, arguments: Arguments) -> Cluster:
    return end_session(cluster, cluster.zookeeper.tree[id_path(arguments["broker"].index)].stat.owner)


def end_session(cluster: Cluster, session: int) -> Cluster:
    return heard(replace(cluster, zookeeper=cluster.zookeeper.expire(session)))


def crash(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = _process(arguments)
    return stopped(cluster, process, keeps_disk=True)


def crash_losing_disk(cluster: Cluster, arguments: Arguments) -> Cluster:
    return stopped(cluster, _process(arguments), keeps_disk=False)


def stopped(cluster: Cluster, process: int, *, keeps_disk: bool) -> Cluster:
    """The process is gone. An IsrChange of it may still be under way."""
    host, replica = cluster.processes[process], replica_of(cluster.processes[process])
    log = replica.log if replica is not None and keeps_disk else (host.log if keeps_disk else None)
    left = ProcessHost(host.broker, host.software, log=log, change=host.change)
    zookeeper = cluster.zookeeper.crash(process)
    return replace(cluster, zookeeper=zookeeper).with_process(process, left)


def start(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = _process(arguments)
    return cluster.with_process(process, replace(cluster.processes[process], core=new_broker(cluster, process)))


def cut_off(cluster: Cluster, arguments: Arguments) -> Cluster:
    """The process knows nothing of it: what cannot reach it any more is the spec's to say."""
    return cluster


def heal(cluster: Cluster, arguments: Arguments) -> Cluster:
    return cluster


def request_shutdown(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    done = of_broker(lambda core: core.stop(NOW_MS))(cluster, arguments)
    assert isinstance(done, Cluster), "it can always be asked to"
    return done.with_process(process, replace(done.processes[process], heartbeat=None))


# Heartbeats.


def send_heartbeat(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    done = of_broker(lambda core: core.on_timer(Timer.HEARTBEAT, NOW_MS))(cluster, arguments)
    assert isinstance(done, Cluster)
    sent = done.processes[_process(arguments)].heartbeat
    return Refusal("it sends no heartbeat") if sent is None else done


def handle_heartbeat(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process, controller = _process(arguments), _controller(arguments)
    sent = cluster.processes[process].heartbeat
    assert sent is not None, "the spec has one under way"
    core = copied(cluster.controllers[controller].core)
    cluster, replies = by_controller(cluster, controller, core, core.on_request(_CALL, sent.ask.request, NOW_MS))
    if not replies:
        cluster, replies = do_item(cluster, controller, Serve())
    if len(replies) != 1 or replies[0].response is None:
        return Refusal("the heartbeat is not answered")
    host = cluster.processes[process]
    answer = Answer(sent.ask.number, replies[0].response, controller)
    return cluster.with_process(process, replace(host, heartbeat=None, reply=answer))


def take_reply(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    reply = cluster.processes[process].reply
    assert reply is not None, "the spec has one under way"
    core = copied(core_of(cluster.processes[process]))
    effects = core.on_response(reply.number, reply.response, NOW_MS)
    done = by_broker(cluster, process, core, [one for one in effects if not isinstance(one, Exit)])
    done = done.with_process(process, replace(done.processes[process], reply=None))
    if not any(isinstance(one, Exit) for one in effects):
        return done
    session = done.zookeeper.clients[process].session
    done = stopped(done, process, keeps_disk=True)
    return end_session(done, session) if session in done.zookeeper.sessions else done


def self_fence(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    done = of_broker(lambda core: core.on_timer(Timer.FENCE, LATE_MS))(cluster, arguments)
    assert isinstance(done, Cluster)
    return done if core_of(done.processes[process]).fence.is_fenced else Refusal("it is not fenced")


def expire(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    controller, broker = _controller(arguments), arguments["broker"].index
    core = copied(cluster.controllers[controller].core)
    if broker not in core.registry.leases:
        return Refusal("it has no lease")
    done = heard(by_controller(cluster, controller, core, core.lapse(broker, NOW_MS))[0])
    if not (done.design.broker_fences_first and done.design.lease_from_sending):
        return done
    for process, host in enumerate(done.processes):  # an answer that is under way comes after the broker's own timeout
        if host.broker == broker and host.reply is not None and host.reply.by == controller:
            done = done.with_process(process, replace(host, reply=None))
    return done


# Controllers.


def read_ids(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    controller, broker = _controller(arguments), arguments["broker"].index
    if See(broker) not in cluster.controllers[controller].core.scripts.queue:
        return Refusal("it has not heard of another registration")
    return do_item(cluster, controller, See(broker))[0]


def update_partition(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    controller = _controller(arguments)
    if Settle() not in cluster.controllers[controller].core.scripts.queue:
        return Refusal("it has nothing to write")
    return do_item(cluster, controller, Settle())[0]


def move_leadership(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return do_item(cluster, _controller(arguments), MoveLeaders())[0]


def take_control_request(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """All that is under way to a process, and what is sent once that is acknowledged."""
    controller, process = _controller(arguments), _process(arguments)
    taken = set[int]()
    while tells := [one for one in cluster.controllers[controller].tells if one.to.port == process + 1]:
        for tell in tells:
            if tell.number in taken:
                return Refusal("it is sent again what it has acknowledged")
            done = _take(cluster, controller, process, tell)
            if isinstance(done, Refusal):
                return done
            cluster = done
            taken.add(tell.number)
    return heard(cluster) if taken else Refusal("nothing is sent to it")


def _take(cluster: Cluster, controller: int, process: int, tell: Tell) -> Cluster | Refusal:
    host = cluster.processes[process]
    core = copied(core_of(host))
    before = replica_of(host)
    epoch = None if before is None else before.leader_epoch
    request = cluster.controllers[controller].core.control_request(tell)
    assert request is not None, "it is under way"
    if isinstance(request, LeaderAndIsrRequest):
        response, effects = core.on_leader_and_isr(request, NOW_MS)
        code = response.error_code
    else:
        shown, effects = core.on_update_metadata(request, NOW_MS)
        code = shown.error_code
    if code != ErrorCode.NONE:
        return Refusal(f"it answers {ErrorCode(code).name}")
    cluster = by_broker(cluster, process, core, effects)
    after = replica_of(cluster.processes[process])
    if after is not None and (after.leader_epoch != epoch or not after.leads):
        cluster = cluster.with_process(process, replace(cluster.processes[process], accepted=False))
    cluster = goes_to(cluster, process, controller)
    sender = copied(cluster.controllers[controller].core)
    done = sender.on_acknowledged(tell.to.broker, tell.incarnation, tell.number, NOW_MS)
    return by_controller(cluster, controller, sender, done)[0]


def fail_over(cluster: Cluster, arguments: Arguments) -> Cluster:
    controller = _controller(arguments)
    return succeeded(cluster, controller, cluster.controllers[controller].software)


def succeeded(cluster: Cluster, controller: int, software: int) -> Cluster:
    """The controller dies; its place is taken by one that is elected, and has read the same registrations before."""
    client = cluster.client_of(controller)
    session = cluster.zookeeper.clients[client].session
    zookeeper = cluster.zookeeper.crash(client).expire(session).open_session(client)
    successor = new_controller(cluster.design, controller, software)
    successor.core.registry.endpoints.update(cluster.controllers[controller].core.registry.endpoints)
    hosts = tuple(replace(host, heartbeat=None, change=None) for host in cluster.processes)
    cluster = replace(cluster, zookeeper=zookeeper, processes=hosts).with_controller(controller, successor)
    return elected(cluster, controller)


def new_controller(design: Design, controller: int, software: int) -> ControllerHost:
    """A controller that has no session yet. Its id is that of no broker."""
    core = Controller(SUCCESSOR + controller, design, sends_heartbeats=software == UPGRADED)
    return ControllerHost(core, software=software)


def elected(cluster: Cluster, controller: int) -> Cluster:
    """Let a controller that has a session be elected, and begin its term."""
    core = copied(cluster.controllers[controller].core)
    cluster, _ = by_controller(cluster, controller, core, [])
    core = cluster.controllers[controller].core
    cluster, _ = by_controller(cluster, controller, core, core.advance(NOW_MS))
    return heard(cluster)


# ISRs.


def ask_to_shrink(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    member = arguments["member"].index
    return _ask(cluster, _process(arguments), out={member}, joining=set())


def ask_to_expand(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _ask(cluster, _process(arguments), out=set(), joining={arguments["member"].index})


def ask_again(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _ask(cluster, _process(arguments), out=set(), joining=set())


def _ask(cluster: Cluster, process: int, *, out: set[int], joining: set[int]) -> Cluster | Refusal:
    """Ask for an ISR without some and with others; with none of either, for the one that was asked for before."""
    core = copied(core_of(cluster.processes[process]))
    replica = core.replicas[PARTITION]
    if core.leader.asked is not None:
        core.on_failure(core.leader.asked.number, NOW_MS)  # its answer is not awaited any more
    if not core.serves(PARTITION):
        return Refusal("it is fenced, or leads nothing")
    if not out <= replica.lagging(LATE_MS, core.leader.lag_ms) or not joining <= replica.caught_up():
        return Refusal("it sees no reason to")
    if out or joining:
        replica.want(out, joining)
    if core.settings.is_legacy:
        return by_broker(cluster, process, core, [])  # it writes that itself
    return by_broker(cluster, process, core, core.ask(NOW_MS))


def handle_isr_change(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process, controller = _process(arguments), _controller(arguments)
    sent = cluster.processes[process].change
    assert sent is not None, "the spec has one under way"
    done = _change(cluster, controller, sent)
    if isinstance(done, Refusal):
        return done
    cluster, answer = done
    return cluster.with_process(process, replace(cluster.processes[process], change=None, isr_reply=answer))


def handle_late_copy(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """Of the copies that are under way, the one that is meant."""
    late = cluster.late[0]
    done = _change(replace(cluster, late=cluster.late[1:]), _controller(arguments), late)
    return done if isinstance(done, Refusal) else done[0]


def _change(cluster: Cluster, controller: int, sent: InFlight) -> tuple[Cluster, Answer] | Refusal:
    request = sent.ask.request
    assert isinstance(request, IsrChangeRequest)
    core = copied(cluster.controllers[controller].core)
    if core.office is None:
        cluster, replies = by_controller(cluster, controller, core, core.on_request(_CALL, request, NOW_MS))
    else:
        cluster, replies = do_item(cluster, controller, ChangeItem(_CALL, request))
    if len(replies) != 1 or replies[0].response is None:
        return Refusal("the change is not answered")
    return cluster, Answer(sent.ask.number, replies[0].response, controller)


def take_isr_reply(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    reply = cluster.processes[process].isr_reply
    assert reply is not None, "the spec has one under way"
    core = copied(core_of(cluster.processes[process]))
    done = by_broker(cluster, process, core, core.on_response(reply.number, reply.response, NOW_MS))
    return done.with_process(process, replace(done.processes[process], isr_reply=None))


def copy_late(cluster: Cluster, arguments: Arguments) -> Cluster:
    sent = cluster.processes[_process(arguments)].change
    assert sent is not None, "the spec has one under way"
    return replace(cluster, late=(*cluster.late, sent))


# Records.


def accept_produce(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    host = cluster.processes[process]
    if not core_of(host).serves(PARTITION):
        return Refusal("it is fenced, or leads nothing")
    return cluster.with_process(process, replace(host, accepted=True))


def append(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = _process(arguments)
    core = copied(core_of(cluster.processes[process]))
    core.replicas[PARTITION].append(_CALL, 1, b"record")
    done = by_broker(replace(cluster, written=True), process, core, [])
    return done.with_process(process, replace(done.processes[process], accepted=False))


def acknowledge(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    done = of_broker(lambda core: core.complete(NOW_MS))(cluster, arguments)
    assert isinstance(done, Cluster)
    return done if done.acknowledged and not cluster.acknowledged else Refusal("it does not acknowledge")


def fetch(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A follower fetches until its leader has seen it to have everything."""
    leader, follower = _process(arguments, "leader"), _process(arguments, "follower")
    leading, following = (copied(core_of(cluster.processes[one])) for one in (leader, follower))
    broker = cluster.processes[leader].broker
    for _ in range(_MOST_FETCHES):
        request = following.fetch_requests().get(broker)
        if request is None:
            return Refusal("it does not follow")
        response, _ = leading.on_replica_fetch(request, NOW_MS)
        if response.fetched[0].error_code != ErrorCode.NONE:
            return Refusal(f"the leader answers {ErrorCode(response.fetched[0].error_code).name}")
        following.on_fetched(request, response, NOW_MS)
        if leading.replicas[PARTITION].seen(following.settings.broker).is_caught_up:
            if following.replicas[PARTITION].log.end_offset == leading.replicas[PARTITION].log.end_offset:
                break
    cluster = by_broker(cluster, leader, leading, [])
    return by_broker(cluster, follower, following, [])


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        register, take_incarnation, expire_session, end_dead_session, crash, crash_losing_disk, start, cut_off, heal,
        request_shutdown, send_heartbeat, handle_heartbeat, take_reply, self_fence, expire, read_ids, update_partition,
        move_leadership, take_control_request, fail_over, ask_to_shrink, ask_to_expand, ask_again, handle_isr_change,
        handle_late_copy, take_isr_reply, copy_late, accept_produce, append, acknowledge, fetch,
    )
}  # fmt: skip
