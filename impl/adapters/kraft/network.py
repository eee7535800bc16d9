"""The steps of the network: requests land, are lost and copied, and replies are lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from checker.conform.system import Ordinal, Refusal
from impl.adapters.kraft import controllers, expected, observed
from impl.adapters.kraft.cluster import Cluster, Envelope
from impl.adapters.kraft.controllers import without
from impl.adapters.kraft.processes import given_up, late_copy, led, without_reply, without_waiting
from impl.adapters.kraft.quorum import deliver_refusal
from impl.adapters.kraft.values import replace
from impl.adapters.kraft.views import AlterIsrView, HeartbeatView, RegisterView
from impl.kraft.errors import ErrorCode

Arguments = Mapping[str, Any]
RequestView = RegisterView | HeartbeatView | AlterIsrView


# Matching requests.


def place_of(view: RequestView) -> list[Any]:
    """The sort key of requests of a kind: the same in spec and implementation."""
    return [-1 if part is None else part.value if isinstance(part, Ordinal) else part for part in view]


def matching_lifecycle_request(cluster: Cluster, request: Any, before: Any) -> Envelope | None:
    """The registration or heartbeat that stands for a message of the spec."""
    return matching(
        cluster.lifecycle,
        lambda envelope: observed.lifecycle_request(cluster, envelope),
        before.lifecycle,
        expected.lifecycle_request,
        request,
    )


def matching_alteration(cluster: Cluster, request: Any, before: Any) -> Envelope | None:
    """The AlterPartition request that stands for a message of the spec."""
    return matching(
        cluster.alterations,
        lambda envelope: observed.alter_isr(cluster, envelope),
        before.alterations,
        expected.alter_isr,
        request,
    )


def matching(
    envelopes: tuple[Envelope, ...],
    shown: Callable[[Envelope], RequestView],
    messages: Any,
    wanted: Callable[[Any], RequestView],
    message: Any,
) -> Envelope | None:
    """Of the envelopes that look like `message`, the one that has its place among those that do."""
    view = wanted(message)
    kind = (type(view), view.sender, view.late, view.to)
    alike = [one for one in map(wanted, messages) if (type(one), one.sender, one.late, one.to) == kind]
    found = [envelope for envelope in envelopes if (type(one := shown(envelope)), one.sender, one.late, one.to) == kind]
    if len(found) > 1:
        found.sort(key=lambda envelope: place_of(shown(envelope)))
        alike.sort(key=place_of)
    at = alike.index(view)
    return found[at] if at < len(found) else None


# Delivery and loss.


def handle_lifecycle(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_lifecycle_request(cluster, arguments["request"], before)
    return Refusal("nothing lands") if envelope is None else controllers.handle_lifecycle(cluster, envelope)


def handle_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_alteration(cluster, arguments["request"], before)
    return Refusal("nothing lands") if envelope is None else controllers.handle_alter_isr(cluster, envelope)


def lose_lifecycle_request(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_lifecycle_request(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing is under way")
    return given_up(replace(cluster, lifecycle=without(cluster.lifecycle, envelope)), envelope)


def lose_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_alteration(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing is under way")
    return given_up(replace(cluster, alterations=without(cluster.alterations, envelope)), envelope)


def refuse_lifecycle_request(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_lifecycle_request(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing lands")
    return refused(replace(cluster, lifecycle=without(cluster.lifecycle, envelope)), envelope)


def refuse_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_alteration(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing lands")
    return refused(replace(cluster, alterations=without(cluster.alterations, envelope)), envelope)


def refused(cluster: Cluster, envelope: Envelope) -> Cluster | Refusal:
    """A request lands at a controller that is not active, and its sender hears so at once."""
    cluster, response = controllers.call(cluster, envelope.to, envelope.request)
    if response.error != ErrorCode.NOT_CONTROLLER:
        return Refusal(f"the answer is {response.error.name}")
    return deliver_refusal(cluster, envelope, response)


def lose_lifecycle_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["process"].index
    host = cluster.processes[place]
    if host.answer is None and cluster.is_quorum:
        return without_waiting(cluster, place)
    if host.answer is None:
        return Refusal("no reply is under way to it")
    return cluster.with_process(place, without_reply(host, None))


def lose_alter_isr_reply(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place = arguments["leader"].index
    host = cluster.processes[place]
    key = led(host, arguments)
    if key is not None and key not in host.isr_answers and cluster.is_quorum:
        return without_waiting(cluster, place, key)
    if key is None or key not in host.isr_answers:
        return Refusal("no reply is under way to it")
    return cluster.with_process(place, without_reply(host, key))


def copy_lifecycle_request(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_lifecycle_request(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing is under way")
    return replace(cluster, lifecycle=(*cluster.lifecycle, late_copy(envelope)))


def copy_alter_isr(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    envelope = matching_alteration(cluster, arguments["request"], before)
    if envelope is None:
        return Refusal("nothing is under way")
    return replace(cluster, alterations=(*cluster.alterations, late_copy(envelope)))
