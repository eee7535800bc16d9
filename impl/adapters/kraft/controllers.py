"""The steps of the active controller: each is a request that it handles or a timer that fires."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from checker.conform.system import Refusal
from impl.adapters.kraft.cluster import (
    SESSION_TIMEOUT_MS,
    TOPIC,
    Cluster,
    ControllerHost,
    Envelope,
    Log,
    Removal,
    Shape,
    registration_request,
    topic_id,
)
from impl.adapters.kraft.core import ControllerCore, amended, is_kafkas
from impl.adapters.kraft.deciding import Decided, decide, deciding, fire, with_decided, written_in
from impl.adapters.kraft.epoch_history import BEYOND
from impl.adapters.kraft.processes import UNWRITTEN, answered
from impl.adapters.kraft.values import Call, passing, recalled, replace
from impl.kraft.controller import NO_OP_TIMER, lease_timer
from impl.kraft.effects import Effects
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    BrokerRegistrationRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    Request,
    Response,
    UnregisterBrokerRequest,
)
from impl.kraft.records import Batch

Arguments = Mapping[str, Any]
CALL = -1  # one that no broker waits for, or of a controller that is alone, where all is committed at once


def call(cluster: Cluster, voter: int, request: Request) -> tuple[Cluster, Response]:
    """A controller that is alone handles a request. Returns its response, which must not be long in coming."""
    cluster, replies = decide(cluster, voter, handling(request))
    return cluster, replies[CALL]


def handling(request: Request, call: int = CALL) -> Callable[[ControllerCore, int], Effects]:
    return Call("handle", (call, request))


@recalled
def handling_of(envelope: Envelope, call: int) -> Callable[[ControllerCore, int], Effects]:
    return handling(envelope.request, call)


def landed(cluster: Cluster, envelope: Envelope) -> Cluster:
    """The cluster once a controller has a broker's request. Of several, it may answer later."""
    if not cluster.is_quorum:
        cluster, replies = decide(cluster, envelope.to, handling_of(envelope, CALL))
        return answered(cluster, envelope, replies[CALL])
    host, heard = cluster.controllers[envelope.to], told_apart(cluster, envelope)
    act = handling_of(heard, host.made)
    cluster, replies = decide(cluster, envelope.to, act, host=with_waiting(host, envelope))
    return released(cluster, envelope.to, replies)


def told_apart(cluster: Cluster, envelope: Envelope) -> Envelope:
    """A request as one of several controllers understands it.

    A lost log may have issued the sender's broker epoch for another registration. The spec issues none twice, so here
    it gets one that nobody has.
    """
    request = envelope.request
    if isinstance(request, BrokerRegistrationRequest):
        return envelope
    if not cluster.history.confuses(cluster.controllers[envelope.to].log, request.broker_epoch):
        return envelope
    return replace(envelope, request=dataclasses.replace(request, broker_epoch=BEYOND))


@passing
def with_waiting(host: ControllerHost, envelope: Envelope) -> ControllerHost:
    return replace(host, waiting={**host.waiting, host.made: envelope}, made=host.made + 1)


@passing
def with_operator(host: ControllerHost) -> ControllerHost:
    return replace(host, operators=host.operators | {host.made}, made=host.made + 1)


@recalled
def without_call(host: ControllerHost, number: int) -> ControllerHost:
    waiting = {call: envelope for call, envelope in host.waiting.items() if call != number}
    return replace(host, waiting=waiting, operators=host.operators - {number})


def released(cluster: Cluster, voter: int, replies: Mapping[int, Response]) -> Cluster:
    """The cluster once these replies have left a controller. To some of them nobody listens any more."""
    for number, response in replies.items():
        host = cluster.controllers[voter]
        if number == CALL:
            continue
        cluster = cluster.with_controller(voter, without_call(host, number))
        if number in host.operators:
            cluster = replace(cluster, removal=removal_answered(cluster.removal, voter, number, response))
        elif number in host.waiting:
            envelope = host.waiting[number]
            cluster = answered(cluster, envelope, response)
        else:
            raise AssertionError("a call is answered that does not wait for an answer")
    return cluster


def removal_answered(removal: Removal | None, voter: int, call: int, response: Response) -> Removal | None:
    """The state of the last removal that an operator asked for, once one of them is answered."""
    if removal is None or (removal.voter, removal.call) != (voter, call):
        return removal
    return replace(removal, call=None, is_answered=response.error == ErrorCode.NONE)


def without(envelopes: tuple[Envelope, ...], one: Envelope) -> tuple[Envelope, ...]:
    """These envelopes without that one; of two that are alike, only one goes."""
    at = next((number for number, envelope in enumerate(envelopes) if envelope is one), len(envelopes))
    return (*envelopes[:at], *envelopes[at + 1 :])


# Requests of brokers.


def handle_lifecycle(cluster: Cluster, envelope: Envelope) -> Cluster:
    """A registration or heartbeat lands."""
    before = awaited_offsets(cluster.controllers[envelope.to].core, envelope.request.broker_id)
    cluster = replace(cluster, lifecycle=without(cluster.lifecycle, envelope), records=owed(cluster, envelope))
    after = landed(cluster, envelope)
    begun = awaited_offsets(after.controllers[envelope.to].core, envelope.request.broker_id) - before
    if not begun or after.is_quorum:  # of several controllers the history has them
        return after
    return replace(after, marks=(*after.marks, *sorted(begun)))


def awaited_offsets(core: ControllerCore, broker_id: int) -> set[int]:
    """The offsets that a controller waits for because of a broker: of its shutdown, of its amended registration."""
    found = core.sessions.shutdown_offset(broker_id), amended(core).get(broker_id)
    return {offset for offset in found if offset is not None}


def owed(cluster: Cluster, envelope: Envelope) -> tuple[str, ...]:
    """The cluster's debt to the producer once an incarnation is registered.

    Where the last member of the ISR comes back from a disk without the record, the record is lost by design.
    """
    request, controller = envelope.request, cluster.controllers[envelope.to]
    if not isinstance(request, BrokerRegistrationRequest):
        return cluster.records
    holder = controller.image.registrations.get(request.broker_id)
    repeated = holder is not None and holder.incarnation_id == request.incarnation_id
    if repeated or controller.core.has_valid_session(request.broker_id, controller.now_ms):
        return cluster.records
    return tuple(
        "FORFEITED" if status != UNWRITTEN and is_lost_with(cluster, envelope, p) else status
        for p, status in enumerate(cluster.records)
    )


def is_lost_with(cluster: Cluster, envelope: Envelope, p: int) -> bool:
    """The sender is the last member of the ISR, and does not have the record."""
    topic = cluster.topic
    if topic is None or cluster.committed.partitions[topic, p].isr != (cluster.shape.node_ids[envelope.sender],):
        return False
    host = cluster.processes[envelope.sender]
    log = (host.disk if host.core is None else host.broker.logs).get((topic, p))
    return log is None or log.end_offset == 0


def handle_alter_isr(cluster: Cluster, envelope: Envelope) -> Cluster:
    """An AlterPartition request lands."""
    return landed(replace(cluster, alterations=without(cluster.alterations, envelope)), envelope)


# Leases.


def expire_lease(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """A lease runs out: time passes, in which all others whose lease runs are heard of.

    Timers of fenced brokers fire.
    """
    voter, broker = arguments["voter"].index, arguments["broker"].index
    host = cluster.controllers[voter]
    if host.is_unheard:
        return cluster
    return without_spent_timers(with_decided(cluster, voter, expired(host, broker, written_in(cluster))), voter)


@recalled
def expired(host: ControllerHost, broker: int, written: int | None) -> Decided:
    """A controller once a lease has run out, and no other one. written: as `written_in`."""
    before, batches = host, tuple[Batch, ...]()
    for id_, registration in sorted(before.core.speculative.registrations.items()):
        if id_ != broker and before.core.has_valid_session(id_, before.now_ms):
            again = renewal(before.core, id_, registration.incarnation_id)
            so_far = None if written is None else written + len(batches)
            host, more, _ = deciding(host, again, before.now_ms + 1, so_far)
            batches += more
    return Decided(replace(host, now_ms=before.now_ms + SESSION_TIMEOUT_MS), batches, {})


def renewal(core: ControllerCore, broker_id: int, incarnation: UUID) -> Callable[[ControllerCore, int], Effects]:
    """A controller hears of an unfenced broker, and does nothing else: it registers again, if that renews its lease."""
    if is_kafkas(core):
        return Call("heard_of", (broker_id,))
    return handling(registration_request(broker_id, incarnation))


def without_spent_timers(cluster: Cluster, voter: int) -> Cluster:
    """Lease timers that are due fire, but those of brokers whose lease has run out, which wait to be fenced."""
    host = cluster.controllers[voter]
    for timer, at_ms in list(host.timers.items()):
        if timer[0] == "lease" and at_ms <= host.now_ms and not awaits_fencing(host, host.image, timer[1]):
            cluster = fire(cluster, voter, timer)
    return cluster


def awaits_fencing(host: ControllerHost, image: Image, broker: int | str) -> bool:
    registration = image.registrations.get(int(broker))
    unfenced = registration is not None and not registration.fenced
    return unfenced and not host.core.has_valid_session(int(broker), host.now_ms)


def fence_expired(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return fence(cluster, arguments["voter"].index, arguments["broker"].index)


def fence_two_expired(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """In two decisions: the implementation fences one broker in each."""
    first = fence(cluster, arguments["voter"].index, arguments["first"].index)
    return first if isinstance(first, Refusal) else fence(first, arguments["voter"].index, arguments["second"].index)


def fence(cluster: Cluster, voter: int, broker: int) -> Cluster | Refusal:
    """The controller looks after a lease. When it is to do that, of a broker that is fenced, decides nothing."""
    host = cluster.controllers[voter]
    if host.is_unheard:
        return cluster
    at_ms = host.timers.get(lease_timer(broker))
    if at_ms is None or at_ms > host.now_ms:
        registration = host.image.registrations.get(broker)
        is_fenced = registration is not None and registration.fenced
        return cluster if is_fenced else Refusal("it does not look after this lease now")
    return fire(cluster, voter, lease_timer(broker))


def fail_over(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """Another controller, which has replayed all that is committed, claims the active role."""
    voter = arguments["voter"].index
    host = cluster.controllers[voter]
    assert host.core.epoch is not None
    epoch = host.core.epoch + 1
    cluster = cluster.with_controller(voter, in_its_place(cluster.shape, host, cluster.log, epoch))
    return decide(cluster, voter, Call("claim", (epoch,)))[0]


@recalled
def in_its_place(shape: Shape, host: ControllerHost, log: Log, epoch: int) -> ControllerHost:
    """Another controller, which has replayed the log."""
    core = shape.controller()
    for batch in log.batches:
        core.replay(batch)
    return ControllerHost(core, host.image, {}, host.now_ms, epoch)


def grow_log(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    voter = arguments["voter"].index
    if NO_OP_TIMER not in cluster.controllers[voter].timers:
        return Refusal("it has set itself no timer")
    cluster = fire(cluster, voter, NO_OP_TIMER)
    return replace(cluster, marks=(*cluster.marks, cluster.committed.offset))


# Requests of operators.


def ask(cluster: Cluster, arguments: Arguments, request: Request) -> Cluster | Refusal:
    """The cluster after an operator's request, unless it is refused at once."""
    voter = arguments["voter"].index
    if cluster.controllers[voter].is_lost:
        return cluster
    after, replies = decide(cluster, voter, handling(request))
    assert replies or cluster.is_quorum, "one that is alone answers at once"
    return refusal_in(replies) or after


def refusal_in(replies: Mapping[int, Response]) -> Refusal | None:
    """The error in the reply to an operator, if there is one."""
    errors = (response.error for response in replies.values() if response.error != ErrorCode.NONE)
    return next((Refusal(error.name) for error in errors), None)


def reassign(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    target = tuple(broker.index for broker in arguments["target"])
    return ask(cluster, arguments, AlterPartitionReassignmentRequest(TOPIC, arguments["p"].index, target))


def cancel_reassignment(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return ask(cluster, arguments, AlterPartitionReassignmentRequest(TOPIC, arguments["p"].index, None))


def elect_preferred(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return ask(cluster, arguments, ElectPreferredLeaderRequest(TOPIC, arguments["p"].index))


def create_topic(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """All registered brokers become replicas, in the order that is asked for."""
    registered = cluster.controllers[arguments["voter"].index].image.registrations
    order = tuple(broker.index for broker in arguments["order"] if broker.index in registered)
    request = CreateTopicRequest(TOPIC, topic_id(cluster.topics), assignments=(order,) * cluster.shape.partitions)
    after = ask(cluster, arguments, request)
    return after if isinstance(after, Refusal) else replace(after, topics=cluster.topics + 1)


def remove(cluster: Cluster, arguments: Arguments, request: Request) -> Cluster | Refusal:
    """The cluster after an operator's request for a removal. With several controllers, the operator waits."""
    if not cluster.is_quorum:
        return ask(cluster, arguments, request)
    voter = arguments["voter"].index
    host = cluster.controllers[voter]
    if host.is_unheard or (host.is_lost and isinstance(request, DeleteTopicRequest)):
        return replace(cluster, removal=Removal(voter, None))
    cluster = replace(cluster, removal=Removal(voter, host.made))
    after, replies = decide(cluster, voter, handling(request, host.made), host=with_operator(host))
    return refusal_in(replies) or released(after, voter, replies)


def confirm_removal(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """The reply to the operator arrives."""
    removal = cluster.removal
    if removal is None or removal.voter != arguments["voter"].index or not removal.is_answered or removal.is_confirmed:
        return Refusal("no reply is under way to the operator")
    return replace(cluster, removal=replace(removal, is_confirmed=True))


def list_reassignment(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    """An operator asks about one partition, and has the answer at once."""
    p = arguments["p"].index
    cluster, replies = decide(
        cluster, arguments["voter"].index, handling(ListPartitionReassignmentsRequest(partitions=((TOPIC, p),)))
    )
    listed = replies[CALL]
    assert isinstance(listed, ListPartitionReassignmentsResponse)
    return replace(cluster, listing=(p, bool(listed.reassignments)))


def delete_topic(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    after = remove(cluster, arguments, DeleteTopicRequest(name=TOPIC))
    return after if isinstance(after, Refusal) else replace(after, records=(UNWRITTEN,) * len(after.records))


def unregister(cluster: Cluster, arguments: Arguments, _: Any) -> Cluster | Refusal:
    return remove(cluster, arguments, UnregisterBrokerRequest(arguments["broker"].index))
