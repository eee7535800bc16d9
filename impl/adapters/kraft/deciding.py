"""What a controller decides when it is called: what it appends, the responses that leave it, its timers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from impl.adapters.kraft import record_rules
from impl.adapters.kraft.cluster import Cluster, ControllerHost, Timer
from impl.adapters.kraft.core import ControllerCore, is_kafkas
from impl.adapters.kraft.epoch_history import Entry
from impl.adapters.kraft.values import Call, passing, recalled, replace
from impl.kraft.effects import Append, Effects, Reply, Send, SetTimer
from impl.kraft.messages import Response
from impl.kraft.records import Batch


class Decided(NamedTuple):
    """What came of a call of a controller: its host, the batches that it appended, responses by call."""

    host: ControllerHost
    batches: tuple[Batch, ...]
    replies: Mapping[int, Response]


def decide(
    cluster: Cluster, voter: int, act: Callable[[ControllerCore, int], Effects], *, by_ms: int = 0,
    host: ControllerHost | None = None,
) -> tuple[Cluster, Mapping[int, Response]]:  # fmt: skip
    """Let a controller act, and append what it appends. One that is alone commits that at once.

    Returns the responses that leave it, by call. by_ms: what its clock reaches at least. host: what the controller is
    by now, if it is not what the cluster has. Raises AssertionError where a
    response leaves together with what it rests on, which is not committed by then, or a batch breaks `record_rules`.
    """
    made = decided(cluster.controllers[voter] if host is None else host, act, by_ms, written_in(cluster))
    return with_decided(cluster, voter, made), made.replies


def written_in(cluster: Cluster) -> int | None:
    """How many batches all controllers have written, where there are several."""
    return cluster.written if cluster.is_quorum else None


def with_decided(cluster: Cluster, voter: int, made: Decided) -> Cluster:
    cluster = cluster.with_controller(voter, made.host)
    if not made.batches:
        return cluster
    if cluster.is_quorum:
        return replace(cluster, written=cluster.written + len(made.batches))
    return replace(cluster, log=cluster.log.followed_by(made.batches))


def deciding(
    host: ControllerHost, act: Callable[[ControllerCore, int], Effects], by_ms: int, written: int | None
) -> Decided:
    """written: as `written_in`."""
    core, now_ms = host.core.copy(), max(host.now_ms, by_ms)
    timers, image, batches, replies = dict(host.timers), host.image, list[Batch](), dict[int, Response]()
    pending = act(core, now_ms)
    while pending:
        appended = any(isinstance(effect, Append) for effect in pending)
        for effect in pending:
            match effect:
                case Append(batch):
                    image = record_rules.replayed(image, batch, host.epoch, by_kafka=is_kafkas(core))
                    batches.append(batch)
                case Reply(call, response):
                    if appended:
                        raise AssertionError("a reply leaves before what it rests on is committed")
                    replies[call] = response
                case SetTimer(timer, at_ms):
                    timers[timer] = at_ms
                case Send():
                    raise AssertionError("a controller sends nothing")
        pending = committed_up_to(core, batches[-1], now_ms) if appended and written is None else []
    if written is None:
        return Decided(ControllerHost(core, image, timers, now_ms, host.epoch), tuple(batches), replies)
    log = (*host.log, *(Entry(number, batch) for number, batch in enumerate(batches, written)))
    after = replace(host, core=core, image=image, timers=timers, now_ms=now_ms, log=log)
    return Decided(after, tuple(batches), replies)


decided = recalled(deciding)


def committed_up_to(core: ControllerCore, batch: Batch, now_ms: int) -> Effects:
    """Tell a controller that what it has written is committed up to a batch: all but its last record, then that."""
    if len(batch.records) > 1:
        before = core.committed.offset
        if core.on_commit(batch.last_offset, now_ms) or core.committed.offset > max(before, batch.base_offset - 1):
            raise AssertionError("a part of a batch is committed, and the controller goes by it")
    return core.on_commit(batch.last_offset + 1, now_ms)


@dataclass(frozen=True)
class Committed:
    """A controller hears that all is committed up to a batch."""

    batch: Batch

    def __call__(self, core: ControllerCore, now_ms: int) -> Effects:
        return committed_up_to(core, self.batch, now_ms)


def fire(cluster: Cluster, voter: int, timer: Timer) -> Cluster:
    """Fire a timer of a controller that is due by now."""
    host = without_timer(cluster.controllers[voter], timer)
    return decide(cluster, voter, Call("on_timer", (timer,)), host=host)[0]


@passing
def without_timer(host: ControllerHost, timer: Timer) -> ControllerHost:
    return replace(host, timers={name: at_ms for name, at_ms in host.timers.items() if name != timer})
