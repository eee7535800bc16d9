"""The tree of znodes, and the effect of each write on it: pure functions on values that share what did not change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from impl.zookeeper.events import Committed, Created, Done, ErrorCode, Failed, Stat, WatchType, Written
from impl.zookeeper.operations import ANY_VERSION, Check, Create, Delete, Multi, SetData, Write


@dataclass(frozen=True, slots=True)
class Znode:
    """A znode. stat.owner: the session that an ephemeral one lives by, 0 for a persistent one."""

    data: bytes
    stat: Stat


ROOT = Znode(b"", Stat(0, 0, 0))


class Tree(Mapping[str, Znode]):
    """An immutable tree: path -> znode, the root always among them."""

    __slots__ = ("_hash", "_znodes")

    def __init__(self, znodes: Mapping[str, Znode] | None = None) -> None:
        self._znodes = {"/": ROOT} if znodes is None else dict(znodes)
        self._hash: int | None = None

    def __getitem__(self, path: str) -> Znode:
        return self._znodes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._znodes)

    def __len__(self) -> int:
        return len(self._znodes)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._znodes.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._znodes == other._znodes

    def __repr__(self) -> str:
        return f"Tree({self._znodes})"

    def __reduce__(self) -> tuple[type[Tree], tuple[dict[str, Znode]]]:
        return Tree, (self._znodes,)

    def with_znode(self, path: str, znode: Znode) -> Tree:
        return Tree({**self._znodes, path: znode})

    def without(self, path: str) -> Tree:
        return Tree({name: znode for name, znode in self._znodes.items() if name != path})

    def children(self, path: str) -> tuple[str, ...]:
        """The names of the children of a znode, sorted."""
        prefix = path.rstrip("/") + "/"
        below = (name[len(prefix) :] for name in self._znodes if name.startswith(prefix) and name != "/")
        return tuple(sorted(name for name in below if "/" not in name))

    def owned_by(self, session: int) -> tuple[str, ...]:
        """The ephemeral znodes of a session, sorted."""
        return tuple(sorted(path for path, znode in self._znodes.items() if znode.stat.owner == session))


EMPTY = Tree()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one znode, as watches hear of it: CREATED, DELETED or DATA_CHANGED."""

    path: str
    type: WatchType


@dataclass(frozen=True, slots=True)
class Transaction:
    """A committed write: its zxid, what it changed, in order, and the tree after it."""

    zxid: int
    changes: tuple[Change, ...]
    tree: Tree


Answer = Created | Written | Done


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def is_valid(path: str) -> bool:
    """A path as ZooKeeper takes it: absolute, without empty or relative parts."""
    return path == "/" or (path.startswith("/") and all(part not in ("", ".", "..") for part in path[1:].split("/")))


def write(tree: Tree, operation: Write, session: int, zxid: int) -> tuple[Transaction, Answer | Committed] | Failed:
    """Do a write: the transaction and the outcome, or the refusal, after which the tree is as it was."""
    if not isinstance(operation, Multi):
        done = _write_one(tree, operation, session, zxid)
        return done if isinstance(done, Failed) else (Transaction(zxid, done[1], done[0]), done[2])
    changes: list[Change] = []
    parts: list[Answer] = []
    for at, part in enumerate(operation.operations):
        done = _write_one(tree, part, session, zxid)
        if isinstance(done, Failed):
            return replace(done, at=at)
        tree, changed, answer = done
        changes += changed
        parts.append(answer)
    return Transaction(zxid, tuple(changes), tree), Committed(tuple(parts))


def end_session(tree: Tree, session: int, zxid: int) -> Transaction:
    """Delete the ephemeral znodes of a session."""
    owned = tree.owned_by(session)
    for path in owned:
        tree = tree.without(path)
    return Transaction(zxid, tuple(Change(path, WatchType.DELETED) for path in owned), tree)


def _write_one(
    tree: Tree, operation: Create | SetData | Delete | Check, session: int, zxid: int
) -> tuple[Tree, tuple[Change, ...], Answer] | Failed:
    if not is_valid(operation.path):
        return Failed(ErrorCode.OTHER, message=f"{operation.path!r} is not a path")
    if isinstance(operation, Create):
        return _create(tree, operation, session, zxid)
    znode = tree.get(operation.path)
    if znode is None:
        return Failed(ErrorCode.NO_NODE)
    if operation.version not in (ANY_VERSION, znode.stat.version):
        return Failed(ErrorCode.BAD_VERSION)
    if isinstance(operation, Check):
        return tree, (), Done()
    if isinstance(operation, Delete):
        if operation.path == "/":
            return Failed(ErrorCode.OTHER, message="the root cannot be deleted")
        if tree.children(operation.path):
            return Failed(ErrorCode.NOT_EMPTY)
        return tree.without(operation.path), (Change(operation.path, WatchType.DELETED),), Done()
    stat = replace(znode.stat, mzxid=zxid, version=znode.stat.version + 1)
    changes = (Change(operation.path, WatchType.DATA_CHANGED),)
    return tree.with_znode(operation.path, Znode(operation.data, stat)), changes, Written(stat)


def _create(tree: Tree, operation: Create, session: int, zxid: int) -> tuple[Tree, tuple[Change, ...], Answer] | Failed:
    parent = tree.get(parent_of(operation.path))
    if operation.path in tree:
        return Failed(ErrorCode.NODE_EXISTS)
    if parent is None:
        return Failed(ErrorCode.NO_NODE)
    if parent.stat.owner:
        return Failed(ErrorCode.NO_CHILDREN_FOR_EPHEMERALS)
    stat = Stat(zxid, zxid, 0, session if operation.ephemeral else 0)
    after = tree.with_znode(operation.path, Znode(operation.data, stat))
    return after, (Change(operation.path, WatchType.CREATED),), Created(operation.path, stat)


def created(paths: Iterable[tuple[str, bytes]]) -> Tree:
    """A tree with these persistent znodes from the beginning, parents first."""
    tree = EMPTY
    for path, data in paths:
        done = _create(tree, Create(path, data), session=0, zxid=0)
        if isinstance(done, Failed):
            raise ValueError(f"{path} cannot be created: {done.code.value}")
        tree = done[0]
    return tree
