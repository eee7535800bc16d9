"""A state of the spec seen from outside: every part of it that the implementation is to show.

Left out: histories of the spec (who served first, what was last asked for), its budgets, what a leader keeps of its
image (candidates, the newest registration), and who stands between a broker and an offset without being active.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from checker.conform.system import Ordinal
from impl.adapters.kraft.views import (
    AlterIsrReplyView,
    AlterIsrView,
    BatchView,
    ClusterView,
    ControllerView,
    DeltaView,
    HeartbeatReplyView,
    HeartbeatView,
    LeadershipView,
    MetadataView,
    PartitionView,
    ProcessView,
    RegisterReplyView,
    RegisterView,
    RegistrationView,
    RemovedView,
    ReplicaView,
    ShutdownView,
    StableView,
    bag,
    leader_epoch,
    partition_epoch,
)

NONE = "NONE"
T = TypeVar("T")


def expect(state: Any) -> ClusterView:
    """The view that the implementation is to show where the spec is in this state."""
    return ClusterView(
        controllers=tuple(controller(one, committed(state).topic) for one in state.controllers.values()),
        committed=stable(state.stable[0]) if state.stable else None,
        snapshot=metadata(state.snapshots[0].image) if state.snapshots else None,
        processes=tuple(seen(process, one) for one in state.processes.values()),
        lifecycle=bag([lifecycle_request(request) for request in state.lifecycle]),
        alterations=bag([alter_isr(request) for request in state.alterations]),
        records=tuple(status.name for status in state.produced.values()),
        removal=state.last_removal[0].is_confirmed if state.last_removal else None,
        listing=listing(state.last_listing[0]) if state.last_listing else None,
        answer=(state.answer[0].answerer.index, numbers(state.answer[0].brokers)) if state.answer else None,
    )


SEEN: dict[tuple[int, Any, Any], tuple[Any, Any]] = {}
MOST_SEEN = 1 << 11  # beyond it all are forgotten


def seen(view: Callable[..., T], one: Any, *beside: Any) -> T:
    """The view of a part of a state, which many states share as one object. beside: ordinals on which it depends."""
    key = id(one), view, tuple(None if other is None else other.value for other in beside)
    found = SEEN.get(key)
    if found is None:
        if len(SEEN) > MOST_SEEN:
            SEEN.clear()
        found = SEEN[key] = one, view(one, *beside)  # kept with it, so that nothing else gets its id
    made: T = found[1]
    return made


def listing(one: Any) -> tuple[int, bool]:
    return one.partition.index, one.under_way


def stable(one: Any) -> StableView:
    return StableView(metadata(one.image), ordinal(one.epoch))


def committed(state: Any) -> Any:
    """The metadata that is committed in the spec."""
    return state.stable[0].image if state.stable else next(iter(state.controllers.values())).image


def ordinal(value: Any) -> Ordinal:
    return Ordinal(type(value).__name__, value.value)


def optional(value: Any) -> Ordinal | None:
    return None if value is None else Ordinal(type(value).__name__, value.value)


def numbers(identities: Any) -> tuple[int, ...]:
    """A set of identities."""
    return tuple(sorted(one.index for one in identities))


def ordered(identities: Any) -> tuple[int, ...]:
    return tuple(one.index for one in identities)


# Controllers.


def controller(one: Any, topic: Any) -> ControllerView:
    """topic: what is committed. Of one whose log can never commit, nothing is shown of what is in it."""
    return seen(controller_view, one, topic)


def controller_view(one: Any, topic: Any) -> ControllerView:
    is_lost = one.role.name != "STANDBY" and one.lags_since is not None and len(one.log) > 0
    return ControllerView(
        role=one.role.name,
        epoch=ordinal(one.epoch),
        image=nothing(one.image) if is_lost else metadata(one.image),
        expired_leases=() if is_lost else numbers(one.expired_leases),
        shutdowns=tuple(None if is_lost else shutdown(begun, one.image) for begun in one.shutdowns.values()),
        lags_since=optional(one.lags_since),
        log=() if is_lost else batches(one.log, topic),
    )


def nothing(image: Any) -> MetadataView:
    return MetadataView((None,) * len(image.registrations), None, (None,) * len(image.partitions), None)


def batches(log: Any, topic: Any) -> tuple[BatchView, ...]:
    """Batches that follow on an image with this topic."""
    views = []
    for written in log:
        delta = written.delta
        topic = topic if delta.topic is None else delta.topic
        registrations = tuple(registration(one) for one in delta.registrations.values())
        partitions = tuple(partition(p, one, topic) for p, one in delta.partitions.items())
        shown = DeltaView(removed(delta), registrations, optional(delta.topic), partitions)
        views.append(BatchView(ordinal(written.epoch), shown))
    return tuple(views)


def removed(delta: Any) -> RemovedView | None:
    return RemovedView(delta.removals[0].topic, numbers(delta.removals[0].registrations)) if delta.removals else None


def metadata(image: Any) -> MetadataView:
    return MetadataView(
        registrations=tuple(registration(one) for one in image.registrations.values()),
        topic=optional(image.topic),
        partitions=tuple(partition(p, one, image.topic) for p, one in image.partitions.items()),
        offset=optional(image.offset),
    )


def registration(one: Any) -> RegistrationView | None:
    if one is None:
        return None
    return RegistrationView(
        ordinal(one.incarnation), ordinal(one.broker_epoch), one.fenced, one.in_controlled_shutdown, is_described=True
    )


def partition(p: Any, one: Any, topic: Any) -> PartitionView | None:
    if one is None:
        return None
    return PartitionView(
        replicas=ordered(one.replicas),
        isr=numbers(one.isr),
        leader=None if one.leader is None else one.leader.index,
        leader_epoch=leader_epoch(topic.value, p.index, one.leader_epoch.value),
        partition_epoch=partition_epoch(topic.value, p.index, one.partition_epoch.value),
        adding=ordered(one.adding),
        removing=ordered(one.removing),
    )


def shutdown(begun: Any, image: Any) -> ShutdownView | None:
    if begun is None:
        return None
    behind = (broker for broker in begun.lagging if is_active(image.registrations[broker]))
    return ShutdownView(ordinal(begun.offset), numbers(behind))


def is_active(one: Any) -> bool:
    return one is not None and not one.fenced and not one.in_controlled_shutdown


# Processes.


def process(one: Any) -> ProcessView:
    return ProcessView(
        state=one.state.name,
        incarnation=optional(one.incarnation),
        broker_epoch=optional(one.broker_epoch),
        controller=one.controller.index,
        reply=reply(one),
        wants_fence=one.wants_fence,
        caught_up=one.caught_up,
        applied=optional(one.applied) if one.caught_up else None,
        reach=one.reach,
        lacks=tuple(one.lacks.values()),
        replicas=tuple(replica(p, held) for p, held in one.replicas.items()),
    )


def reply(one: Any) -> RegisterReplyView | HeartbeatReplyView | None:
    answer = one.reply
    if answer is None or waits(one.deferral):
        return None
    if hasattr(answer, "should_shut_down"):
        return HeartbeatReplyView(answer.error.name, answer.is_fenced, answer.should_shut_down)
    return RegisterReplyView(answer.error.name, optional(answer.broker_epoch))


def waits(deferral: Any) -> bool:
    """A controller keeps the reply until more is committed: nobody has seen it."""
    return any(deferral.values())


def replica(p: Any, held: Any) -> ReplicaView:
    topic, epoch = held.topic.value, held.leader_epoch
    led = held.leadership
    answer = None if led is None or led.reply is None or waits(held.deferral) else alter_isr_reply(p, topic, led.reply)
    return ReplicaView(
        topic=ordinal(held.topic) if epoch is not None or held.has_record else None,
        leader_epoch=None if epoch is None else leader_epoch(topic, p.index, epoch.value),
        leadership=None if led is None else leadership(p, topic, led),
        reply=answer,
        high_watermark=held.high_watermark and epoch is not None,
        has_record=held.has_record,
    )


def leadership(p: Any, topic: int, led: Any) -> LeadershipView:
    asked, added_epoch = None, None
    if led.pending_change is not None:
        member, added_epoch = {led.pending_change.member}, led.pending_change.epoch
        asked = numbers(led.isr - member if added_epoch is None else led.isr | member)
    return LeadershipView(
        partition_epoch=partition_epoch(topic, p.index, led.partition_epoch.value),
        isr=numbers(led.isr),
        pending_change=asked,
        added_epoch=optional(added_epoch),
        replicas_with_record=numbers(led.replicas_with_record),
        starts_with_record=led.starts_with_record,
    )


def alter_isr_reply(p: Any, topic: int, answer: Any) -> AlterIsrReplyView:
    if answer.error.name != NONE:
        return AlterIsrReplyView(answer.error.name, False, None, ())
    return AlterIsrReplyView(
        error=NONE,
        at_new_leader_epoch=answer.at_new_leader_epoch,
        partition_epoch=partition_epoch(topic, p.index, answer.partition_epoch.value),
        isr=numbers(answer.isr),
    )


# Requests under way.


def lifecycle_request(request: Any) -> RegisterView | HeartbeatView:
    if hasattr(request, "incarnation"):
        incarnation = ordinal(request.incarnation)
        return RegisterView(request.sender.index, incarnation, request.late, request.to.index, is_described=True)
    return HeartbeatView(
        sender=request.sender.index,
        is_own=True,
        broker_epoch=ordinal(request.broker_epoch),
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
        offline_log_dirs=(),
        caught_up=request.caught_up,
        applied=optional(request.applied) if request.caught_up else None,
        lacks=request.lacks,
        late=request.late,
        to=request.to.index,
    )


def alter_isr(request: Any) -> AlterIsrView:
    topic, p = request.topic.value, request.partition.index
    return AlterIsrView(
        sender=request.sender.index,
        broker_epoch=ordinal(request.broker_epoch),
        topic=ordinal(request.topic),
        partition=p,
        leader_epoch=leader_epoch(topic, p, request.leader_epoch.value),
        partition_epoch=partition_epoch(topic, p, request.partition_epoch.value),
        isr=numbers(request.isr),
        added_epoch=optional(request.added_epoch),
        late=request.late,
        to=request.to.index,
    )
