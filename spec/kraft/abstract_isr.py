"""The purpose of a replicated partition, without controller, brokers or messages: leader, ISR, one committed record.

Every step of the KIP-631 spec is, seen through `as_partition`, a step of this page or none at all. What the
page says of data is all that a producer relies on: a record that the whole ISR had when it was committed stays
with every member of the ISR, until the last of them comes back from an empty disk.
Leaves out: who decides and why; replicas outside the ISR, which nobody may count on.
"""

from __future__ import annotations

from checker.lang import (
    Model,
    Option,
    Set,
    action,
    fresh,
    init,
    invariant,
    refines,
    require,
    state,
    transition_invariant,
    witness,
)
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, LeaderEpoch, Process, RecordStatus, TopicPartition, node_id

SOURCE = "Kafka, replication: leader, in-sync replicas, acks=all"


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
def truncate(r: ReplicatedPartition, member: Broker) -> None:
    """A member of the ISR loses a record that is not committed."""
    require(member in r.replicas_with_record and not r.committed)
    r.replicas_with_record -= {member}


@action(who="partition", source=SOURCE)
def expand(r: ReplicatedPartition, member: Broker, has_record: bool) -> None:
    """The ISR gains a member, which must have what is committed."""
    require(member not in r.isr)
    require(has_record or not r.committed)
    r.isr |= {member}
    if has_record:
        r.replicas_with_record |= {member}


@action(who="partition", source=SOURCE)
def elect_from_isr(r: ReplicatedPartition, isr: Set[Broker], leader: Option[Broker]) -> None:
    """The ISR loses members but never the last, and one that stays leads, or nobody. A new leader, a new epoch."""
    require(len(isr) > 0 and isr <= r.isr)
    require(leader is None or leader in isr)
    if leader != r.leader:
        r.leader_epoch = fresh(r, LeaderEpoch)
    r.leader = leader
    r.replicas_with_record = r.replicas_with_record & isr
    r.isr = isr


@action(who="partition", source=SOURCE + "; before ELR (KIP-966)")
def forfeit(r: ReplicatedPartition, last: Broker) -> None:
    """The last member of the ISR registers from an empty disk: the one failure that loses what is committed."""
    require(r.committed and r.isr == {last})
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
    """A leader epoch begins with each change of the leader, and only with one."""
    same_leader = before.leader == after.leader
    return before.leader_epoch == after.leader_epoch if same_leader else before.leader_epoch < after.leader_epoch


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


def has_record(s: Cluster, member: Broker) -> bool:
    """True when the incarnation of a broker that is registered has the record.

    One that is gone cannot come back without registering again, so it counts as a holder until then.
    """
    registration = committed(s).registrations[member]
    return not any(
        node_id(process) == member
        and registration is not None
        and s.processes[process].broker_epoch == registration.broker_epoch
        and not s.processes[process].replicas[TopicPartition(0)].has_record
        for process in Process
    )


@refines(ABSTRACT_ISR, source=SOURCE)
def as_partition(s: Cluster) -> ReplicatedPartition:
    """The partition as the committed metadata has it, and the record as the registered processes have it."""
    partition = committed(s).partitions[TopicPartition(0)]
    assert partition is not None
    return ReplicatedPartition(
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        replicas_with_record=frozenset(member for member in partition.isr if has_record(s, member)),
        committed=s.produced[TopicPartition(0)] == RecordStatus.ACKNOWLEDGED,
    )
