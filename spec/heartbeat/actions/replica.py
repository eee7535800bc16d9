"""The one record: produced to the leader, fetched by followers, acknowledged."""

from __future__ import annotations

from checker.lang import action, require, require_some
from spec.heartbeat.decisions.processes import maximal_isr
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, serves
from spec.heartbeat.types import Process, RecordStatus, broker_id


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
    require(serves(own) and other.up and not other.leads and broker_id(leader) != broker_id(follower))
    require(other.leader_epoch is not None and other.leader_epoch == own.leader_epoch)
    require(not other.fenced or not Design.fetches_unfenced)
    broker = broker_id(follower)
    seen = own.followers[broker]
    require(seen is None or seen <= incarnation or not Design.fetch_names_incarnation)
    require(seen != incarnation or broker not in own.caught_up or other.has_record != own.has_record)
    other.has_record = own.has_record
    own.followers[broker] = incarnation
    own.caught_up |= {broker}
