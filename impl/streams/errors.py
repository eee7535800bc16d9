"""What a stream thread dies of. Names are Kafka's."""

from __future__ import annotations

from enum import Enum


class Cause(Enum):
    """What a thread dies of, as the spec names it; the last two are left out there."""

    FUTURE_SUBSCRIPTION = "as leader, of a subscription in a version that it does not know"
    FUTURE_BESIDE_OLD = "as leader, of a version that it does not know beside version 1 or 2"
    CANNOT_ENCODE = "of a version to send that it does not support"
    CANNOT_READ = "of an assignment in a version above what it sent"
    MALFORMED = "of bytes that are not what they should be"
    REFUSED = "of a coordinator that refuses it"


class FatalError(Exception):
    """A thread cannot go on. The message says why, and what to do where anything can be done."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


class TaskAssignmentException(FatalError):
    """Metadata that cannot be written or read. offset: the byte at which it cannot be read, if that is the reason."""

    def __init__(self, message: str, cause: Cause = Cause.MALFORMED, offset: int | None = None) -> None:
        super().__init__(message if offset is None else f"byte {offset}: {message}", cause)
        self.offset = offset


class IllegalStateException(FatalError):
    """Versions meet that no order of bounces allows."""
