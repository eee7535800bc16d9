"""The office: a controller begins its term, writes, resigns for a target that is ready, or steps down."""

from __future__ import annotations

from checker.lang import Option, action, fresh, replace, require, require_some
from spec.pinning.actions.target import hears
from spec.pinning.decisions.office import must_hand_over, out_of_office
from spec.pinning.decisions.watching import notified, with_ready
from spec.pinning.design import Design
from spec.pinning.state import BrokerProcess, Cluster, Heard, is_target, owns_office, owns_ready, runs
from spec.pinning.types import Broker, ControllerEpoch, EpochVersion, Path, Phase, ProcessState, is_legacy
from spec.zookeeper.watches import queued


@action(
    who="broker {broker}",
    source="KIP-39, Handling the admin request (c), (d); Changes in the election code",
    kafka="KafkaController.onControllerFailover",
    deviates="the document does not say that who takes office looks at `next` and `ready` (office_reads_ready)",
)
def begin_term(s: Cluster, broker: Broker) -> None:
    """An elected broker takes office: it reads `next` and `ready`, with watches, and begins its work."""
    process = s.brokers[broker]
    require(runs(process) and process.phase == Phase.ELECTED and broker not in s.unable)
    spends = (
        Design.request_consumed and not Design.office_failure_spends and is_target(s, broker) and not is_legacy(broker)
    )
    takes_back = spends and owns_ready(s, broker)
    if not Design.epoch_with_office:
        s.epoch = fresh(s, ControllerEpoch)
        s.epoch_version = fresh(s, EpochVersion)
    epoch = process.epoch if Design.epoch_with_office else s.epoch
    s.brokers[broker].epoch = epoch
    s.brokers[broker].phase = Phase.IN_OFFICE
    if not Design.loser_watches:
        s.brokers[broker].armed |= {Path.CONTROLLER}
    if epoch is not None and not has_heard_of_later(process.heard, epoch):
        s.brokers[broker].heard = tuple(epoch for _ in process.heard)
    if spends:
        s.next_controller = None
    if takes_back:
        s.ready = None
    if spends:
        ends = frozenset({Path.NEXT})
        s.brokers = notified(s, ends | {Path.READY} if takes_back else ends)
    if Design.office_reads_ready and Design.pinning and not Design.takeover and not is_legacy(broker):
        s.brokers[broker].armed = with_ready(s, s.brokers[broker].armed)
        if s.ready is not None and must_hand_over(s, broker):
            s.brokers[broker].armed -= {Path.READY}
            s.brokers[broker].events = queued(s.brokers[broker].events, Path.READY)


@action(
    who="broker {broker}",
    source="KIP-39, Handling the admin request (f)",
    kafka="KafkaZkClient.deleteController",
    deviates="reads `ready` and `next` in the same step: the multi that resigns checks their versions and the epoch",
)
def resign(s: Cluster, broker: Broker, answered: bool) -> None:
    """A controller hears that a target is ready, and leaves office: it deletes /controller."""
    process = s.brokers[broker]
    require(hears(s, broker, Path.READY) and process.phase == Phase.IN_OFFICE and must_hand_over(s, broker))
    deletes = s.controller is not None and (s.epoch == process.epoch or not Design.conditional_resign)
    require(answered or (deletes and s.faults.lost_replies < Design.max_lost_replies))
    if answered:
        s.brokers[broker] = out_of_office(process)
        s.brokers[broker].events = s.brokers[broker].events[1:]
        s.brokers[broker].armed = with_ready(s, s.brokers[broker].armed)
    else:
        s.faults.lost_replies += 1
    if deletes:
        s.controller = None
        s.brokers = notified(s, frozenset({Path.CONTROLLER}))


@action(who="broker {broker}", source="KIP-39, Handling the admin request (f)")
def stay(s: Cluster, broker: Broker) -> None:
    """A controller hears of `ready`, reads it, and finds no reason to resign."""
    process = s.brokers[broker]
    require(hears(s, broker, Path.READY) and process.phase == Phase.IN_OFFICE and not must_hand_over(s, broker))
    process.events = process.events[1:]
    process.armed = with_ready(s, process.armed)


@action(
    who="broker {broker}",
    source="KIP-39, Changes in the election code (the target takes its place); Possible gotchas",
    kafka="KafkaController.triggerControllerMove",
)
def fail_in_office(s: Cluster, broker: Broker) -> None:
    """An elected broker fails on taking office, and resigns."""
    process = s.brokers[broker]
    require(runs(process) and process.phase == Phase.ELECTED and broker in s.unable)
    s.brokers[broker] = out_of_office(process)
    if owns_office(s, broker):
        s.controller = None
        s.brokers = notified(s, frozenset({Path.CONTROLLER}))


# Writes to ZooKeeper and requests to other brokers, each of its epoch.


@action(who="broker {broker}", source="KIP-39, Motivation (the work of a controller)")
def decide(s: Cluster, broker: Broker) -> None:
    """A controller decides something, which is yet to be written."""
    process = s.brokers[broker]
    require(
        process.state == ProcessState.UP and process.phase == Phase.IN_OFFICE and len(process.decided) < Design.writes
    )
    own = require_some(process.epoch)
    epoch = own if Design.epoch_is_own else s.epoch
    process.epoch = epoch
    process.decided = (epoch,)


@action(
    who="broker {broker}",
    source="KIP-39, Motivation (the work of a controller)",
    kafka="KafkaZkClient.retryRequestsUntilConnected (expectedControllerEpochZkVersion)",
)
def write(s: Cluster, broker: Broker) -> None:
    """A controller writes to ZooKeeper what it has decided."""
    process = s.brokers[broker]
    require(runs(process) and process.phase == Phase.IN_OFFICE and len(process.decided) > 0)
    require(s.epoch == process.epoch or not Design.zk_writes_fenced)
    s.written = process.decided
    process.decided = ()


@action(
    who="broker {broker}",
    source="design switch zk_writes_fenced; KAFKA-6082",
    kafka="ControllerMovedException, KafkaController.maybeResign",
)
def write_refused(s: Cluster, broker: Broker) -> None:
    """A write fails with BADVERSION: another was elected, and the broker steps down."""
    process = s.brokers[broker]
    require(runs(process) and process.phase == Phase.IN_OFFICE and len(process.decided) > 0)
    require(s.epoch != process.epoch and Design.zk_writes_fenced)
    s.brokers[broker] = deposed(s, broker)


@action(
    who="broker {broker}",
    source="KIP-39, Motivation (the work of a controller)",
    kafka="ControllerChannelManager; KafkaApis.handleLeaderAndIsrRequest (isStale)",
)
def send_request(s: Cluster, broker: Broker, to: Broker) -> None:
    """A controller's request reaches a broker, which has heard of no later controller, and takes it."""
    process = s.brokers[broker]
    require(process.state == ProcessState.UP and process.phase == Phase.IN_OFFICE and Design.writes > 0)
    require(to != broker and s.brokers[to].state == ProcessState.UP)
    require(not has_heard_of_later(s.brokers[to].heard, process.epoch))
    s.brokers[to].heard = (require_some(process.epoch),)


@action(
    who="broker {to}",
    source="KIP-39, Motivation (the work of a controller)",
    kafka="KafkaApis (STALE_CONTROLLER_EPOCH)",
)
def refuse_request(s: Cluster, broker: Broker, to: Broker) -> None:
    """A broker has heard of a later controller, and refuses the request of a former one, which steps down."""
    process = s.brokers[broker]
    require(process.state == ProcessState.UP and process.phase == Phase.IN_OFFICE)
    require(to != broker and s.brokers[to].state == ProcessState.UP)
    require(has_heard_of_later(s.brokers[to].heard, process.epoch))
    s.brokers[broker] = deposed(s, broker)


def has_heard_of_later(heard: Heard, epoch: Option[ControllerEpoch]) -> bool:
    return len(heard) > 0 and epoch is not None and heard[0] > epoch


def deposed(s: Cluster, broker: Broker) -> BrokerProcess:
    """A broker that steps down. Where it has a session, it looks at `/controller` again."""
    process = out_of_office(s.brokers[broker])
    if process.session is None or s.controller is not None:
        return process
    return replace(process, armed=process.armed - {Path.CONTROLLER}, events=queued(process.events, Path.CONTROLLER))
