"""Nothing that a core remembers can hide: each fault shows on one of several ways to the same state only."""

from __future__ import annotations

from typing import Any

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from impl.adapters.pinning.core import PythonCore
from impl.adapters.pinning.system import PinningUnderTest
from impl.pinning.broker import Broker, Item
from impl.pinning.design import Design
from impl.pinning.effects import Effects, Timer
from impl.pinning.elector import Elector
from impl.pinning.member import Member, Script
from impl.zookeeper import Create, Found, GetData, SetData
from tests.conform.planted import CopiesItself

MARK = "/brokers/mark"


class WearsOut(CopiesItself, Broker):
    """After 15 items, it does nothing."""

    items = 0

    def advance(self, now_ms: int, item: Item | None = None) -> Effects:
        self.items += 1
        return [] if self.items > 15 else super().advance(now_ms, item)


class GivesInOnce(Elector):
    """It leaves an election that it has lost once; the second time it goes on."""

    lost_elections = 0

    def watch_on(self) -> None:
        self.lost_elections += 1
        if self.lost_elections == 1:
            super().watch_on()


class Counting(Broker):
    """It is a part of it that counts."""

    def __init__(self, member: Member, lost_elections: int = 0) -> None:
        super().__init__(member)
        self.elector = self.target.elector = GivesInOnce(member)
        self.elector.lost_elections = lost_elections

    def copy(self) -> Any:
        copied, counting = super().copy(), self.elector
        assert isinstance(counting, GivesInOnce)
        other = Counting(copied.member, counting.lost_elections)
        other.office.heard, other.request.asked = copied.office.heard, copied.request.asked
        other.queue, other.is_connected, other.started = copied.queue, copied.is_connected, copied.started
        return other


class Marks(CopiesItself, Broker):
    """Brokers count in a znode how many timers have fired, and heed none after the eighth."""

    def _timer(self, timer: Timer) -> Script[None]:
        found = (yield GetData(MARK)).outcome
        fired = int(found.data or b"") if isinstance(found, Found) else 0
        yield SetData(MARK, b"%d" % (fired + 1)) if fired else Create(MARK, b"1")
        if fired < 8:
            yield from super()._timer(timer)


class Faulty(PythonCore):
    """A core with a class of brokers of its own."""

    def __init__(self, made: type[Broker]) -> None:
        self._made = made

    def broker(self, broker: int, design: Design, *, is_legacy: bool) -> Broker:
        return self._made(super().broker(broker, design, is_legacy=is_legacy).member)


@pytest.mark.sample(0)
@pytest.mark.parametrize("made", [WearsOut, Counting, Marks])
def test_is_found(made: type[Broker]) -> None:
    model = load("pinning/pin", {"brokers": "2"})
    report = conform(model, PinningUnderTest(Faulty(made)), "faulty", ConformOptions(jobs=1))
    assert report.verdict == "diverges"


def test_a_class_that_adds_nothing_conforms() -> None:
    model = load("pinning/pin", {"brokers": "2", "max_crashes": "0"})
    report = conform(model, PinningUnderTest(Faulty(Broker)), "the same", ConformOptions(jobs=1))
    assert report.divergence is None
