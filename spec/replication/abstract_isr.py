"""The purpose of a replicated partition, without controller, brokers or messages: leader, ISR, one committed record.

A design that replicates partitions takes an instance of this page with its own brokers and leader epochs, and maps its
states to it: every step of the design is then a step of this page or none at all. What the page says of data is all
that a producer relies on: a record that the whole ISR had when it was committed stays with every member of the ISR,
until the last of them comes back from an empty disk.
Leaves out: who decides and why; replicas outside the ISR, which nobody may count on.
"""

from __future__ import annotations

from checker.lang import (
    Identity,
    Model,
    Option,
    Ordinal,
    Set,
    action,
    constants,
    fresh,
    init,
    invariant,
    require,
    state,
    transition_invariant,
    witness,
)

SOURCE = "Kafka, replication: leader, in-sync replicas, acks=all"


@constants
class Design:
    """The constants of an instance."""

    brokers: int = 3
    "Brokers, which are the replicas of the partition."
    shrinking_raises_epoch: bool = False
    "A leader that stays may get a new leader epoch as the ISR loses members. Off: an epoch is all that one leads."


class Broker(Identity, size=lambda: Design.brokers):
    """A broker, by its id."""


class LeaderEpoch(Ordinal):
    """Rises with each change of the leader."""


@state
class ReplicatedPartition:
    """A partition as its producers and consumers may think of it."""

    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    isr: Set[Broker]
    replicas_with_record: Set[Broker]  # members of the ISR that have the record
    committed: bool


@action(who="partition", source=SOURCE)
def append(r: ReplicatedPartition, member: Broker) -> None:
    """A member of the ISR gets the record."""
    require(member in r.isr and member not in r.replicas_with_record)
    r.replicas_with_record |= {member}


@action(who="partition", source=SOURCE)
def commit(r: ReplicatedPartition) -> None:
    """The record is committed once every member of the ISR has it."""
    require(not r.committed and r.isr <= r.replicas_with_record)
    r.committed = True


@action(who="partition", source=SOURCE)
def truncate(r: ReplicatedPartition, kept: Set[Broker]) -> None:
    """Members of the ISR lose a record that is not committed: several at once where that is noticed at once."""
    require(kept < r.replicas_with_record and not r.committed)
    r.replicas_with_record = kept


@action(who="partition", source=SOURCE)
def expand(r: ReplicatedPartition, member: Broker, has_record: bool) -> None:
    """The ISR gains a member, which must have what is committed."""
    require(member not in r.isr)
    require(has_record or not r.committed)
    r.isr |= {member}
    if has_record:
        r.replicas_with_record |= {member}


@action(who="partition", source=SOURCE)
def elect_from_isr(r: ReplicatedPartition, isr: Set[Broker], leader: Option[Broker], new_epoch: bool) -> None:
    """The ISR loses members but never the last, and one that stays leads, or nobody. A new leader, a new epoch."""
    require(len(isr) > 0 and isr <= r.isr)
    require(leader is None or leader in isr)
    require(new_epoch == (leader != r.leader) or (new_epoch and Design.shrinking_raises_epoch))
    if new_epoch:
        r.leader_epoch = fresh(r, LeaderEpoch)
    r.leader = leader
    r.replicas_with_record = r.replicas_with_record & isr
    r.isr = isr


@action(who="partition", source=SOURCE + "; before ELR (KIP-966)")
def forfeit(r: ReplicatedPartition, last: Broker, known: bool) -> None:
    """The last member of the ISR comes back from an empty disk, known as such at once or later.

    It is the one failure that loses what is committed.
    """
    require(r.committed and r.isr == {last})
    if known:
        r.replicas_with_record = frozenset()
    if r.leader is not None:
        r.leader_epoch = fresh(r, LeaderEpoch)
    r.leader = None
    r.committed = False


@invariant(source=SOURCE)
def committed_record_is_with_the_isr(r: ReplicatedPartition) -> bool:
    """Every member of the ISR has the committed record: whoever is elected from it has it."""
    return not r.committed or r.isr <= r.replicas_with_record


@invariant(source=SOURCE)
def leader_and_copies_are_in_the_isr(r: ReplicatedPartition) -> bool:
    """The ISR has members, of which one leads, or nobody; of other replicas nothing is known."""
    return len(r.isr) > 0 and (r.leader is None or r.leader in r.isr) and r.replicas_with_record <= r.isr


@transition_invariant(source=SOURCE)
def epoch_is_of_one_leader(before: ReplicatedPartition, after: ReplicatedPartition) -> bool:
    """A leader epoch begins with each change of the leader, and only with one unless shrinking raises it."""
    if before.leader == after.leader and not Design.shrinking_raises_epoch:
        return before.leader_epoch == after.leader_epoch
    return before.leader_epoch < after.leader_epoch or (
        before.leader == after.leader and before.leader_epoch == after.leader_epoch
    )


@transition_invariant(source=SOURCE + "; before ELR (KIP-966)")
def committed_until_the_last_is_lost(before: ReplicatedPartition, after: ReplicatedPartition) -> bool:
    """A committed record stays committed, unless the last member of the ISR loses its disk."""
    return after.committed or not before.committed or (len(before.isr) == 1 and after.leader is None)


@transition_invariant(source=SOURCE)
def record_is_copied_to_one_at_a_time(before: ReplicatedPartition, after: ReplicatedPartition) -> bool:
    """No step gives the record to more than one member."""
    return len(after.replicas_with_record - before.replicas_with_record) <= 1


@witness
def another_leads(r: ReplicatedPartition) -> bool:
    """A broker other than the first leads."""
    return r.leader is not None and r.leader != Broker(0)


@init
def all_in_sync() -> ReplicatedPartition:
    """Every broker is in the ISR, broker 0 leads, nothing is written."""
    return ReplicatedPartition(Broker(0), LeaderEpoch(0), frozenset(Broker), frozenset(), committed=False)


ABSTRACT_ISR = Model(
    name="abstract_isr",
    doc="A partition's leader, ISR and committed record on one page: what the other models implement.",
    init=all_in_sync,
    actions=(append, commit, truncate, expand, elect_from_isr, forfeit),
    properties=(
        committed_record_is_with_the_isr,
        leader_and_copies_are_in_the_isr,
        epoch_is_of_one_leader,
        committed_until_the_last_is_lost,
        record_is_copied_to_one_at_a_time,
        another_leads,
    ),
    constants={"brokers": 3},
    faults="a member that loses what is not committed; a last member that loses all",
    not_modelled="who decides, and how the replicas come to agree: the models that refine this one",
)
