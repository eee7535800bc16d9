"""Requests that brokers send to the active controller, and the replies.

A request goes `to` the controller that its sender takes for the active one. It travels on its own: it may be
lost, copied, or land long after its sender is gone (`sender` is for the reply). Of a request that was sent twice,
the `late` copy is the one whose connection its sender has given up: nobody waits for its reply. A reply travels on
the connection of its request, which goes with the process that opened it; so replies under way are kept with the
process that waits for them.
Leaves out: cluster id, listeners, features and rack of a registration (none of them can differ here),
IsCaughtUp (only a reply that says so reaches a broker that starts), and fetch requests (see `replica`).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Nat, Option, Set, message
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    Error,
    Incarnation,
    LeaderEpoch,
    MetadataOffset,
    PartitionEpoch,
    Process,
    TopicId,
    TopicPartition,
    Voter,
    snapshot_end_counts,
)

# With 1, an image lacks something of the snapshot that a controller has loaded, where that counts.
Lack = Annotated[int, Nat(lambda: 1 if snapshot_end_counts() else 0)]


@message
class Register:
    """BrokerRegistrationRequest."""

    sender: Process
    incarnation: Incarnation
    late: bool
    to: Voter


@message
class RegisterReply:
    """BrokerRegistrationResponse."""

    error: Error
    broker_epoch: Option[BrokerEpoch]


@message
class Heartbeat:
    """BrokerHeartbeatRequest.

    CurrentMetadataOffset is split by what it is compared with. `caught_up`: it is at or past the broker's own
    registration. `applied`: how far it reaches among the offsets of controlled shutdowns. `lacks`: it is before the end
    of the snapshot that the controller it goes to has that registration from.
    """

    sender: Process
    broker_epoch: BrokerEpoch
    want_fence: bool
    want_shut_down: bool
    caught_up: bool
    applied: Option[MetadataOffset]
    late: bool
    to: Voter
    lacks: Lack


@message
class HeartbeatReply:
    """BrokerHeartbeatResponse."""

    error: Error
    is_fenced: bool
    should_shut_down: bool


@message
class AlterIsr:
    """AlterPartitionRequest. `added_epoch`: the broker epoch at which the leader saw the replica that it adds."""

    sender: Process
    broker_epoch: BrokerEpoch
    topic: TopicId
    partition: TopicPartition
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Set[Broker]
    added_epoch: Option[BrokerEpoch]
    late: bool
    to: Voter


@message
class AlterIsrReply:
    """AlterPartitionResponse. Of a success: the partition as it is now, which need not be what was asked for."""

    error: Error
    at_new_leader_epoch: bool
    partition_epoch: PartitionEpoch
    isr: Set[Broker]


LifecycleRequest = Register | Heartbeat
LifecycleReply = RegisterReply | HeartbeatReply
