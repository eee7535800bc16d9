"""The work of a controller in office, as items of its queue: each is a script, and one runs at a time."""

from __future__ import annotations

from dataclasses import dataclass

from impl.heartbeat.control_requests import ControlledShutdownRequest
from impl.heartbeat.messages import IsrChangeRequest


@dataclass(frozen=True, slots=True)
class TakeOffice:
    """It was elected: read everything, and begin the term."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """A watch has fired: read what is stale."""


@dataclass(frozen=True, slots=True)
class See:
    """The registration of a broker is another one, or gone."""

    broker: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Write what the states of brokers ask for."""


@dataclass(frozen=True, slots=True)
class Serve:
    """Handle the heartbeats that wait."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The lease of a broker is over."""

    broker: int


@dataclass(frozen=True, slots=True)
class MoveLeaders:
    """Move leaderships away from those who stop."""


@dataclass(frozen=True, slots=True)
class Change:
    """A request of a leader, or of a broker of the former protocol that wants to stop."""

    call: int
    request: IsrChangeRequest | ControlledShutdownRequest


Item = TakeOffice | Refresh | See | Settle | Serve | Expire | MoveLeaders | Change
