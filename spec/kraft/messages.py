"""Requests and replies between brokers and the active controller.

`sender` and `to` stand for the connection. A reply finds its request again through the incarnation or the epochs that
it repeats, as a correlation id does; where these are no longer the process's own, the reply goes nowhere.
Leaves out: cluster id, listeners, features and rack of a registration (none of them can differ here), WantShutDown and
ShouldShutDown (controlled shutdown), and fetch requests (a fetch is one step, see `replica`).
"""

from __future__ import annotations

from checker.lang import Option, Set, message
from spec.kraft.types import Broker, BrokerEpoch, Error, Incarnation, LeaderEpoch, PartitionEpoch, Process


@message
class Register:
    """BrokerRegistrationRequest."""

    sender: Process
    incarnation: Incarnation


@message
class RegisterReply:
    """BrokerRegistrationResponse."""

    to: Process
    incarnation: Incarnation
    error: Error
    broker_epoch: Option[BrokerEpoch]


@message
class Heartbeat:
    """BrokerHeartbeatRequest. `caught_up`: CurrentMetadataOffset is at or past the broker's own registration."""

    sender: Process
    broker_epoch: BrokerEpoch
    want_fence: bool
    caught_up: bool


@message
class HeartbeatReply:
    """BrokerHeartbeatResponse."""

    to: Process
    broker_epoch: BrokerEpoch
    error: Error
    is_fenced: bool


@message
class AlterIsr:
    """AlterPartitionRequest. `added_epoch`: the broker epoch at which the leader saw the replica that it adds."""

    sender: Process
    broker_epoch: BrokerEpoch
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Set[Broker]
    added_epoch: Option[BrokerEpoch]


@message
class AlterIsrReply:
    """AlterPartitionResponse: of a success, the partition as it is now; of an error, what had been asked."""

    to: Process
    error: Error
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Set[Broker]


LifecycleMessage = Register | RegisterReply | Heartbeat | HeartbeatReply
AlterMessage = AlterIsr | AlterIsrReply
