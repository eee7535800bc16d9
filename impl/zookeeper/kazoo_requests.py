"""Operations as requests of kazoo, and its answers as outcomes."""

from __future__ import annotations

from typing import Any, cast

from kazoo import exceptions
from kazoo.protocol import serialization
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from impl.zookeeper.events import (
    Absent,
    Children,
    Committed,
    Created,
    Done,
    ErrorCode,
    Failed,
    Found,
    Outcome,
    Stat,
    Unknown,
    Written,
)
from impl.zookeeper.operations import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Read,
    SetData,
    Sync,
    Write,
)

Request = Write | Read | Sync | Check
"""The operations that are requests; kazoo closes sessions otherwise."""

_EPHEMERAL = 1
_CODES = {
    exceptions.NoNodeError: ErrorCode.NO_NODE,
    exceptions.NodeExistsError: ErrorCode.NODE_EXISTS,
    exceptions.BadVersionError: ErrorCode.BAD_VERSION,
    exceptions.NotEmptyError: ErrorCode.NOT_EMPTY,
    exceptions.NoChildrenForEphemeralsError: ErrorCode.NO_CHILDREN_FOR_EPHEMERALS,
    exceptions.SessionExpiredError: ErrorCode.SESSION_EXPIRED,
}
_WITHOUT_ANSWER = (exceptions.ConnectionLoss, exceptions.ConnectionClosedError, exceptions.OperationTimeoutError)
_NOT_THE_CAUSE = (exceptions.RolledBackError, exceptions.RuntimeInconsistency)


class _Multi(serialization.Transaction):  # type: ignore[misc]  # kazoo has no types
    """A multi whose creates answer with their Stat, which kazoo's own does not read."""

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Any]:
        header, offset = serialization.MultiHeader.deserialize(data, offset)
        found: list[Any] = []
        while not header.done:
            if header.type == serialization.Create2.type:
                answer = serialization.Create2.deserialize(data, offset)
                offset += serialization.int_struct.size + len(answer[0].encode()) + serialization.stat_struct.size
                found.append(answer)
            elif header.type == serialization.SetData.type:
                found.append(serialization.SetData.deserialize(data, offset))
                offset += serialization.stat_struct.size
            elif header.type == -1:
                (code,) = serialization.int_struct.unpack_from(data, offset)
                offset += serialization.int_struct.size
                found.append(exceptions.EXCEPTIONS[code]())
            else:
                found.append(True)
            header, offset = serialization.MultiHeader.deserialize(data, offset)
        return found


def request(operation: Request, chroot: str, data_watch: Any, child_watch: Any) -> Any:
    """The request that kazoo sends. The watches are called once with what fires them."""
    if isinstance(operation, Multi):
        return _Multi([request(part, chroot, None, None) for part in operation.operations])
    path = (chroot + operation.path).rstrip("/") or "/"
    match operation:
        case Create():
            flags = _EPHEMERAL if operation.ephemeral else 0
            return serialization.Create2(path, operation.data, OPEN_ACL_UNSAFE, flags)
        case SetData():
            return serialization.SetData(path, operation.data, operation.version)
        case Delete():
            return serialization.Delete(path, operation.version)
        case Check():
            return serialization.CheckVersion(path, operation.version)
        case Exists():
            return serialization.Exists(path, data_watch if operation.watch else None)
        case GetData():
            return serialization.GetData(path, data_watch if operation.watch else None)
        case GetChildren():
            return serialization.GetChildren2(path, child_watch if operation.watch else None)
        case Sync():
            return serialization.Sync(path)


def outcome(operation: Request, answer: Any) -> Outcome:
    """The outcome of an operation from what kazoo makes of its answer."""
    match operation:
        case Create():
            return Created(operation.path, _stat(answer[1]))
        case SetData():
            return Written(_stat(answer))
        case Exists():
            return Absent() if answer is None else Found(None, _stat(answer))
        case GetData():
            return Found(answer[0] or b"", _stat(answer[1]))
        case GetChildren():
            return Children(tuple(sorted(answer[0])), _stat(answer[1]))
        case Multi():
            return _committed(operation, answer)
        case _:
            return Done()


def has_moved(answer: Any) -> bool:
    """A multi was refused since the leader has its session at another server, where an attempt to connect, given up by
    now, was served late. A single write costs the connection then (FinalRequestProcessor), a multi does not."""
    return isinstance(answer, list) and any(isinstance(one, exceptions.SessionMovedError) for one in answer)


def failure(operation: Request, error: Exception) -> Outcome:
    """The outcome of an operation that kazoo reports to have failed."""
    is_read = isinstance(operation, Exists | GetData | GetChildren)
    if is_read and isinstance(error, exceptions.NoNodeError):
        return Absent()
    if isinstance(error, _WITHOUT_ANSWER) or not isinstance(error, exceptions.ZookeeperError):
        return Unknown()
    code = _CODES.get(type(error), ErrorCode.OTHER)
    return Failed(code, message=type(error).__name__ if code is ErrorCode.OTHER else "")


def _committed(operation: Multi, answers: list[Any]) -> Outcome:
    for at, error in enumerate(answers):
        if isinstance(error, Exception) and not isinstance(error, _NOT_THE_CAUSE):
            code = _CODES.get(type(error), ErrorCode.OTHER)
            return Failed(code, at, type(error).__name__ if code is ErrorCode.OTHER else "")
    parts = [outcome(part, answer) for part, answer in zip(operation.operations, answers, strict=True)]
    return Committed(tuple(cast("list[Created | Written | Done]", parts)))


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(stat.czxid, stat.mzxid, stat.version, stat.ephemeralOwner or 0)
