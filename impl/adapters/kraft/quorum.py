"""The steps of the quorum: its log is played here, and the cores get the outcome.

Which controller is elected, what it replicates and what is on a majority is the quorum's to say, not the core's: the
spec says it, and this does so. What is under test is that a controller replays what is committed, claims, answers once
what it wrote is committed, renounces, and loads snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft.cluster import (
    Cluster,
    ControllerHost,
    Envelope,
    Log,
    ProcessHost,
    Removal,
    Shape,
    Stable,
    Taken,
)
from impl.adapters.kraft.controllers import released
from impl.adapters.kraft.core import ControllerCore
from impl.adapters.kraft.deciding import Committed, decide
from impl.adapters.kraft.epoch_history import Entry
from impl.adapters.kraft.processes import waits
from impl.adapters.kraft.running import deliver, settled
from impl.adapters.kraft.values import Call, passing, recalled, replace
from impl.kraft.messages import Response
from impl.kraft.records import Batch, NoOpRecord

Arguments = Mapping[str, Any]


# Elections.


def elect(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """Those who vote step down, and the one that they elect writes that it leads."""
    candidate = arguments["candidate"].index
    epoch = 1 + max(host.epoch for host in cluster.controllers)
    for voter in sorted(one.index for one in arguments["voters"]):
        cluster = stepped_down(cluster, voter, epoch)
    host = elected(cluster.controllers[candidate], epoch, cluster.written)
    return replace(cluster.with_controller(candidate, host), written=cluster.written + 1)


@recalled
def elected(host: ControllerHost, epoch: int, written: int) -> ControllerHost:
    entry = Entry(written, Batch(end_offset(host), epoch, (NoOpRecord(),)))
    return replace(host, is_elected=True, log=(*host.log, entry))


def end_offset(host: ControllerHost) -> int:
    """The end of a controller's log, exclusive."""
    if host.log:
        return host.log[-1].batch.last_offset + 1
    return host.high_watermark + 1


def hear_of_leader(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return stepped_down(cluster, arguments["voter"].index, cluster.controllers[arguments["leader"].index].epoch)


def stepped_down(cluster: Cluster, voter: int, epoch: int) -> Cluster:
    """A controller learns of an epoch. If it was active it renounces, and refuses whoever waits for it."""
    before = cluster.controllers[voter]
    refused: Mapping[int, Response] = {}
    if before.core.is_active:
        cluster, refused = decide(cluster, voter, Call("renounce"))
    if not before.waiting.keys() | before.operators <= refused.keys():
        raise AssertionError("a controller that renounced leaves somebody waiting")
    host, is_up_to_date = cluster.controllers[voter], before.lags_since is None
    standby = standing_by(host, epoch, cluster.stable if is_up_to_date else None)
    cluster = without_reply(cluster.with_controller(voter, standby), voter)
    for call, envelope in before.waiting.items():
        cluster = deliver_refusal(cluster, envelope, refused[call])
    return cluster


@recalled
def standing_by(host: ControllerHost, epoch: int, stable: Stable | None) -> ControllerHost:
    """A controller that follows in an epoch. stable: what is committed, where it lacks nothing of that."""
    return replace(
        host,
        image=host.image if stable is None else stable.image,
        timers={},
        epoch=epoch,
        is_elected=False,
        log=() if stable is None else host.log,
        waiting={},
        operators=frozenset(),
    )


def without_reply(cluster: Cluster, voter: int) -> Cluster:
    """The operator that waits for a controller, or for its reply to arrive, waits for nothing any more."""
    removal = cluster.removal
    if removal is None or removal.voter != voter or removal.is_confirmed:
        return cluster
    return replace(cluster, removal=Removal(voter, None))


def deliver_refusal(cluster: Cluster, envelope: Envelope, response: Response) -> Cluster:
    """Deliver the end of a request to its sender at once, if it still waits for it."""
    if not waits(cluster, envelope):
        return cluster
    return cluster.with_process(envelope.sender, refused_by(cluster.processes[envelope.sender], envelope, response))


@recalled
def refused_by(host: ProcessHost, envelope: Envelope, response: Response) -> ProcessHost:
    return settled(deliver(host, envelope.request, response))


def claim(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    voter = arguments["voter"].index
    epoch = cluster.controllers[voter].epoch
    return decide(cluster, voter, Call("claim", (epoch,)))[0]


def find_controller(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    place, voter = arguments["process"].index, arguments["voter"].index
    return cluster.with_process(place, sending_to(cluster.processes[place], voter))


@recalled
def sending_to(host: ProcessHost, voter: int) -> ProcessHost:
    return replace(host, controller=voter)


# The log.


def fetch_batch(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A standby cuts off what its leader does not have, else it takes over the leader's next batch."""
    voter, leader = arguments["voter"].index, arguments["leader"].index
    return cluster.with_controller(voter, having_fetched(cluster.controllers[voter], cluster.controllers[leader]))


@recalled
def having_fetched(host: ControllerHost, leader: ControllerHost) -> ControllerHost:
    own, other = host.log, leader.log
    same = sum(mine == theirs for mine, theirs in zip(own, other, strict=False))
    return replace(host, log=own[:same] if same < len(own) else other[: same + 1])


def catch_up(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A standby fetches all that is committed and that it lacks."""
    voter = arguments["voter"].index
    return following(cluster, voter, cluster.controllers[voter])


def following(cluster: Cluster, voter: int, host: ControllerHost) -> Cluster:
    assert cluster.stable is not None
    return cluster.with_controller(voter, caught_up(host, cluster.log, cluster.stable))


@recalled
def caught_up(host: ControllerHost, log: Log, stable: Stable) -> ControllerHost:
    """A standby, which has replayed the log up to its high watermark, once it has replayed the rest."""
    core = host.core.copy()
    for batch in missing(log.batches, host.high_watermark):
        core.replay(batch)
    return replace(host, core=core, image=stable.image, lags_since=None, high_watermark=stable.image.offset)


def missing(log: tuple[Batch, ...], offset: int) -> Iterable[Batch]:
    """The batches after the one that ends at an offset."""
    found = len(log)
    while found and log[found - 1].base_offset > offset:
        found -= 1
    return log[found:]


def commit_batch(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """The high watermark passes the oldest batch that is not committed, and every controller that has it learns so."""
    leader = cluster.controllers[arguments["leader"].index]
    entry = leader.log[0]
    assert cluster.stable is not None
    stable = with_committed(cluster.stable, entry)
    cluster = replace(cluster, log=cluster.log.followed_by((entry.batch,)), stable=stable)
    for voter in range(len(cluster.controllers)):
        cluster = after_commit(cluster, voter, entry, leader.epoch)
    return cluster


@recalled
def with_committed(stable: Stable, entry: Entry) -> Stable:
    image = stable.image.copy()
    image.replay(entry.batch)
    return Stable(image, stable.history.after(entry, stable.image, image))


def after_commit(cluster: Cluster, voter: int, entry: Entry, epoch: int) -> Cluster:
    """A controller once the leader of `epoch` has committed an entry. Who lacks it, or was deposed, is behind."""
    host = cluster.controllers[voter]
    has_it = host.lags_since is None and host.log[:1] == (entry,)
    if has_it and not (host.is_elected and host.epoch < epoch):
        return noticed(cluster, voter)
    last = host.log[-1].batch if host.log else cluster.log.batches[-2]
    return cluster.with_controller(voter, behind(host, last.epoch if host.lags_since is None else host.lags_since))


@recalled
def behind(host: ControllerHost, since: int) -> ControllerHost:
    """A controller that lacks something committed. since: the epoch of its last batch."""
    return replace(host, lags_since=since, log=host.log if host.is_elected else ())


def noticed(cluster: Cluster, voter: int) -> Cluster:
    """A controller hears that its oldest entry is committed.

    An active one answers who waited for it, any other replays it.
    """
    host = cluster.controllers[voter]
    if not host.core.is_active:
        return following(cluster, voter, with_committed_up_to(host, host.high_watermark))
    now = with_committed_up_to(host, cluster.committed.offset)
    cluster, replies = decide(cluster, voter, Committed(cluster.log.batches[-1]), host=now)
    return released(cluster, voter, replies)


@passing
def with_committed_up_to(host: ControllerHost, high_watermark: int) -> ControllerHost:
    """A controller that has heard that its oldest entry is committed."""
    return replace(host, log=host.log[1:], high_watermark=high_watermark)


# Snapshots.


def write_snapshot(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return replace(cluster, snapshot=written(cluster.controllers[arguments["voter"].index]))


@recalled
def written(host: ControllerHost) -> Taken:
    """The snapshot that a controller writes."""
    return Taken(host.core.snapshot())


def load_snapshot(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A standby starts from the snapshot, and replays what came after."""
    voter = arguments["voter"].index
    if cluster.snapshot is None:
        return Refusal("there is none")
    return following(cluster, voter, restored(cluster.shape, cluster.controllers[voter], cluster.snapshot, voter))


@passing
def restored(shape: Shape, host: ControllerHost, taken: Taken, voter: int) -> ControllerHost:
    """A standby that has a snapshot, and no more."""
    return replace(host, core=loaded(shape, taken, voter), high_watermark=taken.snapshot.offset)


@recalled
def loaded(shape: Shape, taken: Taken, voter: int) -> ControllerCore:
    """The core of such a standby."""
    return shape.controller(taken.snapshot, voter)
