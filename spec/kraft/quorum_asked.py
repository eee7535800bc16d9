"""The quorum's log and its controllers: who takes office, decides and answers, and what brokers and operators see.

What is decided is one removal, of the registration of a broker that does nothing else, as `topics.unregister` has it. A
batch that is not the first of its epoch is such a removal, for the first is a LeaderChange. Here and in
`models.quorum`, where an election is one step, the same can be seen: `seen`, `seen_of_cluster`.
"""

from __future__ import annotations

from checker.lang import Option, Set, action, invariant, message, replace, require, witness
from spec.kraft.design import Design
from spec.kraft.quorum_log import Entries, Entry, Offset, QuorumLog, Request, committed_end
from spec.kraft.state import Cluster
from spec.kraft.types import Broker, Role, Voter


def holds_removal(log: Entries) -> bool:
    return any(i > 0 and i < len(log) and log[i].epoch == log[i - 1].epoch for i in range(Design.pending_batches))


@action(who="controller {leader}", source="KIP-631, Controller Failover; KAFKA-17333")
def take_office(q: QuorumLog, leader: Voter) -> None:
    """The controller of a leader becomes active once the leader knows that all of its log is committed."""
    member = q.members[leader]
    require(member.leads and not member.is_active and committed_end(member, leader) == len(member.log))
    member.is_active = True


@action(who="controller {leader}", source="KIP-631, UnregisterBroker")
def remove(q: QuorumLog, leader: Voter, kept: Offset) -> None:
    """An operator asks an active controller to remove a registration that is still in its image."""
    member = q.members[leader]
    require(member.is_active and not holds_removal(member.log))
    require(member.kept <= kept and kept <= len(member.log) + 1)
    require(q.unregistrations < Design.max_unregistrations and len(member.log) < Design.pending_batches)
    member.log = member.log + (Entry(epoch=member.epoch, crashes=0),)
    member.kept = kept
    q.written[member.epoch] = member.log
    q.request = (Request(leader, member.epoch, is_confirmed=False),)
    q.unregistrations += 1


@action(who="controller {leader}", source="KIP-631, Controller Failover")
def confirm(q: QuorumLog, leader: Voter) -> None:
    """The removal is confirmed to its operator by the leader that was asked, which knows it to be committed."""
    require(len(q.request) > 0)
    member, request = q.members[leader], q.request[0]
    require(request.voter == leader and request.epoch == member.epoch and member.leads and not request.is_confirmed)
    require(holds_removal(member.log[: committed_end(member, leader)]))
    q.request = (replace(request, is_confirmed=True),)


@invariant(source="KIP-631, UnregisterBroker")
def confirmed_is_committed(q: QuorumLog) -> bool:
    """A removal that was confirmed is committed."""
    return len(q.request) == 0 or not q.request[0].is_confirmed or holds_removal(q.committed)


@witness
def active_without_what_is_committed(q: QuorumLog) -> bool:
    """A controller is active that lacks what its successor has committed."""
    return any(q.members[v].is_active and q.members[v].log[: len(q.committed)] != q.committed for v in Voter)


@witness
def removal_is_lost(q: QuorumLog) -> bool:
    """A removal was asked for, and is in no log any more: it is never confirmed."""
    return q.unregistrations > 0 and not any(holds_removal(q.members[v].log) for v in Voter)


# What can be seen.


@message
class Seen:
    """What brokers and operators can see of the controllers."""

    active: Set[Voter]
    without_broker: Set[Voter]  # active, with an image from which the broker is gone
    asked: Option[Voter]  # last, to remove it
    is_confirmed: bool


def seen(q: QuorumLog) -> Seen:
    return Seen(
        active=frozenset(v for v in Voter if q.members[v].is_active),
        without_broker=frozenset(v for v in Voter if q.members[v].is_active and holds_removal(q.members[v].log)),
        asked=None if len(q.request) == 0 else q.request[0].voter,
        is_confirmed=len(q.request) > 0 and q.request[0].is_confirmed,
    )


def seen_of_cluster(s: Cluster) -> Seen:
    return Seen(
        active=frozenset(v for v in Voter if s.controllers[v].role == Role.ACTIVE),
        without_broker=frozenset(v for v in Voter if s.controllers[v].role == Role.ACTIVE and is_removed(s, v)),
        asked=None if len(s.last_removal) == 0 else s.last_removal[0].voter,
        is_confirmed=len(s.last_removal) > 0 and s.last_removal[0].is_confirmed,
    )


def is_removed(s: Cluster, voter: Voter) -> bool:
    return all(s.controllers[voter].image.registrations[broker] is None for broker in Broker)
