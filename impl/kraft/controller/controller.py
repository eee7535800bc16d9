"""The controller as a runtime drives it: what is appended, replayed, committed and answered, and when.

KIP-631, Persistence and Visibility; Broker Leases; Controller Failover.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from impl.kraft.continuity import check_batches
from impl.kraft.controller.access import alter_scram, create_acl, delete_acls
from impl.kraft.controller.balancing import balanced, elected_uncleanly
from impl.kraft.controller.configs import alter_configs
from impl.kraft.controller.decision import Decision
from impl.kraft.controller.directories import assign_directories
from impl.kraft.controller.features import update_feature
from impl.kraft.controller.fencing import fenced
from impl.kraft.controller.heartbeat import heartbeat
from impl.kraft.controller.isr import alter_partition
from impl.kraft.controller.limits import OF_A_BROKER, BatchBytes, in_one_batch
from impl.kraft.controller.producer_ids import allocate_producer_ids
from impl.kraft.controller.quotas import alter_quotas
from impl.kraft.controller.reassignment import (
    alter_reassignment,
    elect_preferred,
    elect_unclean_leader,
    list_reassignments,
)
from impl.kraft.controller.registration import register, register_controller, unregister
from impl.kraft.controller.sessions import Sessions
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.controller.topics import create_partitions, create_topic, delete_topic
from impl.kraft.effects import Append, Effects, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import Int32, Int64, check, check_as, shown
from impl.kraft.image import Image
from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    CreateAclRequest,
    CreateAclResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    ElectUncleanLeaderRequest,
    ElectUncleanLeaderResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    Request,
    Response,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeatureRequest,
    UpdateFeatureResponse,
    ValidatedRequest,
    WriteRequest,
)
from impl.kraft.records import AbortTransactionRecord, Batch, NoOpRecord, Record, UnfenceBrokerRecord
from impl.kraft.snapshot import Snapshot, load_snapshot, write_snapshot

Timer = tuple[str | int, ...]
NO_OP_TIMER: Timer = ("no-op",)
BALANCE_TIMER: Timer = ("balance",)
UNCLEAN_TIMER: Timer = ("unclean elections",)

RESPONSES: dict[type, Callable[[ErrorCode], Response]] = {
    BrokerRegistrationRequest: BrokerRegistrationResponse,
    BrokerHeartbeatRequest: BrokerHeartbeatResponse,
    UnregisterBrokerRequest: UnregisterBrokerResponse,
    AlterPartitionRequest: AlterPartitionResponse,
    AlterPartitionReassignmentRequest: AlterPartitionReassignmentResponse,
    ListPartitionReassignmentsRequest: ListPartitionReassignmentsResponse,
    CreateTopicRequest: CreateTopicResponse,
    CreatePartitionsRequest: CreatePartitionsResponse,
    DeleteTopicRequest: DeleteTopicResponse,
    ElectPreferredLeaderRequest: ElectPreferredLeaderResponse,
    ElectUncleanLeaderRequest: ElectUncleanLeaderResponse,
    AssignReplicasToDirsRequest: AssignReplicasToDirsResponse,
    ControllerRegistrationRequest: ControllerRegistrationResponse,
    AlterConfigsRequest: AlterConfigsResponse,
    UpdateFeatureRequest: UpdateFeatureResponse,
    AllocateProducerIdsRequest: AllocateProducerIdsResponse,
    CreateAclRequest: CreateAclResponse,
    DeleteAclsRequest: DeleteAclsResponse,
    AlterUserScramCredentialsRequest: AlterUserScramCredentialsResponse,
    AlterClientQuotasRequest: AlterClientQuotasResponse,
}


def check_request(request: Request) -> None:
    """Raises InvalidFieldError for what no wire could carry."""
    check("request", request, *RESPONSES)


def lease_timer(broker_id: int) -> Timer:
    """The timer at which the controller looks whether a broker's lease has run out."""
    return ("lease", broker_id)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A response that rests on the log up to `offset`, inclusive."""

    offset: int
    call: int
    response: Response


class Controller:
    """A controller of the metadata quorum: a standby, until it claims the active role.

    committed: the image of what is committed. speculative: the image of the whole log, from which an active
    controller decides; a standby's is the committed one. waiting: responses that rest on what is not committed. All
    are to be read only. batch_bytes: how large a batch of records is in the log, set by who has a log of bytes.
    """

    def __init__(self, settings: ControllerSettings) -> None:
        check("settings", settings, ControllerSettings)
        self.settings = settings
        self.committed = Image()
        self.speculative = self.committed
        self.epoch: int | None = None
        self.sessions = Sessions(settings.session_timeout_ms)
        self._pending: deque[Batch] = deque()
        self.waiting: deque[Waiting] = deque()
        self.batch_bytes: BatchBytes | None = None

    @classmethod
    def load(cls, settings: ControllerSettings, snapshot: Snapshot) -> Controller:
        """A standby that has what a snapshot stands for."""
        controller = cls(settings)
        controller.committed = controller.speculative = load_snapshot(snapshot)
        return controller

    def snapshot(self) -> Snapshot:
        """The snapshot of what is committed."""
        return write_snapshot(self.committed)

    def copy(self) -> Controller:
        """A controller in the same state, which goes its own way from now on."""
        other = Controller.__new__(Controller)
        other.settings, other.epoch = self.settings, self.epoch
        other.committed = self.committed.copy()
        other.speculative = self.speculative.copy() if self.is_active else other.committed
        other.sessions = self.sessions.copy()
        other._pending, other.waiting = self._pending.copy(), self.waiting.copy()
        other.batch_bytes = self.batch_bytes
        return other

    @property
    def is_active(self) -> bool:
        return self.epoch is not None

    def has_valid_session(self, broker_id: int, now_ms: int) -> bool:
        """The broker is registered and unfenced, and its lease runs."""
        check_as("broker_id", Int32, broker_id)
        check_as("now_ms", Int64, now_ms)
        registration = self.speculative.registrations.get(broker_id)
        return registration is not None and not registration.fenced and self.sessions.is_valid(broker_id, now_ms)

    # Decisions.

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        """Decide about a request. Its response leaves at once only if all that is in the log is committed.

        What only reads is answered at once, from what is committed. Raises InvalidFieldError for what no wire could
        carry.
        """
        check_request(request)
        check_as("call", Int64, call)
        check_as("now_ms", Int64, now_ms)
        if not self.is_active:
            return [Reply(call, RESPONSES[type(request)](ErrorCode.NOT_CONTROLLER))]
        if isinstance(request, ListPartitionReassignmentsRequest):
            return [Reply(call, list_reassignments(self.committed, request))]
        decision = self._asked_for(request, self._decide(request, now_ms))
        effects = self._append(decision.records)
        if self._pending:
            self.waiting.append(Waiting(self.speculative.offset, call, decision.response))
        else:
            effects.append(Reply(call, decision.response))
        return effects

    def _decide(self, request: WriteRequest, now_ms: int) -> Decision:
        image, settings = self.speculative, self.settings
        match request:
            case BrokerHeartbeatRequest():
                return heartbeat(image, settings, self.sessions, request, now_ms)
            case AlterPartitionRequest():
                return alter_partition(image, settings, request)
            case BrokerRegistrationRequest():
                return register(image, settings, self.sessions, request, now_ms)
            case UnregisterBrokerRequest():
                return unregister(image, settings, self.sessions, request)
            case AlterPartitionReassignmentRequest():
                return alter_reassignment(image, settings, request)
            case ElectPreferredLeaderRequest():
                return elect_preferred(image, settings, request)
            case ElectUncleanLeaderRequest():
                return elect_unclean_leader(image, settings, request)
            case AssignReplicasToDirsRequest():
                return assign_directories(image, settings, request)
            case ControllerRegistrationRequest():
                return register_controller(image, request)
            case CreateTopicRequest():
                return create_topic(image, request)
            case CreatePartitionsRequest():
                return create_partitions(image, request)
            case DeleteTopicRequest():
                return delete_topic(image, request)
            case AlterConfigsRequest():
                return alter_configs(image, request)
            case UpdateFeatureRequest():
                return update_feature(image, settings.supported_features, request)
            case AllocateProducerIdsRequest():
                return allocate_producer_ids(image, request)
            case CreateAclRequest():
                return create_acl(image, request)
            case DeleteAclsRequest():
                return delete_acls(image, request)
            case AlterUserScramCredentialsRequest():
                return alter_scram(image, request)
            case AlterClientQuotasRequest():
                return alter_quotas(image, request)
            case _:
                assert_never(request)

    def _asked_for(self, request: WriteRequest, decision: Decision) -> Decision:
        """The decision, within what one request may ask for, and without records where it is only validated."""
        if not isinstance(request, OF_A_BROKER):
            decision = in_one_batch(decision, self.batch_bytes)
        if isinstance(request, ValidatedRequest) and request.validate_only:
            return Decision(decision.response)
        return decision

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """Look after a lease, elect leaders that are preferred or missing, or let the log grow, to be seen alive."""
        check_as("now_ms", Int64, now_ms)
        match timer:
            case _ if not self.is_active:
                return []
            case ("lease", int(broker_id)):
                return self._check_lease(broker_id, now_ms)
            case ("no-op",):
                return [*self._append((NoOpRecord(),)), self._no_op_timer(now_ms)]
            case ("balance",):
                found = balanced(self.speculative, self.settings)
                again_ms = self.settings.leader_imbalance_check_interval_ms if found.is_done else 0
                return [*self._append(found.records), SetTimer(BALANCE_TIMER, now_ms + again_ms)]
            case ("unclean elections",):
                found = elected_uncleanly(self.speculative, self.settings)
                again_ms = self.settings.unclean_election_check_interval_ms if found.is_done else 0
                return [*self._append(found.records), SetTimer(UNCLEAN_TIMER, now_ms + again_ms)]
            case _:
                raise ValueError(f"a controller sets no timer {shown(timer)}")

    def _check_lease(self, broker_id: int, now_ms: int) -> Effects:
        """Fence a broker whose lease has run out. One decision fences one broker (KAFKA-13173)."""
        registration = self.speculative.registrations.get(broker_id)
        if registration is None or registration.fenced:
            return []
        if self.sessions.is_valid(broker_id, now_ms):
            return [SetTimer(lease_timer(broker_id), self.sessions.end_ms(broker_id))]
        self.sessions.forget(broker_id)
        return self._append(fenced(self.speculative, self.settings, broker_id))

    def _append(self, records: tuple[Record, ...]) -> Effects:
        """Write one batch, if there is anything to write, and replay it. Whom it unfences has a lease from now on."""
        if not records:
            return []
        assert self.epoch is not None
        batch = Batch(self.speculative.offset + 1, self.epoch, records)
        self.speculative.replay(batch)
        self._pending.append(batch)
        effects: Effects = [Append(batch)]
        for record in records:
            if isinstance(record, UnfenceBrokerRecord):
                effects.append(SetTimer(lease_timer(record.broker_id), self.sessions.end_ms(record.broker_id)))
        return effects

    def _no_op_timer(self, now_ms: int) -> SetTimer:
        return SetTimer(NO_OP_TIMER, now_ms + self.settings.max_idle_interval_ms)

    # The log.

    def on_commit(self, offset: int, now_ms: int) -> Effects:
        """All that this active controller has appended below `offset` is committed: replies that rest on it leave."""
        check_as("offset", Int64, offset)
        if self.is_active and offset > self.speculative.offset + 1:
            raise ValueError(f"offset {offset} cannot be committed: the log ends at {self.speculative.offset + 1}")
        while self._pending and self._pending[0].last_offset < offset:
            self.committed.replay(self._pending.popleft())
        replies: Effects = []
        while self.waiting and self.waiting[0].offset < offset:
            waiting = self.waiting.popleft()
            replies.append(Reply(waiting.call, waiting.response))
        return replies

    def replay(self, batch: Batch) -> None:
        """Take over the next committed batch, as a standby. An active controller has its own batches already."""
        if self.is_active:
            raise ValueError("an active controller replays no batch: it has written what is in the log")
        check_batches(self.committed, [batch])
        self.committed.replay(batch)

    # The active role.

    def claim(self, epoch: int, now_ms: int) -> Effects:
        """Become the active controller of an epoch, once all that is in the log was replayed.

        The leases of brokers start again. Unless something of the epoch is in the log, a record is written at once, for
        Raft commits nothing of older epochs until then. A transaction that the last one has left open is aborted.
        """
        check_as("epoch", Int32, epoch)
        check_as("now_ms", Int64, now_ms)
        if self.is_active or epoch < self.committed.epoch:
            raise ValueError(f"epoch {epoch} cannot be claimed in epoch {self.epoch or self.committed.epoch}")
        self.epoch = epoch
        self.speculative = self.committed.copy()
        aborts = () if self.committed.transaction is None else (AbortTransactionRecord("left open"),)
        begins: tuple[Record, ...] = (*aborts, *(() if self.committed.features else self.settings.bootstrap))
        if not begins and self.committed.epoch < epoch:
            begins = (NoOpRecord(),)
        effects = self._append(begins)
        for broker_id, registration in sorted(self.speculative.registrations.items()):
            if not registration.fenced:
                self.sessions.start(broker_id, now_ms)
                effects.append(SetTimer(lease_timer(broker_id), self.sessions.end_ms(broker_id)))
        if self.settings.max_idle_interval_ms > 0:
            effects.append(self._no_op_timer(now_ms))
        if self.settings.leader_imbalance_check_interval_ms > 0:
            effects.append(SetTimer(BALANCE_TIMER, now_ms + self.settings.leader_imbalance_check_interval_ms))
        if self.settings.unclean_election_check_interval_ms > 0:
            effects.append(SetTimer(UNCLEAN_TIMER, now_ms + self.settings.unclean_election_check_interval_ms))
        return effects

    def renounce(self, now_ms: int) -> Effects:
        """Become a standby: forget what is not committed, and all that no log has. Calls that wait are refused."""
        check_as("now_ms", Int64, now_ms)
        refused: Effects = [
            Reply(waiting.call, type(waiting.response)(ErrorCode.NOT_CONTROLLER)) for waiting in self.waiting
        ]
        self.epoch = None
        self.speculative = self.committed
        self.sessions = Sessions(self.settings.session_timeout_ms)
        self._pending.clear()
        self.waiting.clear()
        return refused
