"""Owners and offsets in ZooKeeper: what is read of them, and what a coordinator writes (Consumer Coordinator, 5, 9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from impl.group.assignment import Owners
from impl.group.design import Design
from impl.group.effects import Context
from impl.group.protocol import Position, TopicPartition
from impl.group.registry import Group, Member, Rebalance
from impl.group.scripts import RefusedError, Script, children, data, do, is_over, refusal
from impl.group.znodes import SEAT, offset_path, owner_path, owners_path, parents
from impl.zookeeper import Create, Delete, ErrorCode, Failed, Multi, SetData
from impl.zookeeper.office import Epoch, fenced
from impl.zookeeper.znodes import ZnodeError, read_decimal, write_decimal

_MOST_INT64 = (1 << 63) - 1
_WRITES_PER_MULTI = 500
_ATTEMPTS = 3
Write = Create | SetData | Delete


class ConflictError(Exception):
    """A znode is not as this coordinator knows it: somebody else has written it."""


class DeposedError(Exception):
    """A write was refused: another coordinator was elected, or (is_over) the session has ended."""

    def __init__(self, *, is_over: bool) -> None:
        super().__init__()
        self.is_over = is_over


class Store:
    """The owners and offsets of groups. office: of the coordinator that writes; it is set with each term."""

    def __init__(self, context: Context, design: Design) -> None:
        self.context = context
        self.design = design
        self.office = Epoch(0, 0)
        self._made = set[str]()

    def begin_term(self, office: Epoch) -> None:
        self.office = office
        self._made = set()

    # Offsets.

    def report(self, group: Group, positions: Sequence[Position]) -> None:
        """Record offsets that a member reported."""
        for position in positions:
            of, offset = position.of, position.offset
            group.reported[of] = offset
            committed = group.committed.get(of)
            if committed is None or (offset > committed if self.design.commit_is_monotone else offset != committed):
                group.uncommitted.add(of)

    def has_uncommitted_of(self, group: Group, member: Member) -> bool:
        """A commit would change an offset of a partition that the member owns."""
        if not group.uncommitted:
            return False
        return any(of in group.uncommitted for of in group.owned.get(member.consumer, ()))

    def to_commit(self, group: Group) -> Collection[TopicPartition]:
        """The partitions that a commit writes. One that cannot trust what it knows writes all that was reported."""
        is_certain = self.design.fenced_writes and self.design.commit_is_monotone
        return group.uncommitted if is_certain else group.reported

    def commit(self, group: Group, *, read: Collection[TopicPartition] = ()) -> Script[None]:
        """Write the offsets of a group as last reported, and know those of other partitions. Raises DeposedError."""
        for _ in range(_ATTEMPTS):
            written = sorted(self.to_commit(group))
            unknown = {of for of in (*written, *read) if of not in group.committed or not self.design.fenced_writes}
            yield from self.read_offsets(group, unknown)
            writes = [self._commit(group, of) for of in written]
            values = {of: self._after_commit(group, of) for of in written}
            try:
                yield from self._write(group, writes)
            except ConflictError:
                group.committed.clear()
                continue
            group.committed.update(values)
            group.uncommitted -= {of for of, value in values.items() if group.reported[of] <= value}
            if values:
                self.context.did("commit", group=group.name, offsets=len(values))
            return
        raise RefusedError("offsets are written by somebody else, too")

    def read_offsets(self, group: Group, partitions: Collection[TopicPartition]) -> Script[None]:
        """Read the committed offsets of some partitions."""
        places = sorted(partitions)
        found = yield from data([offset_path(group.name, of) for of in places])
        for of, value in zip(places, found, strict=True):
            group.committed[of] = None if value is None else self._offset(group, of, value)

    def _offset(self, group: Group, of: TopicPartition, value: bytes) -> int:
        try:
            return read_decimal(offset_path(group.name, of), value, most=_MOST_INT64)
        except ZnodeError as error:
            self.context.log("garbage in a znode", is_warning=True, what=str(error))
            return 0

    def _after_commit(self, group: Group, of: TopicPartition) -> int:
        there, reported = group.committed.get(of), group.reported[of]
        return reported if there is None or not self.design.commit_is_monotone else max(there, reported)

    def _commit(self, group: Group, of: TopicPartition) -> Write:
        path, value = offset_path(group.name, of), write_decimal(self._after_commit(group, of))
        return Create(path, value) if group.committed.get(of) is None else SetData(path, value)

    # Others.

    def write(self, group: Group, *writes: Write) -> Script[None]:
        """Write as the coordinator. Raises DeposedError, ConflictError."""
        yield from self._write(group, writes)

    # Owners.

    def read_owners(self, group: Group) -> Script[Owners]:
        """The owners of a group's partitions, also of those that are not there any more (3.3)."""
        root = owners_path(group.name)
        (topics,) = yield from children([root])
        names = sorted(topics or ())
        found = yield from children([f"{root}/{topic}" for topic in names])
        places = [
            TopicPartition(topic, partition)
            for topic, partitions in zip(names, found, strict=True)
            for partition in partitions or ()
        ]
        threads = yield from data([owner_path(group.name, of) for of in places])
        owners = {
            of: thread.decode("utf-8", errors="replace")
            for of, thread in zip(places, threads, strict=True)
            if thread is not None
        }
        group.own(owners)
        return owners

    def read_ahead(self, group: Group) -> Script[None]:
        """Read owners, and the offsets of what they own, before the first rebalance of a term (3.1, 3.2).

        With fenced writes nobody else has written them since the election.
        """
        owners = yield from self.read_owners(group)
        yield from self.read_offsets(group, owners.keys() - group.committed.keys())
        group.is_read_ahead = True

    def write_owners(self, group: Group, rebalance: Rebalance) -> Script[None]:
        """Write an assignment (4.6), and delete what else is there, while the rebalance lasts. Raises DeposedError."""
        owners = rebalance.assignment
        for attempt in range(_ATTEMPTS):
            if attempt or not self.design.fenced_writes:
                yield from self.read_owners(group)
            writes: list[Write] = []
            for of in sorted(owners):
                path, value = owner_path(group.name, of), owners[of].encode()
                if of not in group.owners:
                    writes.append(Create(path, value))
                elif group.owners[of] != owners[of]:
                    writes.append(SetData(path, value))
            writes += [Delete(owner_path(group.name, of)) for of in sorted(group.owners) if of not in owners]
            try:
                yield from self._write(group, writes, rebalance)
            except ConflictError:
                continue
            if group.rebalance is rebalance:
                group.own(dict(owners))
            return
        raise RefusedError("owners are written by somebody else, too")

    def _write(self, group: Group, writes: Sequence[Write], of: Rebalance | None = None) -> Script[None]:
        """Write to ZooKeeper as the coordinator. With fenced writes, nothing to write still has the epoch checked.

        of: once this rebalance has failed, no more is written, as the next one may have begun to write.
        """
        yield from self._make_parents([write.path for write in writes if isinstance(write, Create)])
        for at in range(0, max(len(writes), 1), _WRITES_PER_MULTI):
            if of is not None and group.rebalance is not of:
                return
            part = writes[at : at + _WRITES_PER_MULTI]
            if not self.design.fenced_writes and not part:
                return
            multi = fenced(self.office, *part, seat=SEAT) if self.design.fenced_writes else Multi(tuple(part))
            outcome = yield from do(multi)
            if isinstance(outcome, Failed):
                is_deposed = self.design.fenced_writes and outcome.code is ErrorCode.BAD_VERSION and outcome.at == 0
                if is_deposed or is_over(outcome):
                    raise DeposedError(is_over=is_over(outcome))
                self._made.clear()
                cause = f"{outcome.code.value} {outcome.message}".strip()
                self.context.log("a write is repeated", is_warning=True, group=group.name, cause=cause)
                raise ConflictError

    def _make_parents(self, paths: Sequence[str]) -> Script[None]:
        needed = [parent for path in paths for parent in parents(path) if parent not in self._made]
        for parent in sorted(dict.fromkeys(needed), key=lambda path: path.count("/")):
            outcome = yield from do(Create(parent))
            if isinstance(outcome, Failed) and outcome.code is not ErrorCode.NODE_EXISTS:
                raise DeposedError(is_over=True) if is_over(outcome) else refusal(outcome)
            self._made.add(parent)
