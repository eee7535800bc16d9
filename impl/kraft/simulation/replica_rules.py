"""The rules of partitions' replicas (S13), held at every event by one that sees the logs of all brokers.

D1 one leader in a leader epoch. D2 the same offset and leader epoch: the same batch, and the same before. D3 what a
leader takes for committed is in the log of every member of the ISR that it reckons with, and nobody takes more for
committed. D4 whoever leads in the newest epoch has all that was ever committed. D5 what is committed is not cut. D6 a
fetch tells of nothing that its sender has not. D7 a process that comes back has what was in its log. D8 the ISR, as it
is decided, has all that is committed, and the leader of that epoch reckons with all of it (S12). D9 a broker acts on
metadata that does not go back while its process runs. An unclean election may lose what was committed: from then on
that is what its leader has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from impl.kraft.image import PartitionKey
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.storage.batches import Entry


@dataclass
class ReplicaSeen:
    """A log as its appends and truncations make it. leader_epoch: at which it leads or follows; -1: at none.

    kept: how much of `entries` the last write found there, and cut: what it took away; a process that dies in it may
    leave the log as it was.
    """

    entries: list[Entry] = field(default_factory=list)
    leader_epoch: int = -1
    kept: int = 0
    cut: list[Entry] = field(default_factory=list)

    @property
    def end_offset(self) -> int:
        return self.entries[-1].end_offset if self.entries else 0

    def before(self, end_offset: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.end_offset <= end_offset]

    def has(self, entries: Sequence[Entry]) -> bool:
        return self.entries[: len(entries)] == entries


@dataclass
class PartitionSeen:
    """leaders: by epoch. committed: the longest log that was below the high watermark of any leader. isr: as decided.

    deleted: by whom, as the replica is to be elsewhere; a leader that has not heard of that may still reckon with them.
    anew: from which leader epoch on they have a log again, which leaders of earlier ones do not know.
    """

    replicas: dict[int, ReplicaSeen] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    committed: list[Entry] = field(default_factory=list)
    written: dict[tuple[int, int], tuple[Entry, Entry | None]] = field(default_factory=dict)
    isr: tuple[int, ...] = ()
    deleted: set[int] = field(default_factory=set)
    anew: dict[int, int] = field(default_factory=dict)

    def replica(self, broker: int) -> ReplicaSeen:
        return self.replicas.setdefault(broker, ReplicaSeen())

    def begin_anew(self, broker: int, epoch: int) -> None:
        """One that has deleted its log leads or follows again; at epoch -1, it does neither yet."""
        if broker in self.deleted and epoch >= 0:
            self.deleted.discard(broker)
            self.anew[broker] = epoch

    def is_known(self, broker: int, epoch: int) -> bool:
        """Does a leader of this epoch know of the log that a broker has now?"""
        return broker not in self.deleted and self.anew.get(broker, epoch) <= epoch


class ReplicaRules:
    """Of every partition. Each method is one event of a broker; it raises BrokenRuleError."""

    def __init__(self) -> None:
        self.partitions: dict[PartitionKey, PartitionSeen] = {}
        self._applied: dict[int, int] = {}

    def of(self, key: PartitionKey) -> PartitionSeen:
        return self.partitions.setdefault(key, PartitionSeen())

    def start(self, broker: int, logs: dict[PartitionKey, list[Entry]]) -> None:
        """A process has found these logs. What the last one was writing when it ended may be there, or not."""
        self._applied[broker] = -1
        for key, partition in self.partitions.items():
            if broker in partition.replicas and key not in logs:
                _hold(not partition.replicas[broker].entries, "D7", key, f"broker {broker} has lost its log")
        for key, found in logs.items():
            replica = self.of(key).replica(broker)
            shared = min(len(found), len(replica.entries))
            is_kept = shared >= replica.kept and found[:shared] == replica.entries[:shared]
            is_uncut = found == replica.entries + replica.cut
            _hold((is_kept and len(found) == shared) or is_uncut, "D7", key, f"broker {broker} has another log")
            self.of(key).replicas[broker] = ReplicaSeen(found, kept=len(found))

    def apply(self, broker: int, offset: int) -> None:
        """It acts on the metadata up to here; -1: not any more, as it is not registered there."""
        before = self._applied.get(broker, -1)
        if offset < before and offset >= 0:
            raise BrokenRuleError(f"D9: broker {broker} goes back from {before} to {offset}")
        self._applied[broker] = max(offset, before)

    def append(self, broker: int, key: PartitionKey, entries: Iterable[Entry]) -> None:
        """Batches are being written."""
        partition = self.of(key)
        replica = partition.replica(broker)
        replica.kept, replica.cut = len(replica.entries), []
        for entry in entries:
            before = replica.entries[-1] if replica.entries else None
            is_after = before is None or (before.end_offset < entry.end_offset and before.epoch <= entry.epoch)
            _hold(is_after, "D2", key, f"broker {broker} has {entry} behind {before}")
            known = partition.written.setdefault((replica.end_offset, entry.epoch), (entry, before))
            _hold(
                known == (entry, before), "D2", key, f"broker {broker} has {entry}, and elsewhere there is {known[0]}"
            )
            replica.entries.append(entry)

    def truncate(self, broker: int, key: PartitionKey, end_offset: int) -> None:
        """The log is being cut at this offset."""
        partition = self.of(key)
        replica = partition.replica(broker)
        kept = replica.before(end_offset)
        shared = min(len(replica.entries), len(partition.committed))
        had = next((n for n in range(shared) if replica.entries[n] != partition.committed[n]), shared)
        _hold(len(kept) >= had, "D5", key, f"broker {broker} cuts {replica.entries[len(kept) : had]}, committed")
        replica.cut, replica.entries, replica.kept = replica.entries[len(kept) :], kept, len(kept)

    def delete(self, broker: int, key: PartitionKey) -> None:
        """The log is being deleted, as the replica is no longer here."""
        partition = self.of(key)
        partition.replicas[broker] = ReplicaSeen(cut=partition.replica(broker).entries)
        partition.deleted.add(broker)

    def lead(self, broker: int, key: PartitionKey, epoch: int, *, is_recovering: bool = False) -> None:
        """A broker begins to lead. is_recovering: by an unclean election, so that it may lack what was committed."""
        partition = self.of(key)
        first = partition.leaders.setdefault(epoch, broker)
        _hold(first == broker, "D1", key, f"{first} and {broker} lead epoch {epoch}")
        replica = partition.replica(broker)
        replica.leader_epoch = epoch
        partition.begin_anew(broker, epoch)
        if is_recovering:
            partition.committed = [one for one in partition.committed if one in replica.entries]
        if epoch == max(partition.leaders):
            _hold(replica.has(partition.committed), "D4", key, f"broker {broker} leads without what is committed")

    def follow(self, broker: int, key: PartitionKey, epoch: int) -> None:
        """A broker begins to follow; or, at epoch -1, it does neither."""
        self.of(key).begin_anew(broker, epoch)
        self.of(key).replica(broker).leader_epoch = epoch

    def serve(self, key: PartitionKey, epoch: int, follower: int, offset: int) -> None:
        """A leader takes a fetch for a sign that its sender has what is before an offset."""
        replica = self.of(key).replica(follower)
        has_it = replica.leader_epoch != epoch or offset <= replica.end_offset
        _hold(has_it, "D6", key, f"broker {follower} is taken to have {offset}, of {replica.end_offset}")

    def commit(self, broker: int, key: PartitionKey, end_offset: int, isr: Iterable[int] | None) -> None:
        """A broker takes what is before an offset for committed. isr: that a leader reckons with; None: it follows."""
        partition = self.of(key)
        replica = partition.replica(broker)
        _hold(end_offset <= replica.end_offset, "D3", key, f"broker {broker} takes {end_offset} for committed")
        entries = replica.before(end_offset)
        if isr is not None:
            left = (member for member in isr if partition.is_known(member, replica.leader_epoch))
            lacking = [member for member in left if not partition.replica(member).has(entries)]
            _hold(not lacking, "D3", key, f"broker {broker} commits up to {end_offset}, and {lacking} lack it")
            if len(entries) > len(partition.committed):
                newest = partition.leaders[max(partition.leaders)]
                has_it = partition.replica(newest).has(entries)
                _hold(
                    has_it, "D4", key, f"broker {broker} commits up to {end_offset}, and the leader {newest} lacks it"
                )
                partition.committed = entries
                self._look_at_isr(key)
        is_committed = partition.committed[: len(entries)] == entries
        _hold(is_committed, "D3", key, f"broker {broker} takes something else for committed up to {end_offset}")

    def decide(self, key: PartitionKey, isr: tuple[int, ...]) -> None:
        """This ISR is committed."""
        self.of(key).isr = isr
        self._look_at_isr(key)

    def _look_at_isr(self, key: PartitionKey) -> None:
        partition = self.of(key)
        lacking = [member for member in partition.isr if not partition.replica(member).has(partition.committed)]
        _hold(not lacking, "D8", key, f"{lacking} of the ISR lack what is committed")


def _hold(kept: bool, rule: str, key: PartitionKey, what: str) -> None:
    if not kept:
        raise BrokenRuleError(f"{rule}: partition {key[1]} of {key[0]}: {what}")
