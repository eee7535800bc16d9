"""The steps of the spec as steps of the cluster under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.pinning.cluster import (
    Asked,
    Cluster,
    Host,
    by_operator,
    deliver,
    lose_reply,
    reconnect,
    run,
    settled,
    waiting,
)
from impl.pinning.broker import Item, Path, Refused, Start, Write
from impl.pinning.effects import Reply, Timer
from impl.pinning.member import Phase
from impl.pinning.messages import ErrorCode, PinControllerResponse
from impl.pinning.request import Asked as Followed
from impl.pinning.znodes import NEXT, READY
from impl.runtime.effects import Did
from impl.zookeeper import Delete
from impl.zookeeper.office import CONTROLLER

Arguments = Mapping[str, Any]
Action = Callable[[Cluster, Arguments], Cluster | Refusal]
_FOR_EVER_MS = 1 << 60
_CALL = 0


def of_broker(action: str, item: Item) -> Action:
    """A step in which a broker handles an item of its queue, or a timer that is set."""

    def step(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
        broker = arguments["broker"].index
        host = cluster.hosts[broker]
        if not cluster.runs(broker):
            return Refusal("it does not run, or has no session")
        if isinstance(item, Timer) and item not in host.timers:
            return Refusal(f"the timer {item} is not set")
        if isinstance(item, Path) and _first(host) != item:
            return Refusal(f"{item.path} is not the next to be heard of")
        if host.is_unsure:
            return Refusal("it has yet to read back whether it is elected")
        if not arguments.get("answered", True):
            return _unanswered(cluster, broker, item, misses=arguments.get("missed", False))
        after, done = run(cluster, broker, item, misses=arguments.get("missed", False))
        names = [one.action for one in done]
        return after if action in names else Refusal(f"it does {', '.join(names) or 'nothing'}")

    return step


def _unanswered(cluster: Cluster, broker: int, item: Item, *, misses: bool) -> Cluster | Refusal:
    """The write of this step happens, and its reply is lost. Who may be elected by it reads that back in a step."""
    after = lose_reply(cluster, broker, item, misses=misses)
    if after is None:
        return Refusal("it writes nothing")
    if after.owner(CONTROLLER) == after.zookeeper.clients[broker].session != cluster.owner(CONTROLLER):
        host = after.hosts[broker]
        return settled(after.with_host(broker, replace(host, is_unsure=True)))
    return reconnect(after, broker)[0]


def find_own_office(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    if not cluster.hosts[broker].is_unsure:
        return Refusal("it knows what became of its writes")
    after, done = reconnect(cluster, broker)
    names = [one.action for one in done]
    return after if "find_own_office" in names else Refusal(f"it does {', '.join(names) or 'nothing'}")


def _first(host: Host) -> Path | None:
    """The event that it handles next. Who is elected handles none."""
    is_elected = host.core is not None and host.core.member.phase is Phase.ELECTED
    return None if is_elected else next(iter(waiting(host)), None)


# What a controller does in office.


def decide(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    if host.core is None or host.hangs or not cluster.writes:
        return Refusal("it does not run, or nothing is to be decided")
    core = host.core.copy()
    core.office.decide()
    done, core.member.effects = core.member.effects, []
    if not any(isinstance(effect, Did) for effect in done):
        return Refusal("it decides nothing")
    return cluster.with_host(broker, replace(host, core=core))


def send_request(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A controller's request reaches another broker, which takes it."""
    broker, to = arguments["broker"].index, arguments["to"].index
    epoch = _epoch_of_requests(cluster, broker, to)
    receiver = cluster.hosts[to]
    if epoch is None or receiver.core is None:
        return Refusal("no request is sent")
    core = receiver.core.copy()
    if not core.office.take_request(epoch):
        return Refusal("it is refused")
    return cluster.with_host(to, replace(receiver, core=core))


def refuse_request(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A controller's request reaches another broker, which refuses it."""
    broker, to = arguments["broker"].index, arguments["to"].index
    epoch = _epoch_of_requests(cluster, broker, to)
    receiver = cluster.hosts[to]
    if epoch is None or receiver.core is None:
        return Refusal("no request is sent")
    if receiver.core.copy().office.take_request(epoch):
        return Refusal("it is taken")
    if cluster.runs(broker):
        return run(cluster, broker, Refused())[0]
    host = cluster.hosts[broker]
    assert host.core is not None
    former = host.core.copy()  # without a session it steps down, and looks at nothing
    former.office.deposed("refuse_request")
    former.member.effects = []  # nobody carries out what is only for the log
    return cluster.with_host(broker, replace(host, core=former))


def _epoch_of_requests(cluster: Cluster, broker: int, to: int) -> int | None:
    """The epoch that a broker sends requests with, if it does and the other one runs."""
    host, receiver = cluster.hosts[broker], cluster.hosts[to]
    if not cluster.writes or broker == to or host.core is None or receiver.core is None or host.hangs or receiver.hangs:
        return None
    term = host.core.member.term
    return term.epoch if host.core.member.phase is Phase.IN_OFFICE and term is not None else None


# The operator.


def request(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """The broker that takes a request has found that its target is registered and not in office; then it writes."""
    if not cluster.design.pinning:
        return delete_by_hand(cluster, arguments)
    request = cluster.core.request(cluster.design)
    target = arguments["target"].index
    after = by_operator(cluster, request.write(_CALL, target, _FOR_EVER_MS))
    followed = request.asked.get(_CALL)
    if followed is None:
        return Refusal("a request stands already")
    return replace(after, asked=Asked(target, followed.request)) if after.answers else after


def unpin(cluster: Cluster, _: Arguments) -> Cluster | Refusal:
    return by_operator(cluster, cluster.core.request(cluster.design).unpin(_CALL))


def answer(name: str, code: ErrorCode) -> Action:
    """The operator gets an answer; `name` is what the spec calls it."""

    def step(cluster: Cluster, _: Arguments) -> Cluster | Refusal:
        asked = cluster.asked
        if asked is None or asked.answer is not None:
            return Refusal("nobody awaits an answer")
        request = cluster.core.request(cluster.design)
        request.asked[_CALL] = Followed(asked.target, asked.request)
        is_over = code is ErrorCode.REQUEST_TIMED_OUT
        after = by_operator(cluster, request.time_out(_CALL) if is_over else request.follow())
        replies = [effect.response for effect in request.member.effects if isinstance(effect, Reply)]
        if not any(isinstance(reply, PinControllerResponse) and reply.error_code == code for reply in replies):
            return Refusal("another answer, or none")
        return replace(after, asked=replace(asked, answer=name))

    return step


def delete_by_hand(cluster: Cluster, _: Arguments) -> Cluster | Refusal:
    def script() -> Any:
        yield Delete(CONTROLLER)

    return by_operator(cluster, script()) if cluster.owner(CONTROLLER) else Refusal("/controller is absent")


# Sessions and faults.


def end_dead_session(path: str) -> Action:
    """The session ends that owns this znode, and has no process any more."""

    def step(cluster: Cluster, _: Arguments) -> Cluster | Refusal:
        owner = cluster.owner(path)
        if owner == 0 or any(client.session == owner for client in cluster.zookeeper.clients):
            return Refusal("it belongs to nobody, or to a process that lives")
        return settled(replace(cluster, zookeeper=cluster.zookeeper.expire(owner)))

    return step


def expire(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    if not cluster.runs(broker):
        return Refusal("it does not run, or has no session")
    session = cluster.zookeeper.clients[broker].session
    return settled(replace(cluster, zookeeper=cluster.zookeeper.expire(session)))


def renew_session(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """It hears that its session has ended, and gets a new one; or, having one, handles that the former has ended."""
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    if host.core is None or host.hangs:
        return Refusal("it does not run")
    if cluster.lives(broker):
        return handle_expiry(cluster, broker)
    core = host.core.copy()
    zookeeper, _ = deliver(cluster.zookeeper.disconnect(broker).reconnect(broker), broker, core)
    zookeeper, _ = deliver(zookeeper.open_session(broker), broker, core)
    timers = frozenset[Timer]() if cluster.design.expiry_first else host.timers
    after = replace(cluster, zookeeper=zookeeper).with_host(broker, replace(host, core=core, timers=timers))
    return start(after, broker) if cluster.design.expiry_first else settled(after)


def handle_expiry(cluster: Cluster, broker: int) -> Cluster | Refusal:
    host = cluster.hosts[broker]
    if host.core is None or Start(True) not in host.core.queue:
        return Refusal("there is no expiry to handle")
    return start(cluster.with_host(broker, replace(host, timers=frozenset())), broker)


def start(cluster: Cluster, broker: int) -> Cluster:
    """A broker with a new session reads everything with watches."""
    return run(cluster, broker, Start(True))[0]


def restart(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    return Refusal("it runs") if host.core is not None else started(cluster, broker)


def started(cluster: Cluster, broker: int) -> Cluster:
    """The cluster with a new process of a broker, which has a session and has read everything."""
    host = cluster.hosts[broker]
    core = cluster.core.broker(broker, cluster.design, is_legacy=host.is_legacy)
    core.member.is_able = host.is_able
    zookeeper, _ = deliver(cluster.zookeeper.open_session(broker), broker, core)
    began = replace(host, core=core, timers=frozenset[Timer]())
    return start(replace(cluster, zookeeper=zookeeper).with_host(broker, began), broker)


def crash(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    if host.core is None:
        return Refusal("it does not run")
    gone = replace(host, core=None, timers=frozenset[Timer](), hangs=False, is_unsure=False)
    return replace(cluster, zookeeper=cluster.zookeeper.crash(broker)).with_host(broker, gone)


def stop_next(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A broker is stopped in good order: it closes its session."""
    broker = arguments["broker"].index
    session = cluster.zookeeper.clients[broker].session
    after = crash(cluster, arguments)
    if isinstance(after, Refusal):
        return after
    return settled(replace(after, zookeeper=after.zookeeper.expire(session)))


def hang(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    return cluster.with_host(broker, replace(host, hangs=True, timers=frozenset()))


def become_unable(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    broker = arguments["broker"].index
    host = cluster.hosts[broker]
    core = None if host.core is None else host.core.copy()
    if core is not None:
        core.member.is_able = False
    return cluster.with_host(broker, replace(host, core=core, is_able=False))


OF_BROKERS: dict[str, Item] = {
    "hear_controller": Path(CONTROLLER),
    "set_ready": Path(NEXT),
    "settle_request": Path(NEXT),
    "hear_of_other": Path(NEXT),
    "prepare_takeover": Path(NEXT),
    "hear_ready": Path(READY),
    "resign": Path(READY),
    "stay": Path(READY),
    "abstain": Timer.DECIDE,
    "run": Timer.DECIDE,
    "lose_election": Timer.DECIDE,
    "take_over": Timer.TAKE_OVER,
    "fail_to_take_over": Timer.TAKE_OVER,
    "begin_term": Timer.BEGIN,
    "fail_in_office": Timer.BEGIN,
    "lapse": Timer.LAPSE,
    "lapse_early": Timer.LAPSE,
    "write": Write(),
    "write_refused": Write(),
}
"""Steps in which a broker handles an item; which of them it is, the core says."""

STEPS: dict[str, Action] = {
    **{action: of_broker(action.removesuffix("_early"), item) for action, item in OF_BROKERS.items()},
    "decide": decide,
    "find_own_office": find_own_office,
    "send_request": send_request,
    "refuse_request": refuse_request,
    "request": request,
    "unpin": unpin,
    "answer_served": answer("SERVED", ErrorCode.NONE),
    "answer_timed_out": answer("REQUEST_TIMED_OUT", ErrorCode.REQUEST_TIMED_OUT),
    "delete_by_hand": delete_by_hand,
    "end_dead_session": end_dead_session(CONTROLLER),
    "end_dead_session_of_ready": end_dead_session(READY),
    "expire": expire,
    "renew_session": renew_session,
    "restart": restart,
    "crash": crash,
    "stop_next": stop_next,
    "hang": hang,
    "become_unable": become_unable,
}

ATTEMPTED = (
    *(action for action in OF_BROKERS if not action.startswith("lapse")),
    "decide",
    "find_own_office",
    "send_request",
    "refuse_request",
    "answer_served",
    "answer_timed_out",
)
"""What is up to a broker, and so is tried where the spec refuses it. The rest is what others do, within budgets."""
