"""The office of controller: what its electors write to ZooKeeper, and what they read of it.

`impl.zookeeper.election` is the election of a design in which whoever may run runs; `impl.pinning.elector` is one with
abstention, and `impl.pinning.target` takes the office out of another's hands. All write it by the operations here:
/controller, ephemeral, and by the same multi the next /controller_epoch, whose version fences what a controller writes
(Kafka's KafkaZkClient.registerControllerAndIncrementControllerEpoch, since 2.1). Another office is another `Seat`.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.zookeeper.events import Committed, Created, Found, Outcome, Written
from impl.zookeeper.operations import Check, Create, Delete, Multi, SetData
from impl.zookeeper.znodes import read_controller, read_decimal, write_controller, write_decimal

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"


@dataclass(frozen=True, slots=True)
class Seat:
    """The znodes of an office: who holds it, and its epoch. in_json: as Kafka writes /controller; else a number."""

    path: str
    epoch_path: str
    in_json: bool = True

    def data(self, broker: int, now_ms: int) -> bytes:
        return write_controller(broker, now_ms) if self.in_json else write_decimal(broker)

    def holder(self, data: bytes) -> int:
        """Raises ZnodeError."""
        return read_controller(self.path, data) if self.in_json else read_decimal(self.path, data)


CONTROLLER_SEAT = Seat(CONTROLLER, CONTROLLER_EPOCH)


@dataclass(frozen=True, slots=True)
class Epoch:
    """/controller_epoch, as it was read or written. version: of the znode."""

    epoch: int
    version: int


def read_epoch(found: Found, seat: Seat = CONTROLLER_SEAT) -> Epoch:
    """/controller_epoch. Raises ZnodeError."""
    return Epoch(read_decimal(seat.epoch_path, found.data or b""), found.stat.version)


def creation(broker: int, now_ms: int, seat: Seat = CONTROLLER_SEAT) -> Create:
    """/controller, for as long as the session of this broker lives."""
    return Create(seat.path, seat.data(broker, now_ms), ephemeral=True)


def raising(epoch: Epoch, seat: Seat = CONTROLLER_SEAT) -> SetData:
    """The next epoch, unless another was issued since this one was read."""
    return SetData(seat.epoch_path, write_decimal(epoch.epoch + 1), epoch.version)


def rewriting(epoch: Epoch) -> SetData:
    """The same epoch with another version: whoever has read this one, and checks its version, has to read again."""
    return SetData(CONTROLLER_EPOCH, write_decimal(epoch.epoch), epoch.version)


def election(broker: int, now_ms: int, epoch: Epoch, *further: Delete | Check, seat: Seat = CONTROLLER_SEAT) -> Multi:
    """Create /controller and raise the epoch, and whatever else goes with the election, or none of it."""
    return Multi((creation(broker, now_ms, seat), raising(epoch, seat), *further))


def term_of(outcome: Outcome, epoch: Epoch) -> Epoch | None:
    """The epoch of a term, if it began with this outcome of a multi that creates /controller and raises `epoch`."""
    match outcome:
        case Committed(parts=parts):
            created = any(isinstance(part, Created) for part in parts)
            raised = next((part.stat.version for part in parts if isinstance(part, Written)), None)
            return Epoch(epoch.epoch + 1, raised) if created and raised is not None else None
    return None


def fenced(epoch: Epoch, *writes: Create | SetData | Delete | Check, seat: Seat = CONTROLLER_SEAT) -> Multi:
    """Writes of a controller that are not done once another was elected."""
    return Multi((Check(seat.epoch_path, epoch.version), *writes))


def resignation(epoch: Epoch, *checks: Check, seat: Seat = CONTROLLER_SEAT) -> Multi:
    """Delete /controller, if it is still that of this term, and what is checked is as it was."""
    return fenced(epoch, *checks, Delete(seat.path), seat=seat)
