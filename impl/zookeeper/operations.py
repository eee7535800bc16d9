"""Operations on ZooKeeper, as values: effects that a core asks for. `impl.zookeeper.events` has what comes back.

ZooKeeper Programmer's Guide, "ZooKeeper Sessions", "ZooKeeper Watches", "Consistency Guarantees".
"""

from __future__ import annotations

from dataclasses import dataclass

ANY_VERSION = -1
"""As a version: whatever version the znode has."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create a znode below one that exists. ephemeral: it is deleted with the session that creates it."""

    path: str
    data: bytes = b""
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Replace the data of a znode, if it has this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a znode without children, if it has this version."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing; of a multi: let it fail unless the znode has this version.

    A znode that was deleted and created again has version 0 again: a check cannot tell the two.
    """

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Multi:
    """Do all of these, in order and with one zxid, or none."""

    operations: tuple[Create | SetData | Delete | Check, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """Ask for the Stat of a znode. watch: arm a data watch, on an absent znode too (it fires when it is created)."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetData:
    """Ask for data and Stat of a znode. watch: arm a data watch; on an absent znode none is armed."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    """Ask for the names of a znode's children. watch: arm a child watch; on an absent znode none is armed."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """Bring the server that answers reads up to date: reads submitted after it see all writes that preceded it."""

    path: str = "/"


@dataclass(frozen=True, slots=True)
class CloseSession:
    """End the session in good order: its ephemeral znodes are deleted at once. The last operation of a process."""


Write = Create | SetData | Delete | Multi
Read = Exists | GetData | GetChildren
Operation = Write | Read | Sync | CloseSession


@dataclass(frozen=True, slots=True)
class Submit:
    """The effect: do `operation`, and hand in a Result with this id.

    id: chosen by the core, which submits no two with the same one while their results are awaited. What is submitted
    in one session is done in that session or not at all, in the order of submission.
    """

    id: int
    operation: Operation
