"""A ZooKeeper in memory: an immutable value, and a step for each thing that happens to it or between it and a client.

Deterministic: whoever drives it decides what happens next. The life of an operation:

    submit      the client sends it
    serve       a server does it, and sends the result; a write goes to the leader, a read is answered from the view
    deliver     the client hands the next result, watch event or session event to its core

A client's *view* is what the server that it is connected to has applied: a committed prefix, which never goes back and
holds the client's own writes; `catch_up` applies the next transaction, and so fires watches. Without `lagging`, every
server applies each transaction at once. A lost connection drops all watches and leaves every operation without an
answer: `disconnect` says how many of them were done. A session's end at the servers (`expire`), and the client's
hearing of it (`reconnect`), are two steps.

ZooKeeper Programmer's Guide, "ZooKeeper Watches", "Consistency Guarantees", "ZooKeeper Sessions".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from impl.zookeeper.events import (
    Absent,
    Children,
    Connected,
    Disconnected,
    Done,
    ErrorCode,
    Event,
    Expired,
    Failed,
    Found,
    Outcome,
    OutOfTouch,
    Result,
    Unknown,
    WatchEvent,
    WatchType,
)
from impl.zookeeper.model.tree import EMPTY, Transaction, Tree, created, end_session, is_valid, parent_of, write
from impl.zookeeper.operations import CloseSession, Exists, GetChildren, GetData, Operation, Read, Submit, Sync


class ModelError(RuntimeError):
    """A step that cannot be taken in this state: a mistake of whoever drives the model."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client, the server that serves it, and what is under way between the two.

    session: 0 without one; there is no view then. sent: not yet done. arriving: not yet handed to the core. applied:
    zxid of the last transaction of its view. data_watches, child_watches: paths, armed at its server.
    """

    session: int = 0
    is_connected: bool = False
    sent: tuple[Submit, ...] = ()
    arriving: tuple[Event, ...] = ()
    applied: int = 0
    view: Tree = EMPTY
    data_watches: frozenset[str] = frozenset()
    child_watches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ZooKeeper:
    """The service and its clients, by number. Every step returns the service after it.

    pending: transactions that not all views have. sessions: those that are alive. zxid: of the last transaction.
    """

    clients: tuple[Client, ...]
    tree: Tree
    lagging: bool = False
    timeout_ms: int = 6000
    zxid: int = 0
    last_session: int = 0
    sessions: frozenset[int] = frozenset()
    pending: tuple[Transaction, ...] = ()

    @classmethod
    def begin(cls, clients: int, znodes: Iterable[tuple[str, bytes]] = (), *, lagging: bool = False) -> ZooKeeper:
        """A service with persistent znodes (parents first), and clients that have no session yet."""
        tree = created(znodes)
        return cls((Client(),) * clients, tree, lagging)

    # Connections and sessions.

    def open_session(self, client: int) -> ZooKeeper:
        """A client without a session gets a new one."""
        before = self.clients[client]
        _require(not before.session, f"client {client} has session {before.session}")
        session = self.last_session + 1
        opened = replace(before, session=session, is_connected=True, applied=self.zxid, view=self.tree)
        after = replace(self, last_session=session, sessions=self.sessions | {session})
        return after._with(client, _arrives(opened, Connected(session, True, self.timeout_ms)))

    def disconnect(self, client: int, *, done: int = 0) -> ZooKeeper:
        """The connection is lost. Of the operations under way the first `done` take effect; none gets an answer."""
        before = self.clients[client]
        _require(before.is_connected, f"client {client} is not connected")
        _require(done <= len(before.sent), f"client {client} has {len(before.sent)} operations under way")
        _require(not done or before.session in self.sessions, f"the session of client {client} is over")
        after = self
        for submitted in before.sent[:done]:
            after, _ = after._execute(client, submitted.operation)
        lost = after.clients[client]
        unanswered = [Result(submitted.id, Unknown()) for submitted in before.sent]
        cut = replace(
            lost, is_connected=False, sent=(), arriving=(*before.arriving, *unanswered, Disconnected()),
            data_watches=frozenset(), child_watches=frozenset(),
        )  # fmt: skip
        return after._with(client, cut)

    def lose_reply(self, client: int) -> ZooKeeper:
        """The next operation takes effect, and its reply is lost with the connection."""
        return self.disconnect(client, done=1)

    def out_of_touch(self, client: int) -> ZooKeeper:
        """Two thirds of the session's timeout pass without an answer, by the client's own clock."""
        before = self.clients[client]
        _require(bool(before.session), f"client {client} has no session")
        return self._with(client, _arrives(before, OutOfTouch()))

    def reconnect(self, client: int) -> ZooKeeper:
        """A client that lost its connection reaches a server: its session goes on, or it hears that it expired."""
        before = self.clients[client]
        _require(bool(before.session) and not before.is_connected, f"client {client} is connected, or has no session")
        if before.session in self.sessions:
            connected = Connected(before.session, False, self.timeout_ms)
            return self._with(client, _arrives(replace(before, is_connected=True), connected))
        unsent = [Result(submitted.id, Failed(ErrorCode.SESSION_EXPIRED)) for submitted in before.sent]
        return self._with(client, Client(arriving=(*before.arriving, Expired(), *unsent)))._trimmed()

    def expire(self, session: int, *, is_heard: bool = False) -> ZooKeeper:
        """The servers end a session: its ephemeral znodes go. The client will hear of it when it reaches a server.

        is_heard: a connection on which nothing comes from the client (it is paused, or cut one way) still takes the
        watch events that this fires to it.
        """
        _require(session in self.sessions, f"session {session} is not alive")
        ended = self._ended(session) if is_heard else self._unwatched(session)._ended(session)
        return ended._unwatched(session)

    def _unwatched(self, session: int) -> ZooKeeper:
        after = self
        for number, client in enumerate(self.clients):
            if client.session == session:
                after = after._with(number, replace(client, data_watches=frozenset(), child_watches=frozenset()))
        return after

    def crash(self, client: int) -> ZooKeeper:
        """A client's process dies: what was under way to it and from it is gone, its session lives until it expires."""
        return self._with(client, Client())._trimmed()

    # Operations.

    def submit(self, client: int, submitted: Submit) -> ZooKeeper:
        """A client sends an operation, or keeps it until it is connected again."""
        before = self.clients[client]
        if not before.session:
            return self._with(client, _arrives(before, Result(submitted.id, Failed(ErrorCode.SESSION_EXPIRED))))
        return self._with(client, replace(before, sent=(*before.sent, submitted)))

    def serve(self, client: int) -> ZooKeeper:
        """The first operation under way is done, and its result sent."""
        before = self.clients[client]
        _require(before.is_connected and bool(before.sent), f"client {client} has nothing under way, or no connection")
        _require(before.session in self.sessions, f"the session of client {client} is over: disconnect it")
        submitted = before.sent[0]
        after, outcome = self._with(client, replace(before, sent=before.sent[1:]))._execute(client, submitted.operation)
        served = after.clients[client]
        result = Result(submitted.id, outcome, served.applied)
        if isinstance(submitted.operation, CloseSession):
            served = Client(arriving=served.arriving)
        return after._with(client, _arrives(served, result))

    def catch_up(self, client: int) -> ZooKeeper:
        """The server of a client applies the next transaction."""
        _require(self.is_behind(client), f"client {client} has no session, or its view is up to date")
        behind = [transaction for transaction in self.pending if transaction.zxid > self.clients[client].applied]
        return self._with(client, _applied(self.clients[client], behind[0]))._trimmed()

    def is_behind(self, client: int) -> bool:
        """There are transactions that the view of a client with a session does not have."""
        return bool(self.clients[client].session) and self.clients[client].applied < self.zxid

    def deliver(self, client: int) -> tuple[Event, ZooKeeper]:
        """The next event that a client hands to its core."""
        before = self.clients[client]
        _require(bool(before.arriving), f"nothing arrives at client {client}")
        return before.arriving[0], self._with(client, replace(before, arriving=before.arriving[1:]))

    # Inside.

    def _execute(self, client: int, operation: Operation) -> tuple[ZooKeeper, Outcome]:
        if isinstance(operation, Sync):
            return self._caught_up(client), Done()
        if isinstance(operation, CloseSession):
            return self._ended(self.clients[client].session)._caught_up(client), Done()
        if isinstance(operation, Exists | GetData | GetChildren):
            return self._read(client, operation)
        done = write(self.tree, operation, self.clients[client].session, self.zxid + 1)
        if isinstance(done, Failed):  # a refusal goes the way of a write: its server has applied what precedes it
            return self._caught_up(client), done
        return self._committed(done[0])._caught_up(client), done[1]

    def _read(self, client: int, operation: Read) -> tuple[ZooKeeper, Outcome]:
        reader = self.clients[client]
        if not is_valid(operation.path):
            return self, Failed(ErrorCode.OTHER, message=f"{operation.path!r} is not a path")
        znode = reader.view.get(operation.path)
        if operation.watch and isinstance(operation, GetChildren) and znode is not None:
            reader = replace(reader, child_watches=reader.child_watches | {operation.path})
        elif operation.watch and (isinstance(operation, Exists) or (isinstance(operation, GetData) and znode)):
            reader = replace(reader, data_watches=reader.data_watches | {operation.path})
        return self._with(client, reader), _answer(operation, reader.view)

    def _ended(self, session: int) -> ZooKeeper:
        transaction = end_session(self.tree, session, self.zxid + 1)
        return replace(self, sessions=self.sessions - {session})._committed(transaction)

    def _committed(self, transaction: Transaction) -> ZooKeeper:
        after = replace(self, tree=transaction.tree, zxid=transaction.zxid, pending=(*self.pending, transaction))
        if self.lagging:
            return after
        for number, client in enumerate(self.clients):
            after = after._caught_up(number) if client.session else after
        return after._trimmed()

    def _caught_up(self, client: int) -> ZooKeeper:
        reader = self.clients[client]
        for transaction in self.pending:
            if transaction.zxid > reader.applied:
                reader = _applied(reader, transaction)
        return self._with(client, reader)._trimmed()

    def _trimmed(self) -> ZooKeeper:
        everybody_has = min((client.applied for client in self.clients if client.session), default=self.zxid)
        kept = tuple(transaction for transaction in self.pending if transaction.zxid > everybody_has)
        return self if len(kept) == len(self.pending) else replace(self, pending=kept)

    def _with(self, number: int, client: Client) -> ZooKeeper:
        return replace(self, clients=(*self.clients[:number], client, *self.clients[number + 1 :]))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError(message)


def _arrives(client: Client, *events: Event) -> Client:
    return replace(client, arriving=(*client.arriving, *events))


def _answer(operation: Read, view: Tree) -> Outcome:
    znode = view.get(operation.path)
    match operation:
        case Exists():
            return Absent() if znode is None else Found(None, znode.stat)
        case GetData():
            return Absent() if znode is None else Found(znode.data, znode.stat)
        case GetChildren():
            return Absent() if znode is None else Children(view.children(operation.path), znode.stat)


def _applied(client: Client, transaction: Transaction) -> Client:
    """A server applies a transaction, and fires the watches of its client, each once."""
    fired: list[WatchEvent] = []
    data, child = client.data_watches, client.child_watches
    for change in transaction.changes:
        deleted = change.type is WatchType.DELETED
        if change.path in data or (deleted and change.path in child):
            fired.append(WatchEvent(change.path, change.type))
        data -= {change.path}
        if deleted:
            child -= {change.path}
        parent = parent_of(change.path)
        if change.type is not WatchType.DATA_CHANGED and parent in child:
            fired.append(WatchEvent(parent, WatchType.CHILDREN_CHANGED))
            child -= {parent}
    caught_up = replace(client, applied=transaction.zxid, view=transaction.tree, data_watches=data, child_watches=child)
    return _arrives(caught_up, *fired) if client.is_connected else caught_up
