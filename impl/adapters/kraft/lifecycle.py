"""Steps of the spec that stand for several: each of them is taken, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft import controllers, processes
from impl.adapters.kraft.cluster import Cluster

Arguments = Mapping[str, Any]


def fence_alive(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    """The lease of a broker runs out, and it is fenced."""
    after = controllers.expire_lease(cluster, arguments, before)
    return after if isinstance(after, Refusal) else controllers.fence_expired(after, arguments, before)


def unfence_alive(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    """A broker's heartbeat gets through, and so does the reply."""
    sent = processes.send_heartbeat(cluster, arguments, before)
    if isinstance(sent, Refusal):
        return sent
    return controllers.handle_lifecycle(sent, sent.lifecycle[-1])


def alter_isr_at_once(cluster: Cluster, arguments: Arguments, before: Any) -> Cluster | Refusal:
    """A leader asks for its change of the ISR, and has the answer."""
    sent = processes.send_alter_isr(cluster, arguments, before)
    if isinstance(sent, Refusal):
        return sent
    handled = controllers.handle_alter_isr(sent, sent.alterations[-1])
    return processes.receive_alter_isr_reply(handled, arguments, before)
