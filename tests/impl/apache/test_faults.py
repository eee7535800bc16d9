"""Faults planted between the cluster and a released controller: each diverges, as early as it can be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from checker.verdicts import DIVERGES, INCOMPLETE
from impl.adapters.apache_kafka.system import ApacheCore, ApacheUnderTest
from impl.apache.controller import ApacheController
from impl.kraft.controller import ControllerSettings
from impl.kraft.effects import Append, Effects, Reply
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from impl.kraft.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    Record,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from tests.impl.apache.jars import drives_a_release
from tests.impl.apache.simulated import VERSION


@dataclass(frozen=True)
class Fault:
    """A fault, and the step at which a model diverges. Each of its parts changes what goes in or comes out."""

    name: str
    model: str
    step: int
    request: Callable[[Any], Any] = lambda request: request
    response: Callable[[Any], Any] = lambda response: response
    record: Callable[[Record], Record | None] = lambda record: record  # None: it is lost
    hours_late: int = 0


def of(kind: type[Any], **fields: Any) -> Callable[[Any], Any]:
    """One of a kind is as it was, but for some fields; a field is a value, or a function of the old one."""

    def changed(one: Any) -> Any:
        if not isinstance(one, kind) or getattr(one, "error", ErrorCode.NONE) is not ErrorCode.NONE:
            return one
        return replace(one, **{name: to(getattr(one, name)) if callable(to) else to for name, to in fields.items()})

    return changed


def lost(kind: type[Any]) -> Callable[[Record], Record | None]:
    return lambda record: None if isinstance(record, kind) else record


def next_one(number: int) -> int:
    return number + 1


def no_last(members: Sequence[Any]) -> Sequence[Any]:
    return members[:-1]


def forgives(response: Any) -> Any:
    return replace(response, error=ErrorCode.NONE)


def refuses(response: Any) -> Any:
    return type(response)(ErrorCode.NOT_CONTROLLER)


REGISTERED, BEAT, ALTERED = BrokerRegistrationResponse, BrokerHeartbeatResponse, AlterPartitionResponse
FAULTS = [
    Fault("another broker epoch is told", "membership", 2, response=of(REGISTERED, broker_epoch=next_one)),
    Fault("an error is told as none", "membership", 2, response=forgives),
    Fault("everything is refused", "membership", 2, response=refuses),
    Fault("every broker is told that it is fenced", "membership", 5, response=of(BEAT, is_fenced=True)),
    Fault("every broker is told that it is unfenced", "membership", 5, response=of(BEAT, is_fenced=False)),
    Fault("nobody is told to have caught up", "membership", 5, response=of(BEAT, is_caught_up=False)),
    Fault("everybody is told to shut down", "membership", 5, response=of(BEAT, should_shut_down=True)),
    Fault("nobody is told to shut down", "restarts", 2, response=of(BEAT, should_shut_down=False)),
    Fault("another leader epoch is told", "lossy", 2, response=of(ALTERED, leader_epoch=next_one)),
    Fault("another partition epoch is told", "lossy", 2, response=of(ALTERED, partition_epoch=next_one)),
    Fault("an ISR is told without its last member", "lossy", 2, response=of(ALTERED, isr=no_last)),
    Fault("every image is taken for the newest", "membership", 5,
          of(BrokerHeartbeatRequest, current_metadata_offset=1 << 40)),
    Fault("no image is taken for one", "membership", 5, of(BrokerHeartbeatRequest, current_metadata_offset=-1)),
    Fault("a wish to be fenced is not read", "membership", 5, of(BrokerHeartbeatRequest, want_fence=False)),
    Fault("a wish to shut down is not read", "restarts", 2, of(BrokerHeartbeatRequest, want_shut_down=False)),
    Fault("every heartbeat asks to shut down", "membership", 5, of(BrokerHeartbeatRequest, want_shut_down=True)),
    Fault("every heartbeat is at the next epoch", "membership", 5, of(BrokerHeartbeatRequest, broker_epoch=next_one)),
    Fault("an incarnation is taken for another", "membership", 2,
          of(BrokerRegistrationRequest, incarnation_id=lambda id_: type(id_)(int=id_.int + 100))),
    Fault("an ISR is asked for without its last member", "lossy", 2, of(AlterPartitionRequest, new_isr=no_last)),
    Fault("an ISR is asked for at the next partition epoch", "lossy", 2,
          of(AlterPartitionRequest, partition_epoch=next_one)),
    Fault("an ISR is asked for at the next leader epoch", "lossy", 2, of(AlterPartitionRequest, leader_epoch=next_one)),
    Fault("the epochs of members are not read", "lossy", 6,
          of(AlterPartitionRequest, new_isr=lambda isr: tuple([replace(one, broker_epoch=-1) for one in isr]))),
    Fault("a registration is not written", "membership", 2, record=lost(RegisterBrokerRecord)),
    Fault("a fencing is not written", "membership", 5, record=lost(FenceBrokerRecord)),
    Fault("an unfencing is not written", "membership", 5, record=lost(UnfenceBrokerRecord)),
    Fault("a change of a partition is not written", "membership", 5, record=lost(PartitionChangeRecord)),
    Fault("a shutdown is not written", "restarts", 2, record=lost(BrokerRegistrationChangeRecord)),
    Fault("another leader is written", "membership", 5, record=of(PartitionChangeRecord, leader=next_one)),
    Fault("brokers are registered unfenced", "membership", 2, record=of(RegisterBrokerRecord, fenced=False)),
    Fault("timers are an hour late", "membership", 8, hours_late=1),
]  # fmt: skip


class Faulty(ApacheController):
    """A released controller, with a fault that is not its own."""

    fault: ClassVar[Fault]

    def handle(self, call: int, request: Any, now_ms: int) -> Effects:
        return self._changed(super().handle(call, self.fault.request(request), now_ms))

    def on_commit(self, offset: int, now_ms: int) -> Effects:
        return self._changed(super().on_commit(offset, now_ms))

    def on_timer(self, timer: Any, now_ms: int) -> Effects:
        return self._changed(super().on_timer(timer, now_ms + self.fault.hours_late * 3_600_000))

    def _changed(self, effects: Effects) -> Effects:
        return [self._changed_one(effect) for effect in effects]

    def _changed_one(self, effect: Any) -> Any:
        match effect:
            case Reply(call, response):
                return Reply(call, self.fault.response(response))
            case Append(batch):
                written = [self.fault.record(record) for record in batch.records]
                return Append(replace(batch, records=tuple(record for record in written if record is not None)))
        return effect


class FaultyCore(ApacheCore):
    """Controllers with a fault."""

    def __init__(self, version: str, fault: Fault) -> None:
        super().__init__(version)
        self._fault = fault

    def controller(self, settings: ControllerSettings, snapshot: Any = None, voter: int = 0) -> ApacheController:
        assert snapshot is None
        kind = type("Faulty", (Faulty,), {"fault": self._fault})  # no part of its state
        made: ApacheController = kind(VERSION, settings)
        return made


def driven(fault: Fault) -> Any:
    bound = load(f"kraft/{fault.model}", {}, "kafka_4_3_controller")
    return conform(bound, ApacheUnderTest(FaultyCore(VERSION, fault)), "faulty", ConformOptions(max_depth=fault.step))


pytestmark = drives_a_release("a JVM, and thousands of steps in it")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_is_found(fault: Fault) -> None:
    report = driven(fault)
    assert report.verdict == DIVERGES and report.divergence is not None
    assert len(report.divergence.trace.steps) == fault.step


@pytest.mark.parametrize("model", sorted({fault.model for fault in FAULTS}))
def test_without_a_fault_nothing_is_found(model: str) -> None:
    """As far as faults are looked for."""
    steps = max(fault.step for fault in FAULTS if fault.model == model)
    assert driven(Fault("none", model, steps)).verdict == INCOMPLETE
