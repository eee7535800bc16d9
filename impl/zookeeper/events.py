"""Inputs of a core from ZooKeeper, in one ordered stream: results, watch events and session events, as values.

The order is ZooKeeper's: results come in the order of their operations, and a watch event precedes the result of any
read that shows the change. Between `Disconnected` or `Expired` and the next `Connected` only results without an
answer (`Unknown`, `Failed` with SESSION_EXPIRED) arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ErrorCode(Enum):
    """The reasons for which an operation is refused. It has changed nothing then."""

    NO_NODE = "the znode, or for a create its parent, does not exist"
    NODE_EXISTS = "the znode exists"
    BAD_VERSION = "the znode has another version"
    NOT_EMPTY = "the znode has children"
    NO_CHILDREN_FOR_EPHEMERALS = "an ephemeral znode has no children"
    SESSION_EXPIRED = "the session expired before the operation was done"
    OTHER = "ZooKeeper refused it for a reason that no design expects (no quorum of its own, access, size)"


@dataclass(frozen=True, slots=True)
class Stat:
    """Facts about a znode.

    czxid, mzxid: zxids of its creation and of the last change of its data. All of a multi has one zxid, so a czxid
    is unique per path. version: changes of its data since its creation. owner: its session, 0 for a persistent znode.
    """

    czxid: int
    mzxid: int
    version: int
    owner: int = 0


@dataclass(frozen=True, slots=True)
class Created:
    """A create was done."""

    path: str
    stat: Stat


@dataclass(frozen=True, slots=True)
class Written:
    """A set_data was done; the Stat after it."""

    stat: Stat


@dataclass(frozen=True, slots=True)
class Done:
    """A delete, check, sync or close was done."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A multi was done; the outcomes of its parts, in order."""

    parts: tuple[Created | Written | Done, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The znode exists. data: None where only its existence was asked for."""

    data: bytes | None
    stat: Stat


@dataclass(frozen=True, slots=True)
class Absent:
    """The znode that was read does not exist."""


@dataclass(frozen=True, slots=True)
class Children:
    """The names of a znode's children, sorted."""

    names: tuple[str, ...]
    stat: Stat


@dataclass(frozen=True, slots=True)
class Failed:
    """The operation was refused, and changed nothing. at: of a multi, the place of the part that was refused."""

    code: ErrorCode
    at: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The connection was lost before the answer came: a write was done, or not."""


Outcome = Created | Written | Done | Committed | Found | Absent | Children | Failed | Unknown


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of the operation that was submitted with this id.

    zxid: of the write; of a read, the last that the answering server had applied; 0 where there is no answer.
    """

    id: int
    outcome: Outcome
    zxid: int = 0


class WatchType(Enum):
    """The changes that a watch event reports."""

    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A watch fired, once, and is gone. It says that something changed, not what is there now."""

    path: str
    type: WatchType


@dataclass(frozen=True, slots=True)
class Connected:
    """A server serves the session. No watch is armed, whatever was armed before: read and arm everything again.

    session: its id, the `owner` of its ephemeral znodes. is_new: all ephemeral znodes of earlier sessions are gone or
    going. timeout_ms: as negotiated.
    """

    session: int
    is_new: bool
    timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection is lost, the session may live on. All watches are dropped and fire no more."""


@dataclass(frozen=True, slots=True)
class OutOfTouch:
    """For two thirds of the session's timeout nothing was heard from ZooKeeper.

    The session may expire, and a successor be elected, before anything else is heard: who acts on its strength stops.
    It ends with `Connected` or `Expired`.
    """


@dataclass(frozen=True, slots=True)
class Expired:
    """The session is over, its ephemeral znodes are gone. `Connected` with a new session follows."""


SessionEvent = Connected | Disconnected | OutOfTouch | Expired
Event = Result | WatchEvent | SessionEvent
