"""Names, epochs and enumerations of the KIP-39 spec."""

from __future__ import annotations

from enum import Enum

from checker.lang import Identity, Ordinal
from spec.pinning.design import Design


class Broker(Identity, size=lambda: Design.brokers):
    """A broker, by its id."""


class ControllerEpoch(Ordinal):
    """The data of `/controller_epoch`. Within its term a controller knows its version, too."""


class EpochVersion(Ordinal):
    """The version of `/controller_epoch`. Each write raises it, also one that leaves the epoch as it is."""


class Path(Enum):
    """The znodes that brokers watch."""

    CONTROLLER = "/controller"
    NEXT = "/admin/next_controller"
    READY = "/admin/ready_to_serve_as_controller"
    PREFERRED = "/brokers/preferred_controllers"


class ProcessState(Enum):
    """A broker process. One that hangs does nothing more, while its session lives on."""

    DOWN = "DOWN"
    UP = "UP"
    HUNG = "HUNG"


class Phase(Enum):
    """Where a broker stands in the election of a controller, as it believes itself."""

    WATCHING = "WATCHING"  # it knows of a controller, or has yet to hear that there is none
    PULLED = "PULLED"  # it has pulled `ready`, and is about to run or to abstain
    ABSTAINS = "ABSTAINS"  # it leaves the election to another
    LOST = "LOST"  # it has found another's `/controller`, and has yet to set its watch (without loser_watches)
    LAPSED = "LAPSED"  # it has abstained for too long, and is about to run whatever `ready` says
    ELECTED = "ELECTED"  # it has created `/controller`, and has yet to begin its work
    IN_OFFICE = "IN_OFFICE"


class Answer(Enum):
    """Replies to the operator's request."""

    SERVED = "SERVED"
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"


def number(broker: Broker) -> int:
    """The id of a broker as a number."""
    if broker == Broker(0):
        return 0
    if broker == Broker(1):
        return 1
    if Design.brokers > 3 and broker == Broker(3):
        return 3
    return 2


def is_legacy(broker: Broker) -> bool:
    """A broker of a version that knows of `/controller` only: one of the last."""
    return number(broker) >= Design.brokers - Design.legacy_brokers


def is_preferred(broker: Broker) -> bool:
    """A broker of the configured set of preferred controllers: one of the first."""
    return Design.preferred and number(broker) < Design.preferred_brokers
