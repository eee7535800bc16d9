"""Soft state: what the active controller remembers of brokers and no log has. A failover loses it.

KIP-631, Broker Leases and Controlled Shutdown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Session:
    """Of one broker. Of a fenced broker, the lease stands for nothing.

    contact_ms: when its last registration or heartbeat was processed.
    metadata_offset: as its last heartbeat reported it; -1 before the first.
    shutdown_offset: what the active brokers' images must reach before it may shut down; None outside of a controlled
    shutdown.
    """

    contact_ms: int
    metadata_offset: int = -1
    shutdown_offset: int | None = None


class Sessions:
    """The sessions of all brokers that were heard of, or that were unfenced when the controller became active."""

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.of_broker: dict[int, Session] = {}

    def copy(self) -> Sessions:
        other = Sessions(self.timeout_ms)
        other.of_broker = dict(self.of_broker)
        return other

    def start(self, broker_id: int, now_ms: int) -> None:
        """A session of which nothing is known but that it starts now."""
        self.of_broker[broker_id] = Session(now_ms)

    def renew(self, broker_id: int, now_ms: int) -> None:
        """The broker was heard of, and said nothing else."""
        session = self.of_broker.get(broker_id)
        self.of_broker[broker_id] = Session(now_ms) if session is None else replace(session, contact_ms=now_ms)

    def forget(self, broker_id: int) -> None:
        self.of_broker.pop(broker_id, None)

    def end_ms(self, broker_id: int) -> int:
        """The time at which the lease runs out unless it is renewed."""
        return self.of_broker[broker_id].contact_ms + self.timeout_ms

    def is_valid(self, broker_id: int, now_ms: int) -> bool:
        """The lease runs."""
        return broker_id in self.of_broker and now_ms < self.end_ms(broker_id)

    def shutdown_offset(self, broker_id: int) -> int | None:
        session = self.of_broker.get(broker_id)
        return None if session is None else session.shutdown_offset

    def all_reach(self, offset: int, broker_ids: Iterable[int]) -> bool:
        """Each of these brokers has reported an image that reaches the offset."""
        return all(
            (session := self.of_broker.get(broker_id)) is not None and session.metadata_offset >= offset
            for broker_id in broker_ids
        )
