"""The broker's own timeout: it is fenced unless a heartbeat was answered recently (Broker-Side Heartbeat Timeout)."""

from __future__ import annotations

from impl.heartbeat.design import Design
from impl.heartbeat.effects import Timer
from impl.heartbeat.messages import BrokerState
from impl.heartbeat.scripts import Context


class Fence:
    """The fence of one process. end_ms: when its lease is over. A process without heartbeats is never fenced."""

    def __init__(self, broker: int, context: Context, design: Design, timeout_ms: int, *, is_fenced: bool) -> None:
        self.broker = broker
        self.context = context
        self.design = design
        self.timeout_ms = timeout_ms
        self.is_fenced = is_fenced
        self.state = BrokerState.INITIAL
        self.end_ms = 0
        self.answered_ms: int | None = None
        """When a heartbeat was answered last, for metrics."""

    def answered(self, state: BrokerState, sent_ms: int) -> None:
        """A heartbeat that was sent then is answered: the state that the broker is in."""
        now_ms = self.context.now_ms
        self.state, self.answered_ms = state, now_ms
        if state < BrokerState.ACTIVE:
            self.close("answered " + state.name)
            return
        self.end_ms = max(self.end_ms, (sent_ms if self.design.lease_from_sending else now_ms) + self.timeout_ms)
        if self.end_ms <= now_ms:
            return  # the answer comes when the lease is over
        self.context.set_timer(Timer.FENCE, self.end_ms)
        if self.is_fenced:
            self.is_fenced = False
            self._tell("unfenced", "answered " + state.name, is_warning=False)

    def check(self) -> None:
        """Close it if the lease is over. Called before anything else is handled."""
        if not self.is_fenced and self.end_ms <= self.context.now_ms:
            self.close("no answer in time", late_ms=self.context.now_ms - self.end_ms)

    def close(self, cause: str, *, late_ms: int = 0) -> None:
        """From now on no new request is accepted. late_ms: since when none was: its lease was over while it slept."""
        self.end_ms = 0
        if not self.is_fenced:
            self.is_fenced = True
            self._tell("fenced", cause, late_ms=late_ms, is_warning=True)

    def _tell(self, event: str, cause: str, *, late_ms: int = 0, is_warning: bool) -> None:
        facts = {"broker": self.broker, "state": self.state.name, "cause": cause, "late_ms": late_ms}
        self.context.log(event, facts, is_warning=is_warning)
        self.context.did(event, **facts)
