"""Heartbeats: whose count, what state a broker reaches by them, and the answers (Controller Logic).

Heartbeats that arrive while one read of ZooKeeper is under way wait for the next one, which serves them all.
"""

from __future__ import annotations

from impl.heartbeat.design import Design
from impl.heartbeat.effects import Reply
from impl.heartbeat.messages import BrokerState, ErrorCode, MetadataHeartbeatRequest, MetadataHeartbeatResponse
from impl.heartbeat.partitions import Partitions
from impl.heartbeat.registry import Known, Registry
from impl.heartbeat.scripts import Context, Script
from impl.zookeeper import Sync
from impl.zookeeper.election import Office

_TARGETS = frozenset((BrokerState.ACTIVE, BrokerState.STOPPING))


class Heartbeats:
    """Handles the heartbeats of one controller."""

    def __init__(self, context: Context, design: Design, registry: Registry, partitions: Partitions) -> None:
        self.context = context
        self.design = design
        self.registry = registry
        self.partitions = partitions
        self.answers = dict[tuple[int, int, int, int], MetadataHeartbeatResponse]()
        """By broker, incarnation, state and epoch: a broker is given the same answer again and again."""

    def read_fresh(self) -> Script[set[int]]:
        """Bring what is known of registrations up to date. Returns the ids whose registration has changed.

        Watch events come before the answer to the sync: after it, what no watch has fired for is as it was read.
        """
        if not self.design.checks_registration:
            return set()
        yield (Sync(),)
        return (yield from self.registry.refresh())

    def has_to_wait(self, request: MetadataHeartbeatRequest) -> bool:
        """An active broker has yet to acknowledge control requests: its heartbeat is handled after that."""
        known = self.registry.brokers.get(request.broker_id)
        return (
            self.design.grant_is_acknowledged
            and known is not None
            and known.incarnation == request.incarnation_id
            and known.is_counted
            and known.is_owed
        )

    def handle(self, office: Office, call: int, request: MetadataHeartbeatRequest) -> bool:
        """Answer one. Returns whether the state of a broker is another one now."""
        code = self._judge(office, request)
        if code is not ErrorCode.NONE:
            self._refuse(office, call, request, code)
            return False
        broker, incarnation = request.broker_id, request.incarnation_id
        known = self.registry.brokers.get(broker)
        if known is not None and known.incarnation == incarnation:
            return self._go_by(office, call, request, known)
        if known is not None and self.registry.has_a_lease(known) and self.design.supersedes_after_lease:
            self._reply(call, office, request, BrokerState.INITIAL)  # until the lease of the lower one is over
            return False
        known, changed = self.registry.adopt(broker, incarnation, fences=self.design.bounce_fences, cause="heartbeat")
        if known.incarnation == incarnation:
            return self._go_by(office, call, request, known) or changed
        self._reply(call, office, request, BrokerState.INITIAL)  # INACTIVE would be leave to exit, and it may lead
        return changed

    def _judge(self, office: Office, request: MetadataHeartbeatRequest) -> ErrorCode:
        if request.broker_id < 0 or request.target_state not in _TARGETS:
            return ErrorCode.INVALID_REQUEST
        if self.design.controller_epoch_in_heartbeat and request.controller_epoch > office.epoch:
            return ErrorCode.NOT_CONTROLLER
        known = self.registry.brokers.get(request.broker_id)
        if known is not None and request.incarnation_id < known.incarnation:
            return ErrorCode.INVALID_INCARNATION_ID
        if self.design.checks_registration:
            registered = self.registry.registered.get(request.broker_id)
            if registered is None or registered.czxid != request.incarnation_id:
                return ErrorCode.INVALID_INCARNATION_ID
        return ErrorCode.NONE

    def _go_by(self, office: Office, call: int, request: MetadataHeartbeatRequest, known: Known) -> bool:
        """A heartbeat of the incarnation that the controller goes by. Returns whether its state is another one now."""
        broker, before = request.broker_id, known.state
        after = self._reached(broker, known, request.target_state)
        known.contact_ms = self.context.now_ms
        self.registry.set_state(broker, after, cause="heartbeat")
        if known.is_counted:
            self.registry.renew(broker)
        leaves = (
            request.target_state == BrokerState.STOPPING
            and before >= BrokerState.ACTIVE
            and after is BrokerState.INACTIVE
        )
        self._reply(call, office, request, BrokerState.STOPPING if leaves else after)
        return after is not before

    def _reached(self, broker: int, known: Known, target: int) -> BrokerState:
        if target == BrokerState.STOPPING and self.design.exit_signal:
            leads = known.is_counted and bool(self.partitions.led_by(broker))
            return BrokerState.STOPPING if leads else BrokerState.INACTIVE
        if not known.is_counted and self.design.fresh_unfence and known.is_owed:
            return BrokerState.INACTIVE
        return BrokerState.ACTIVE if target == BrokerState.ACTIVE else BrokerState.STOPPING

    def _refuse(self, office: Office, call: int, request: MetadataHeartbeatRequest, code: ErrorCode) -> None:
        known = self.registry.brokers.get(request.broker_id)
        facts = {
            "broker": request.broker_id,
            "incarnation": request.incarnation_id,
            "known": None if known is None else known.incarnation,
            "target": request.target_state,
            "controller_epoch": request.controller_epoch,
            "code": code.name,
        }
        self.context.log("heartbeat refused", facts, is_warning=True)
        response = MetadataHeartbeatResponse(
            code,
            BrokerState.INACTIVE,
            code.name.lower().replace("_", " "),
            request.broker_id,
            request.incarnation_id,
            office.epoch,
        )
        self.context.effects.append(Reply(call, response))

    def _reply(self, call: int, office: Office, request: MetadataHeartbeatRequest, state: BrokerState) -> None:
        key = request.broker_id, request.incarnation_id, state, office.epoch
        response = self.answers.get(key)
        if response is None:
            response = self.answers[key] = MetadataHeartbeatResponse(ErrorCode.NONE, state, None, *key[:2], key[3])
        self.context.effects.append(Reply(call, response))
