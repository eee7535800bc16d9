"""The one record: produced to the leader, fetched by followers, acknowledged."""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, Option, action, require, require_some
from spec.heartbeat.decisions.processes import maximal_isr
from spec.heartbeat.design import Design
from spec.heartbeat.state import BrokerProcess, Cluster, Fetch, serves
from spec.heartbeat.types import Broker, Incarnation, LeaderEpoch, Process, RecordStatus, broker_id

LateFetch = Annotated[Fetch, MemberOf("late_fetches")]


@action(who="process {process}", source="KIP-343, Broker-Side Heartbeat Timeout (new requests)")
def accept_produce(s: Cluster, process: Process) -> None:
    """The leader accepts a produce request: it is not fenced."""
    require(Design.records > 0 and s.record == RecordStatus.UNWRITTEN and serves(s.processes[process]))
    require(not any(s.processes[p].in_hand for p in Process))
    s.processes[process].in_hand = True


@action(who="process {process}", source="KIP-343, Broker-Side Heartbeat Timeout (existing requests will be completed)")
def append(s: Cluster, process: Process) -> None:
    """The leader appends the record of a request in hand."""
    own = s.processes[process]
    require(own.in_hand and own.leads and s.record == RecordStatus.UNWRITTEN)
    own.has_record = True
    own.caught_up = frozenset()
    s.record = RecordStatus.WRITTEN


@action(
    who="process {process}",
    source="Kafka, replication: leader, in-sync replicas, acks=all",
    kafka="Partition.checkEnoughReplicasReachOffset",
)
def acknowledge(s: Cluster, process: Process) -> None:
    """The leader acknowledges the record: every member of the maximal ISR has it."""
    own = s.processes[process]
    require(own.in_hand and own.leads and own.has_record and s.record == RecordStatus.WRITTEN)
    require(not own.fenced or not Design.acknowledges_unfenced)
    require(len(own.isr) >= Design.min_insync_replicas)
    require(all(b == broker_id(process) or b in own.caught_up for b in maximal_isr(own)))
    own.in_hand = False
    s.record = RecordStatus.ACKNOWLEDGED


def may_fetch(process: BrokerProcess) -> bool:
    """It runs as a follower, and is not fenced."""
    return process.up and not process.leads and (not process.fenced or not Design.fetches_unfenced)


def accepts_fetch(leader: BrokerProcess, broker: Broker, epoch: Option[LeaderEpoch], incarnation: Incarnation) -> bool:
    """A leader that serves accepts a fetch of its own leader epoch, by no lower incarnation than it has seen."""
    seen = leader.followers[broker]
    is_lower = seen is not None and incarnation < seen
    return serves(leader) and epoch == leader.leader_epoch and not (is_lower and Design.fetch_names_incarnation)


@action(
    who="process {follower}",
    source="Kafka, replication: leader, in-sync replicas, acks=all",
    kafka="ReplicaFetcherThread; KIP-903 for the incarnation in it",
    deviates="truncates and catches up in one step; a leader that is fenced accepts no fetch",
)
def fetch(s: Cluster, leader: Process, follower: Process) -> None:
    """A follower catches up with the leader, which sees it at its incarnation."""
    own = s.processes[leader]
    other = s.processes[follower]
    incarnation = require_some(other.incarnation)
    broker = broker_id(follower)
    require(broker_id(leader) != broker and may_fetch(other) and other.leader_epoch is not None)
    require(accepts_fetch(own, broker, other.leader_epoch, incarnation))
    require(own.followers[broker] != incarnation or broker not in own.caught_up or other.has_record != own.has_record)
    other.has_record = own.has_record
    own.followers[broker] = incarnation
    own.caught_up |= {broker}


@action(who="process {follower}", source="Kafka, replication: leader, in-sync replicas, acks=all")
def send_late_fetch(s: Cluster, follower: Process) -> None:
    """A follower sends a fetch that will be late: when it arrives, its sender may be fenced, or dead."""
    other = s.processes[follower]
    incarnation = require_some(other.incarnation)
    epoch = require_some(other.leader_epoch)
    require(len(s.late_fetches) < Design.late_fetches and may_fetch(other))
    s.late_fetches = s.late_fetches.add(Fetch(broker_id(follower), incarnation, epoch, other.has_record))


@action(
    who="process {leader}",
    source="Kafka, replication: leader, in-sync replicas, acks=all",
    kafka="ReplicaManager.fetchMessages; KIP-903 for the incarnation in it",
    deviates="its answer is lost; one that has less than the leader changes nothing",
)
def take_late_fetch(s: Cluster, leader: Process, request: LateFetch) -> None:
    """A late fetch reaches a process: a leader that accepts it sees a follower that has all as it was then."""
    own = s.processes[leader]
    require(own.up and broker_id(leader) != request.sender)
    s.late_fetches = s.late_fetches.remove(request)
    is_accepted = accepts_fetch(own, request.sender, request.leader_epoch, request.incarnation)
    if is_accepted and request.has_record == own.has_record:
        own.followers[request.sender] = request.incarnation
        own.caught_up |= {request.sender}
