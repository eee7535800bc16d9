"""The metrics of a broker, by the names of the design: kept from the steps that its core takes."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from impl.pinning.broker import Broker
from impl.pinning.member import Phase
from impl.pinning.messages import ErrorCode, PinControllerResponse, Response
from impl.runtime.effects import Did
from impl.runtime.loop import monotonic_ms

_HANDOVER_BUCKETS_MS = (10, 20, 50, 100, 200, 300, 500, 1_000, 2_000, 5_000, 10_000, 30_000)


class Measures:
    """What one broker shows of itself. Times are those of `now_ms`, of one clock, which `clock_ms` reads."""

    def __init__(self, registry: CollectorRegistry, clock_ms: Callable[[], int] = monotonic_ms) -> None:
        self._clock_ms = clock_ms
        self._active = Gauge("ActiveControllerCount", "1 on the broker in office", registry=registry)
        self._controller = Gauge("ControllerId", "The controller that is known; -1: none", registry=registry)
        self._controller.set(-1)
        self._moves = Counter(
            "ControllerMovesPerSec",
            "Terms of this broker, by what ended the one before: request, failure, by hand; none where none is known",
            ["cause"],
            registry=registry,
        )
        self._abstaining = Gauge("AbstainingCount", "1 while this broker abstains", registry=registry)
        vacant = Gauge("SecondsWithoutController", "How long none has been known", registry=registry)
        vacant.set_function(self._vacant_s)  # when it is asked for: nothing may happen for as long as nobody is elected
        self._requests = Counter("PinRequests", "Requests to pin, by outcome", ["outcome"], registry=registry)
        self._handover = Histogram(
            "HandoverTimeMs",
            "From the hearing of a request to the beginning of its target's term",
            registry=registry,
            buckets=_HANDOVER_BUCKETS_MS,
        )
        self._vacant_since_ms: int | None = clock_ms()
        self._asked_at_ms: int | None = None

    def after(self, broker: Broker, now_ms: int) -> None:
        """The broker has taken a step."""
        member = broker.member
        self._active.set(member.phase is Phase.IN_OFFICE and member.is_in_touch)
        self._controller.set(-1 if member.controller is None else member.controller)
        self._abstaining.set(member.phase is Phase.ABSTAINS)
        if member.controller is not None:
            self._vacant_since_ms = None
        elif self._vacant_since_ms is None:
            self._vacant_since_ms = now_ms

    def _vacant_s(self) -> float:
        """Called by the thread that serves the metrics."""
        since_ms = self._vacant_since_ms
        return 0.0 if since_ms is None else (self._clock_ms() - since_ms) / 1000

    def did(self, did: Did, now_ms: int) -> None:
        """A step of the design."""
        if did.action in ("set_ready", "prepare_takeover"):
            self._asked_at_ms = now_ms
        elif did.action == "begin_term":
            self._moves.labels(str(did.facts["cause"])).inc()
            if self._asked_at_ms is not None and did.facts["request"] is not None:
                self._handover.observe(now_ms - self._asked_at_ms)
            self._asked_at_ms = None

    def answered(self, response: Response) -> None:
        """An answer to an operator, of the core or of who refuses what never gets to it."""
        if isinstance(response, PinControllerResponse):
            self._requests.labels(ErrorCode(response.error_code).name).inc()
