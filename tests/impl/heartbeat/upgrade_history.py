"""The history of an upgrade, or of the way back: legacy brokers write the ISR themselves, and leave by another request.

A legacy broker's own writes are told from a controller's by the session that made them. Its exit is the end of its
session after it was asked to stop; its protocol version is in its registration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from impl.zookeeper.transaction_log import Logged
from tests.cluster.recordings import Life
from tests.impl.heartbeat.history import CONTROLLER, SILENT, History, Step
from tests.impl.heartbeat.history_znodes import Registered, Znodes


class UpgradeHistory(History):
    """One run with brokers of both protocols."""

    silent = (*SILENT, "reread_partition", "reread_isr")

    def _filled_in(self) -> Iterator[tuple[Step, Znodes]]:
        self._sends_heartbeats = {broker: not one.is_legacy for broker, one in self.znodes.ids.items()}
        yield from super()._filled_in()

    def _is_closing(self, one: Logged, life: Life) -> bool:
        if not self.is_legacy(life):
            return super()._is_closing(one, life)
        is_own = one.ends_session and self._of_session.get(one.session) is life
        return is_own and life.asked_ms is not None and life.asked_ms <= one.time_ms

    def _named(self, action: str, note: Mapping[str, Any], life: Life) -> Step | None:
        step = super()._named(action, note, life)
        if step is None or note.get("cause") != "controlled shutdown":
            return step
        process = {"process": f"process{note['broker']}"}
        return replace(step, action="shut_down", parameters={**CONTROLLER, **process})

    def _end_of_session(self, step: Step, broker: int, was: Registered, up: Mapping[int, Life]) -> Step:
        ended = super()._end_of_session(step, broker, was, up)
        if ended.action == "take_reply" and ended.life is not None and self.is_legacy(ended.life):
            return replace(ended, action="leave", stops=None)
        return ended

    def _of_partition(self, step: Step, before: Znodes, after: Znodes, up: Mapping[int, Life]) -> Step:
        found = super()._of_partition(step, before, after, up)
        writer = None if step.transaction is None else self._of_session.get(step.transaction.session)
        if found.action != "handle_isr_change" or writer is None or not self.is_legacy(writer):
            return found
        parameters = {"process": f"process{writer.broker}", "answered": True}
        return replace(found, action="write_isr", parameters=parameters)

    def _implied(self, step: Step, before: Znodes, up: dict[int, Life]) -> Iterator[Step]:
        for implied in super()._implied(step, before, up):
            if implied.action == "start" and implied.life is not None:
                yield from self._configured(implied, implied.life)
            yield implied

    def _configured(self, start: Step, life: Life) -> Iterator[Step]:
        """A broker that starts with another protocol than it had was given that before."""
        sends_heartbeats = not self.is_legacy(life)
        if self._sends_heartbeats[life.broker] != sends_heartbeats:
            self._sends_heartbeats[life.broker] = sends_heartbeats
            parameters = {**start.parameters, "sends_heartbeats": sends_heartbeats}
            yield replace(start, action="configure", parameters=parameters)
