"""Nothing that a core remembers can hide: faults that show late, or never in a small model, are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from checker.conform.check import ConformOptions, conform
from checker.conform.graph import Rules
from checker.lang.loader import load
from checker.verdicts import DIVERGES
from impl.adapters.kraft import SYSTEM, KraftUnderTest
from impl.adapters.kraft.cluster import Envelope
from impl.adapters.kraft.values import replace as adapter_replace
from impl.kraft.broker import Broker, BrokerSettings, ReplicaLog
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.controller.controller import Waiting
from impl.kraft.effects import Effects, Reply
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, Request
from impl.kraft.snapshot import Snapshot
from tests.conform.planted import CopiesItself

GROWS, PART = "grows without bound", "a part of a batch is committed, and the controller goes by it"


class WearsOut(CopiesItself, Controller):
    """After 20 heartbeats, it answers none."""

    heartbeats = 0

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        self.heartbeats += isinstance(request, BrokerHeartbeatRequest)
        return [] if self.heartbeats > 20 else super().handle(call, request, now_ms)


class Remembers(CopiesItself, Controller):
    """It keeps what it has heard of in a list, and never looks at it."""

    def __init__(self, settings: ControllerSettings) -> None:
        super().__init__(settings)
        self.heard: list[int] = []

    def copy(self) -> Any:
        other = super().copy()
        other.heard = list(self.heard)
        return other

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        if isinstance(request, BrokerHeartbeatRequest):
            self.heard.append(request.broker_id)
        return super().handle(call, request, now_ms)


class Counts(CopiesItself, Controller):
    """It counts heartbeats of each broker, and never looks at that."""

    def __init__(self, settings: ControllerSettings) -> None:
        super().__init__(settings)
        self.heartbeats: Counter[int] = Counter()

    def copy(self) -> Any:
        other = super().copy()
        other.heartbeats = self.heartbeats.copy()
        return other

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        if isinstance(request, BrokerHeartbeatRequest):
            self.heartbeats[request.broker_id] += 1
        return super().handle(call, request, now_ms)


class BearsGrudges(CopiesItself, Controller):
    """Once it has refused a change of an ISR for its epoch, it unfences nobody. The refusal shows nothing of that."""

    grudge = False

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        if isinstance(request, BrokerHeartbeatRequest) and self.grudge:
            request = replace(request, want_fence=True)
        effects = super().handle(call, request, now_ms)
        errors = {effect.response.error for effect in effects if isinstance(effect, Reply)}
        self.grudge = self.grudge or bool(errors & {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION})
        return effects


class KeepsFencedSessions(CopiesItself, Controller):
    """It goes on with the shutdown of a broker that it has fenced."""

    def _check_lease(self, broker_id: int, now_ms: int) -> Effects:
        session = self.sessions.of_broker.get(broker_id)
        effects = super()._check_lease(broker_id, now_ms)
        if session is not None:
            self.sessions.of_broker.setdefault(broker_id, session)
        return effects


class CommitsEarly(CopiesItself, Controller):
    """A batch counts as committed with its first record."""

    def on_commit(self, offset: int, now_ms: int) -> Effects:
        while self._pending and self._pending[0].base_offset < offset:
            self.committed.replay(self._pending.popleft())
        return super().on_commit(offset, now_ms)


class SwapsReplies(CopiesItself, Controller):
    """The replies of two that wait for one kind of answer go to each other's callers."""

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        effects = super().handle(call, request, now_ms)
        if len(self.waiting) > 1 and not any(isinstance(effect, Reply) for effect in effects):
            last, other = self.waiting.pop(), self.waiting.pop()
            if type(last.response) is not type(other.response):
                self.waiting += (other, last)
            else:
                self.waiting += (replace(other, call=last.call), replace(last, call=other.call))
        return effects


class GivesUp(CopiesItself, Broker):
    """After 12 failures in a row, it asks no more."""

    def on_timer(self, timer: Any, now_ms: int) -> Effects:
        return [] if self.lifecycle.failures > 12 else super().on_timer(timer, now_ms)


@dataclass(frozen=True)
class Faulty:
    """A core with a class of controllers or brokers of its own."""

    made: type[Controller] = Controller
    broken: type[Broker] = Broker
    rules: ClassVar[Rules] = {}

    def controller(self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0) -> Controller:
        return self.made(settings) if snapshot is None else self.made.load(settings, snapshot)

    def broker(
        self, settings: BrokerSettings, incarnation_id: UUID, disk: Mapping[PartitionKey, ReplicaLog] | None = None
    ) -> Broker:
        return self.broken(settings, incarnation_id, disk)


def explored(model: str, core: Faulty, **changes: object) -> Any:
    bound = load(f"kraft/{model}", {name: str(value) for name, value in changes.items()})
    return conform(bound, KraftUnderTest(core), "faulty", ConformOptions())


FAULTS = {
    "a counter that wears out": (Faulty(WearsOut), "unfencing_ends", {"brokers": 1, "max_crashes": 0}, GROWS),
    "a list that grows": (Faulty(Remembers), "unfencing_ends", {"brokers": 1, "max_crashes": 0}, GROWS),
    "counts of each broker": (Faulty(Counts), "unfencing_ends", {"brokers": 1, "max_crashes": 0}, GROWS),
    "a shutdown that outlives a fence": (
        Faulty(KeepsFencedSessions), "shutdown", {"max_crashes": 0, "max_failovers": 0}, "is elsewhere after it",
    ),
    "the first record commits a batch": (Faulty(CommitsEarly), "unfencing_ends", {"brokers": 1}, PART),
    "the first record commits a batch of several controllers": (
        Faulty(CommitsEarly), "quorum", {"max_failovers": 0}, PART,
    ),
    "replies to each other's callers": (
        Faulty(SwapsReplies), "failover_record", {"max_failovers": 0, "lifecycle_in_flight": 2}, "",
    ),
    "a refusal that is remembered": (Faulty(BearsGrudges), "open", {}, "is elsewhere after it"),
    "failures that wear out": (Faulty(broken=GivesUp), "unfencing_ends", {"brokers": 1}, "it sends nothing"),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FAULTS)
def test_is_found(name: str) -> None:
    core, model, changes, says = FAULTS[name]
    report = explored(model, core, **changes)
    assert report.verdict == DIVERGES and says in report.reason


def test_who_waits_for_what_is_in_the_key() -> None:
    """Two clusters that differ in nothing but which of two callers gets which reply are two."""
    bound = load("kraft/failover_record", {"max_failovers": "0", "lifecycle_in_flight": "2"})
    cluster = SYSTEM.begin(bound.constants, bound.initial_states()[0])
    host = cluster.controllers[0]
    envelopes = [
        Envelope(place, cluster.processes[place].broker.lifecycle.incarnation_id, 0, heartbeat(cluster, place))
        for place in (0, 1)
    ]
    replies = [BrokerHeartbeatResponse(ErrorCode.NONE, True, is_fenced) for is_fenced in (True, False)]

    def waiting(calls: tuple[int, int]) -> Any:
        core: Any = host.core.copy()
        core.waiting.extend(Waiting(99, call, one) for call, one in zip(calls, replies, strict=True))
        waits = dict(enumerate(envelopes))
        return SYSTEM.key(cluster.with_controller(0, adapter_replace(host, core=core, waiting=waits)))

    assert waiting((0, 1)) != waiting((1, 0))


def heartbeat(cluster: Any, place: int) -> BrokerHeartbeatRequest:
    core = cluster.processes[place].broker
    return BrokerHeartbeatRequest(core.broker_id, core.broker_epoch, core.applied_offset, False, False)
