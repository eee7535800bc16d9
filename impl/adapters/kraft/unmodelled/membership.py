"""Registrations, as far as the spec leaves them out; features; a controller that is not active; timers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from impl.adapters.kraft.cluster import CLUSTER_ID, FEATURES, ControllerHost, registration_request
from impl.adapters.kraft.unmodelled.asking import CALL, Asking, DocumentError
from impl.kraft.controller import NO_OP_TIMER, lease_timer
from impl.kraft.effects import Append, Effects, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreatePartitionsRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    Request,
    UnregisterBrokerRequest,
    UpdateFeatureRequest,
)
from impl.kraft.records import (
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    SupportedFeature,
    UnregisterBrokerRecord,
)

NEW_ID, NEW_INCARNATION, ELSEWHERE = 100, UUID(int=1 << 100), "another cluster"
Make = Callable[[], Asking]


def registrations(make: Make) -> None:
    """Cluster id, then the id's holder, then features: the checks in this order (KIP-631, Broker Registration)."""
    for broker_id, held in make().image.registrations.items():
        own = registration_request(broker_id, held.incarnation_id)
        other = registration_request(broker_id, NEW_INCARNATION)
        for request in (own, other):
            make().wants(replace(request, cluster_id=ELSEWHERE, features=()), ErrorCode.INCONSISTENT_CLUSTER_ID)
        asking = make()
        asking.wants(UpdateFeatureRequest("feature", 3), ErrorCode.NONE, (FeatureLevelRecord("feature", 3, 3),))
        is_taken = asking.core.has_valid_session(broker_id, asking.now_ms)
        old = (SupportedFeature("feature", 0, 2),)
        for features in ((), old, (SupportedFeature("feature", 4, 5),), (SupportedFeature("other", 0, 5),)):
            error = ErrorCode.DUPLICATE_BROKER_REGISTRATION if is_taken else ErrorCode.UNSUPPORTED_VERSION
            asking.wants(replace(other, features=features), error)
        again = asking.wants(replace(own, features=()), ErrorCode.NONE)
        asking.require(again == BrokerRegistrationResponse(ErrorCode.NONE, held.broker_epoch), "the epoch is the same")
    a_new_id(make)


def a_new_id(make: Make) -> None:
    """A broker with all that a registration can say."""
    asking, request = make(), registration_request(NEW_ID, NEW_INCARNATION)
    asking.wants(replace(request, broker_id=-1), ErrorCode.INVALID_REQUEST)
    asking.wants(UnregisterBrokerRequest(NEW_ID), ErrorCode.BROKER_ID_NOT_REGISTERED)
    asking.wants(BrokerHeartbeatRequest(NEW_ID, 0, 0, False, False), ErrorCode.STALE_BROKER_EPOCH)
    offset = asking.image.offset + 1
    record = RegisterBrokerRecord(NEW_ID, NEW_INCARNATION, offset, request.listeners, FEATURES, request.rack)
    response = asking.wants(request, ErrorCode.NONE, (record,))
    asking.require(response == BrokerRegistrationResponse(ErrorCode.NONE, offset), "the epoch is that of the record")
    asking.wants(UnregisterBrokerRequest(NEW_ID), ErrorCode.NONE, (UnregisterBrokerRecord(NEW_ID, offset),))
    asking.wants(UnregisterBrokerRequest(NEW_ID), ErrorCode.BROKER_ID_NOT_REGISTERED)


def features(make: Make) -> None:
    """A level is finalized if the controller and all brokers support it, and lowered if that is allowed (KIP-584)."""
    asking = make()
    refused = ErrorCode.INVALID_UPDATE_VERSION
    for name, level in (("feature", 6), ("feature", -1), ("unknown", 1), ("metadata.version", 21)):
        asking.wants(UpdateFeatureRequest(name, level), refused)
    asking.wants(UpdateFeatureRequest("feature", -1, allow_downgrade=True), refused)
    asking.wants(UpdateFeatureRequest("unknown", 0), ErrorCode.NONE)
    asking.wants(UpdateFeatureRequest("feature", 3), ErrorCode.NONE, (FeatureLevelRecord("feature", 3, 3),))
    asking.wants(UpdateFeatureRequest("feature", 3), ErrorCode.NONE)
    asking.wants(UpdateFeatureRequest("feature", 2), refused)
    asking.wants(UpdateFeatureRequest("feature", 0), refused)
    asking.wants(UpdateFeatureRequest("feature", 4, allow_downgrade=True), refused)
    lower = UpdateFeatureRequest("feature", 2, allow_downgrade=True)
    asking.wants(replace(lower, validate_only=True), ErrorCode.NONE)
    asking.wants(lower, ErrorCode.NONE, (FeatureLevelRecord("feature", 2, 2),))
    little = replace(registration_request(NEW_ID, NEW_INCARNATION), features=(SupportedFeature("feature", 1, 2),))
    asking.wants(little, ErrorCode.NONE, None)
    asking.wants(UpdateFeatureRequest("feature", 3), refused)
    remove = UpdateFeatureRequest("feature", 0, allow_downgrade=True)
    asking.wants(remove, ErrorCode.NONE, (FeatureLevelRecord("feature", 0, 0),))
    metadata_levels(make())


def metadata_levels(asking: Asking) -> None:
    """The level of metadata is never removed, and lowered only where no level between has metadata of its own."""
    refused = ErrorCode.INVALID_UPDATE_VERSION
    for level, lower_level, is_lowered in ((7, 0, False), (10, 9, True), (11, 9, False), (12, 11, True)):
        asking.wants(UpdateFeatureRequest("metadata.version", level), ErrorCode.NONE, None)
        lower = UpdateFeatureRequest("metadata.version", lower_level, allow_downgrade=True)
        asking.wants(lower, ErrorCode.NONE if is_lowered else refused, None)


def producer_ids(make: Make) -> None:
    """A broker that is registered gets ids that nobody has, and another one none (KIP-730)."""
    for broker_id, held in make().image.registrations.items():
        asking, epoch = make(), held.broker_epoch
        asking.wants(AllocateProducerIdsRequest(broker_id, epoch + 1), ErrorCode.STALE_BROKER_EPOCH)
        for start in (0, 1_000):
            record = ProducerIdsRecord(broker_id, epoch, start + 1_000)
            found = asking.wants(AllocateProducerIdsRequest(broker_id, epoch), ErrorCode.NONE, (record,))
            wanted = AllocateProducerIdsResponse(ErrorCode.NONE, start, 1_000)
            asking.require(found == wanted, f"the next ids are {wanted}, not {found}")
    make().wants(AllocateProducerIdsRequest(NEW_ID, 0), ErrorCode.STALE_BROKER_EPOCH)


def timers(make: Make) -> None:
    """The log grows when nothing else makes it grow (KIP-835); nobody has the lease of an unknown broker."""
    asking = make()
    end, idle_ms = asking.image.offset + 1, 500
    effects = asking.core.on_timer(NO_OP_TIMER, asking.now_ms)
    written = [one.batch for one in effects if isinstance(one, Append)]
    asking.require([one.records for one in written] == [(NoOpRecord(),)] and written[0].base_offset == end,
                   f"the timer of an idle log makes {effects}")  # fmt: skip
    asking.require(SetTimer(NO_OP_TIMER, asking.now_ms + idle_ms) in effects, "the timer of an idle log is set again")
    asking.require(make().core.on_timer(lease_timer(NEW_ID), asking.now_ms) == [], "nobody has this lease")
    for broker_id, held in make().image.registrations.items():
        if held.fenced:
            found = make().core.on_timer(lease_timer(broker_id), asking.now_ms)
            asking.require(found == [], f"broker {broker_id} is fenced already: {found}")


REQUESTS: tuple[Request, ...] = (
    BrokerRegistrationRequest(0, CLUSTER_ID, NEW_INCARNATION),
    BrokerRegistrationRequest(0, ELSEWHERE, NEW_INCARNATION),
    BrokerHeartbeatRequest(0, 0, 0, False, False),
    BrokerHeartbeatRequest(0, 0, 1 << 20, False, True),
    UnregisterBrokerRequest(0),
    AlterPartitionRequest(0, 0, UUID(int=1), 0, 0, 0, ()),
    AlterPartitionReassignmentRequest("topic", 0, (0,)),
    ListPartitionReassignmentsRequest(),
    CreateTopicRequest("another", UUID(int=1 << 90)),
    CreatePartitionsRequest("topic", 2),
    DeleteTopicRequest(name="topic"),
    ElectPreferredLeaderRequest("topic", 0),
    AlterConfigsRequest.of_one(2, "topic", "min.insync.replicas", "1"),
    UpdateFeatureRequest("feature", 1),
    AllocateProducerIdsRequest(0, 0),
)


def standby(host: ControllerHost) -> None:
    """A controller that is not active refuses all requests, remembers nothing of them, and does nothing by itself."""
    core = host.core.copy()
    for request in REQUESTS:
        effects: Effects = core.handle(CALL, request, host.now_ms)
        match effects:
            case [Reply(call, response)] if call == CALL and response.error is ErrorCode.NOT_CONTROLLER:
                pass
            case _:
                raise DocumentError(f"a standby does {effects} on {request}")
    done = [*core.on_timer(NO_OP_TIMER, host.now_ms), *core.on_timer(lease_timer(0), host.now_ms)]
    remembered = len(core.sessions.of_broker) + len(core.waiting)
    if done or remembered:
        raise DocumentError(f"a standby does {done}, and remembers {remembered} brokers or calls")
