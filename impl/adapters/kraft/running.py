"""How the host of a broker runs it: what the broker is handed, the timers that it sets, and what it sends."""

from __future__ import annotations

from collections.abc import Callable

from impl.adapters.kraft.cluster import Answer, Disk, ProcessHost, Timer
from impl.adapters.kraft.core import BrokerCore, starts_by_reply
from impl.adapters.kraft.values import Call, recalled, replace
from impl.kraft.broker import BrokerState
from impl.kraft.broker.replica_log import InMemoryReplicaLog
from impl.kraft.effects import Effects, Send, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import AlterPartitionRequest, BrokerHeartbeatResponse, Request, Response

MANY = (1, 2, 12, 1_000)
"""How often a broker has failed in a row, which decides nothing, is any of these."""


def run(
    host: ProcessHost, act: Callable[[BrokerCore, int], Effects], *, by_ms: int = 0
) -> tuple[ProcessHost, list[Send]]:
    """Let a broker act. Returns what it sends."""
    core, now_ms = host.broker.copy(), max(host.now_ms, by_ms)
    timers, sent = dict(host.timers), list[Send]()
    failures = core.lifecycle.failures
    effects = act(core, now_ms)
    if core.lifecycle.failures > failures:
        core.lifecycle.failures = MANY[(core.image.offset + core.broker_id) % len(MANY)]
    for effect in effects:
        match effect:
            case SetTimer(timer, at_ms):
                timers[timer] = at_ms
            case Send():
                sent.append(effect)
            case _:
                raise AssertionError("a broker sends requests and sets timers, and does nothing else")
    return replace(host, core=core, timers=timers, now_ms=now_ms), sent


def begun(core: BrokerCore, controller: int = 0) -> ProcessHost:
    """A process that has started. What it sends at once is lost, and given up: it sends that again."""
    host, sent = run(ProcessHost(core, controller=controller), Call("start"))
    for send in sent:
        host = deliver(host, send.request, None)
    return host


def fire_at(host: ProcessHost, timer: Timer) -> tuple[ProcessHost, list[Send]] | None:
    """Fire a timer of a broker, as late as it is due. None: it is not set."""
    at_ms = host.timers.get(timer)
    if at_ms is None:
        return None
    rest = {name: due_ms for name, due_ms in host.timers.items() if name != timer}
    return run(replace(host, timers=rest), Call("on_timer", (timer,)), by_ms=at_ms)


def deliver(host: ProcessHost, request: Request, response: Response | None) -> ProcessHost:
    """Hand in a response, or that its request was given up. What the broker sends at once is lost, and given up."""
    host, sent = run(host, Call("on_response", (request, response)))
    for send in sent:
        host = deliver(host, send.request, None)
    return host


def asks_still(host: ProcessHost, answer: Answer) -> bool:
    """The process is moved by this answer, so that it matters when it comes."""
    request, response = answer.request, answer.response
    if isinstance(request, AlterPartitionRequest):
        return is_asked(host, request)
    state = host.broker.state
    is_starting = state == BrokerState.STARTING and starts_by_reply(host.broker)
    return moves(response, is_recovering=state == BrokerState.RECOVERY, is_starting=is_starting)


def is_asked(host: ProcessHost, request: Request) -> bool:
    """A leader still asks for this change of its ISR. Of other requests a process makes one at a time."""
    if host.core is None or not isinstance(request, AlterPartitionRequest):
        return True
    leader = host.broker.leaders.get((request.topic_id, request.partition_id))
    return leader is not None and leader.pending_change == request


def moves(response: Response | None, *, is_recovering: bool, is_starting: bool = False) -> bool:
    """A response to a registration or heartbeat is more than that the lease was renewed.

    is_starting: and the broker waits to be told that it has caught up.
    """
    if not isinstance(response, BrokerHeartbeatResponse) or response.error != ErrorCode.NONE:
        return True
    ends_start = is_starting and response.is_caught_up
    return response.should_shut_down or ends_start or (is_recovering and not response.is_fenced)


def without_answer(host: ProcessHost, key: PartitionKey) -> ProcessHost:
    """The process once the answer about a partition is no longer under way to it."""
    return replace(host, isr_answers={other: one for other, one in host.isr_answers.items() if other != key})


@recalled
def settled(host: ProcessHost) -> ProcessHost:
    """The process once it has the answers that change nothing: it gets them at once, and must do nothing."""
    if host.core is None:
        return host
    for key, answer in host.isr_answers.items():
        if not asks_still(host, answer):
            host = deliver(without_answer(host, key), answer.request, answer.response)
    if host.answer is not None and not asks_still(host, host.answer):
        host = deliver(replace(host, answer=None), host.answer.request, host.answer.response)
    return host


def left_on_disk(host: ProcessHost) -> Disk:
    """The disk of a process that stops: its logs, but not how far they are committed."""
    logs = host.disk if host.core is None else host.broker.logs
    return {key: InMemoryReplicaLog(log.entries) for key, log in logs.items() if isinstance(log, InMemoryReplicaLog)}
