"""All that decides the cluster's next steps besides what is shown, read off its objects by `state_rules`."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import NamedTuple

from checker.conform.graph import Graph
from impl.adapters.kraft.cluster import Cluster, ControllerHost, Envelope, ProcessHost
from impl.adapters.kraft.core import Core
from impl.adapters.kraft.observed import NOTHING
from impl.adapters.kraft.processes import waits
from impl.adapters.kraft.state_rules import RULES, Context, request_of, response_to
from impl.adapters.kraft.values import remembered
from impl.adapters.kraft.views import bag
from impl.kraft.messages import AlterPartitionRequest
from impl.kraft.snapshot import load_snapshot

AN_OPERATOR = -1  # in place of the number of a process


class Hidden(NamedTuple):
    """All that `observe` leaves out. replies: those that each controller keeps."""

    controllers: tuple[Hashable, ...]
    processes: tuple[Hashable, ...]
    replies: tuple[Hashable, ...]
    requests: Hashable
    removal: Hashable
    snapshot: Hashable


def key(cluster: Cluster) -> Hidden:
    return Hidden(
        tuple([of_host(cluster, host) for host in cluster.controllers]),
        tuple([of_host(cluster, host) for host in cluster.processes]),
        tuple([awaited(cluster, voter) for voter in range(len(cluster.controllers))]),
        under_way(cluster),
        removal(cluster),
        snapshot(cluster),
    )


def apart(cluster: Cluster) -> Hashable:
    """How many topic ids were drawn, the next of which will be in the key; and of each process, `replayed_epoch`."""
    return cluster.topics, tuple([replayed_epoch(cluster, host) for host in cluster.processes])


def replayed_epoch(cluster: Cluster, host: ProcessHost) -> Hashable:
    """Of a process that has yet to hear its epoch, the one of its own that it has replayed already.

    If it hears of that one, a timer makes it act, else the next replay: from then on, that is in the key.
    """
    core = host.core
    if core is None or core.broker_epoch is not None:
        return None
    own = core.image.registrations.get(core.broker_id)
    is_own = own is not None and own.incarnation_id == core.lifecycle.incarnation_id
    return cluster.history.broker_epoch(own.broker_epoch) if own is not None and is_own else None


@cache
def graph_of(core: type[Core]) -> Graph:
    """Reads what cores of this class make."""
    return Graph({**RULES, **core.rules})


def read(cluster: Cluster, value: object) -> Hashable:
    shape = cluster.shape
    listens = shape.limits.get("metadata_responses", 0) > 0
    context = Context(cluster.history, cluster.marks, listens, shape.rivals, shape.registers_anew, cluster.lens.lacking)
    return graph_of(type(shape.core)).read(value, context)


def of_host(cluster: Cluster, host: ControllerHost | ProcessHost) -> Hashable:
    found = host.memory.get(cluster.lens.hidden)
    if found is None:
        found = host.memory[cluster.lens.hidden] = read(cluster, host)
    return found


def awaited(cluster: Cluster, voter: int) -> Hashable:
    """The replies that a controller keeps: to whom, what they say, and on how many batches of its log they rest.

    A lost one answers nobody, and of operators only the last one listens. Those that leave together do so in any order.
    """
    host = cluster.controllers[voter]
    if not host.core.waiting or host.is_lost:
        return ()
    graph, found = graph_of(type(cluster.shape.core)), list[tuple[Hashable, ...]]()
    for one in host.core.waiting:
        rests_on = sum(entry.batch.base_offset <= one.offset for entry in host.log)
        envelope = host.waiting.get(one.call)
        if envelope is not None and waits(cluster, envelope):
            unknown = read(cluster, one)
            answer = response_to(envelope.request, one.response, graph)
            found.append((envelope.sender, *asked_about(envelope), rests_on, answer, unknown))
        elif is_last_asked(cluster, voter, one.call):
            found.append((AN_OPERATOR, "", -1, rests_on, read(cluster, one.response)))
    return tuple(sorted(found, key=lambda row: row[:4]))


def is_last_asked(cluster: Cluster, voter: int, call: int) -> bool:
    """The operator who asked for the last removal waits for this call of a controller."""
    asked = cluster.removal
    return asked is not None and (asked.voter, asked.call) == (voter, call)


def asked_about(envelope: Envelope) -> tuple[str, int]:
    return type(envelope.request).__name__, -1 if envelope.about is None else envelope.about[1]


def under_way(cluster: Cluster) -> Hashable:
    """Requests as far as they do not show: whether somebody waits for the reply, and what a change of an ISR rests on.

    One that is not late is usually waited for.
    """
    if not cluster.lifecycle and not cluster.alterations:
        return NOTHING
    found: list[tuple[object, ...]] = [
        (one.sender, one.late, type(one.request).__name__)
        for one in (*cluster.lifecycle, *cluster.alterations)
        if waits(cluster, one) == one.late
    ]
    found += [
        (one.sender, one.late, request_of(cluster.history, one.request))
        for one in cluster.alterations
        if isinstance(one.request, AlterPartitionRequest)
    ]
    return bag(found)


def removal(cluster: Cluster) -> Hashable:
    one = cluster.removal
    return None if one is None else (one.voter, one.call is not None, one.is_answered)


def snapshot(cluster: Cluster) -> Hashable:
    taken = cluster.snapshot
    if taken is None:
        return None
    return remembered(taken.memory, cluster.lens.hidden, lambda: read(cluster, load_snapshot(taken.snapshot)))
