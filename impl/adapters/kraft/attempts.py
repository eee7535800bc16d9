"""Attempts: steps that the spec does not allow and that could still be asked of the implementation.

What only the world would do (time passes, messages are lost, processes die), what a budget of the model leaves no
room for, and what there is no message for is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft import controllers, network, processes, unmodelled
from impl.adapters.kraft.cluster import Cluster, Envelope
from impl.adapters.kraft.processes import UNWRITTEN, answered, asked_to_stop, followed, led, waits
from impl.adapters.kraft.values import replace
from impl.kraft.broker import BrokerState
from impl.kraft.errors import ErrorCode

Arguments = Mapping[str, Any]
Attempt = Callable[[Cluster, Arguments, Any], Cluster | Refusal | None]


def unanswered(cluster: Cluster) -> list[Envelope]:
    """The requests that controllers have yet to answer, be it with what moves the sender or not."""
    held = [envelope for host in cluster.controllers for envelope in host.waiting.values()]
    return [envelope for envelope in held if waits(cluster, envelope)]


def lifecycle_exchanges(cluster: Cluster) -> int:
    requests = sum(not envelope.late for envelope in cluster.lifecycle)
    held = sum(envelope.about is None for envelope in unanswered(cluster))
    return requests + held + sum(host.answer is not None for host in cluster.processes)


def alter_exchanges(cluster: Cluster) -> int:
    requests = sum(not envelope.late for envelope in cluster.alterations)
    held = sum(envelope.about is not None for envelope in unanswered(cluster))
    return requests + held + sum(len(host.isr_answers) for host in cluster.processes)


def is_left(cluster: Cluster, before: Any, spent: str, limit: str) -> bool:
    """A budget is not spent yet."""
    return bool(getattr(before.faults, spent) < cluster.shape.limits.get(limit, 0))


# Processes.


def send_registration(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if not may_send(cluster, arguments):
        return None
    return processes.send_registration(cluster, arguments, before)


def send_heartbeat(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if not may_send(cluster, arguments):
        return None
    return processes.send_heartbeat(cluster, arguments, before)


def may_send(cluster: Cluster, arguments: Arguments) -> bool:
    """The process is alive, and there is room in the network."""
    place = arguments["process"].index
    is_free = cluster.processes[place].core is not None and not is_awaiting(cluster, place)
    return is_free and lifecycle_exchanges(cluster) < cluster.shape.limits.get("lifecycle_in_flight", 1)


def is_awaiting(cluster: Cluster, place: int) -> bool:
    return any(envelope.sender == place for envelope in unanswered(cluster))


def apply_metadata(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if cluster.processes[arguments["process"].index].core is None:
        return None
    return processes.apply_metadata(cluster, arguments, before)


def sigterm(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal | None:
    """A process that is on its way out is asked to stop once more."""
    place = arguments["process"].index
    host = cluster.processes[place]
    on_its_way = BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN
    if host.core is None or host.core.state not in on_its_way:
        return None
    return cluster.with_process(place, asked_to_stop(host))


def write(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    host, p = cluster.processes[arguments["leader"].index], arguments["p"].index
    key = led(host, arguments)
    if host.core is None or cluster.records[p] != UNWRITTEN or (key is not None and key[0] != cluster.topic):
        return None
    return processes.write(cluster, arguments, before)


def fetch(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    follower, leader = arguments["follower"].index, arguments["leader"].index
    ids, hosts = cluster.shape.node_ids, cluster.processes
    if ids[follower] == ids[leader] or hosts[follower].core is None or hosts[leader].core is None:
        return None
    if followed(hosts[follower], arguments) is None:
        return None
    return processes.fetch(cluster, arguments, before)


def shrink_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    """A leader that has nothing is not in the spec found to be waited for in vain, whatever time passes."""
    host = cluster.processes[arguments["leader"].index]
    key = led(host, arguments)
    if key is None or host.broker.logs[key].end_offset == 0:
        return None
    return processes.shrink_isr(cluster, arguments, before)


def send_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    place = arguments["leader"].index
    is_full = alter_exchanges(cluster) >= cluster.shape.limits.get("alter_in_flight", 1)
    if is_full or cluster.processes[place].core is None or is_awaiting(cluster, place):
        return None
    return processes.send_alter_isr(cluster, arguments, before)


def advance_high_watermark(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if cluster.processes[arguments["leader"].index].core is None:
        return None
    return processes.advance_high_watermark(cluster, arguments, before)


# The controller.


def may_decide(cluster: Cluster, voter: int) -> bool:
    """There is room in its log, as the model counts it, and what it decides would be heard of."""
    host = cluster.controllers[voter]
    is_full = cluster.is_quorum and len(host.log) >= cluster.shape.limits.get("pending_batches", 1)
    return not is_full and not host.is_lost


def handle_lifecycle(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if cluster.is_asked_the_rest:
        return held_to_the_document(cluster, arguments["voter"].index)
    return refused(cluster, arguments, network.matching_lifecycle_request(cluster, arguments["request"], before))


def handle_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    if cluster.is_asked_the_rest:
        return held_to_the_document(cluster, arguments["voter"].index)
    return refused(cluster, arguments, network.matching_alteration(cluster, arguments["request"], before))


def held_to_the_document(cluster: Cluster, voter: int) -> Refusal:
    """Everything that the spec leaves out is asked of copies of a controller."""
    unmodelled.held(cluster.shape, cluster.controllers[voter])
    return Refusal("it was asked of a copy")


def refused(cluster: Cluster, arguments: Arguments, envelope: Envelope | None) -> Cluster | Refusal | None:
    """A request lands at a controller that is not active, and is told so; the spec leaves it to be lost."""
    voter = arguments["voter"].index
    if envelope is None or envelope.to != voter or cluster.controllers[voter].core.is_active:
        return None
    after, response = controllers.call(cluster, voter, envelope.request)
    if response.error == ErrorCode.NOT_CONTROLLER:
        return Refusal(response.error.name)
    return answered(after, envelope, response)


def in_budget(step: Attempt, spent: str = "", limit: str = "") -> Attempt:
    """The step, unless a budget of the model is spent, or there is no room in the log."""

    def attempt(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        is_spent = bool(spent) and not is_left(cluster, before, spent, limit)
        if is_spent or not may_decide(cluster, arguments["voter"].index):
            return None
        return step(cluster, arguments, before)

    return attempt


def reassign(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
    """The spec has no target with fewer replicas than min.insync.replicas."""
    is_small = 0 < len(arguments["target"]) < cluster.shape.min_insync_replicas
    return None if is_small else controllers.reassign(cluster, arguments, before)


def by_another(step: Attempt) -> Attempt:
    """The step, asked for by another operator than the one who asked for the last removal, who still waits."""

    def attempt(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        after = step(cluster, arguments, before)
        return replace(after, removal=cluster.removal) if isinstance(after, Cluster) else after

    return attempt


ATTEMPTS: dict[str, Attempt] = {
    "send_registration": send_registration,
    "send_heartbeat": send_heartbeat,
    "apply_metadata": apply_metadata,
    "sigterm": sigterm,
    "write": write,
    "fetch": fetch,
    "shrink_isr": shrink_isr,
    "send_alter_isr": send_alter_isr,
    "advance_high_watermark": advance_high_watermark,
    "handle_registration": handle_lifecycle,
    "handle_heartbeat": handle_lifecycle,
    "handle_alter_isr": handle_alter_isr,
    "fence_expired": in_budget(controllers.fence_expired),
    "reassign": in_budget(reassign, "reassignments", "max_reassignments"),
    "cancel_reassignment": in_budget(controllers.cancel_reassignment),
    "elect_preferred": in_budget(controllers.elect_preferred),
    "create_topic": in_budget(controllers.create_topic, "topics", "max_topics"),
    "delete_topic": in_budget(by_another(controllers.delete_topic)),
    "unregister": in_budget(by_another(controllers.unregister), "unregistrations", "max_unregistrations"),
    "confirm_removal": controllers.confirm_removal,
}
