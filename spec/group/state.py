"""The state: znodes, brokers that may be the coordinator, consumers and their connections.

What a coordinator knows of members, offsets and attempts is soft. Membership is stored nowhere.
Leaves out: more than two records a partition, streams within a consumer (threads count for the assignment only),
replication. Sections 12 and 13 of the document name classes; section 3 is empty. The session of a broker that dies ends
at once: nothing that others do meanwhile depends on it.

`lapsed` stands for time: the session of a consumer is over by its own clock, and it has yet to look. A session counts
from the sending of the last answer that a ping acknowledges by its count of retries; `timed` has the arithmetic.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, History, Map, Nat, Option, Seq, Set, record, state
from spec.group.design import Design
from spec.group.messages import UNDER_WAY, Offset, Position, Request, Response
from spec.group.types import (
    Attempt,
    Broker,
    Consumer,
    ConsumerState,
    CoordinatorEpoch,
    Group,
    Handler,
    Partition,
    Phase,
    Thread,
    Topic,
)

Owners = Map[Partition, Option[Thread]]
Requests = Annotated[Seq[Request], AtMost(lambda: Design.queue)]
Responses = Annotated[Seq[Response], AtMost(lambda: Design.queue)]
Retries = Annotated[int, Nat(lambda: Design.max_retries)]


Unanswered = Annotated[int, Nat(lambda: UNDER_WAY * Design.pings)]
Failed = Annotated[int, Nat(lambda: Design.ping_retries * Design.pings)]


@record
class GroupNodes:
    """`/consumers/<group>`: `owners/<topic>/<partition>` and `offsets/<topic>/<partition>`, persistent.

    Members are stored in section 2 only.
    """

    owners: Owners
    offsets: Map[Partition, Offset]
    members: Set[Consumer]


@record
class ZooKeeper:
    """The znodes."""

    coordinator: Option[Broker]  # /consumers/coordinator, ephemeral
    epoch: CoordinatorEpoch  # of the newest coordinator
    partitions: Set[Partition]  # /brokers/topics/<topic>: those that are there
    groups: Map[Group, GroupNodes]


@record
class Consumption:
    """For each partition the offset up to which somebody of the group has consumed."""

    ends: Map[Partition, Offset]


@record
class Registry:
    """What the coordinator knows of a group (5)."""

    members: Set[Consumer]
    bit: bool  # a rebalance is asked for
    gave_up: bool  # out of retries, and nobody has asked for another rebalance since
    started: Set[Consumer]  # members that fetch their share of the owners in ZooKeeper
    reported: Set[Position]  # offsets as last reported; of a partition that is missing, ZooKeeper's counts
    unanswered: Map[Consumer, Unanswered]  # pings sent on the consumer's connection whose answer was not read
    failed: Map[Consumer, Failed]  # pings that have failed, as the coordinator counts them
    in_a_row: Map[Consumer, Failed]  # of the pings that failed, those since the last answer


@record
class Rebalance:
    """A handler, and the rebalance that it is in (9)."""

    queue: Set[Group]  # groups whose rebalance waits for this handler
    group: Option[Group]
    phase: Phase
    attempt: Option[Attempt]
    retries: Retries
    assignment: Owners
    waits_for: Set[Consumer]  # watchers that are not cleared


@record
class BrokerProcess:
    """A broker. What it knows as the coordinator, a former coordinator believes on."""

    is_up: bool
    expired: bool  # its session has ended, and it has yet to hear of that
    epoch: Option[CoordinatorEpoch]  # it believes to be the coordinator
    waits_out: bool  # it was elected less than the longest session ago
    starts_up: bool  # it was elected, and has yet to do the second part of coordinatorStartup
    topics: Set[Topic]  # that it knows
    watches_topics: bool
    watched: Set[Topic]  # whose partitions it watches
    new_topics: bool  # an event of /brokers/topics waits
    new_partitions: Set[Topic]  # events of /brokers/topics/<topic> that wait
    registries: Map[Group, Registry]
    handlers: Map[Handler, Rebalance]


@record
class ConsumerProcess:
    """A consumer."""

    state: ConsumerState
    heard: Option[CoordinatorEpoch]  # the newest coordinator that it has registered with
    lapsed: bool  # its session is over by its own clock
    fetched: Set[Position]
    answered: Unanswered  # pings, since it shuts down; so many, or more


@record
class Channel:
    """The connection of a consumer: its own end, the broker's end, and what is queued each way."""

    peer: Option[Broker]  # whom the consumer is connected to
    server: Option[Broker]  # the broker at whose end it is registered
    broken: bool  # closed by the broker, and the consumer has yet to notice
    requests: Requests
    responses: Responses


Crashes = Annotated[int, Nat(lambda: Design.max_crashes)]
BrokerCrashes = Annotated[int, Nat(lambda: Design.max_broker_crashes)]
Expiries = Annotated[int, Nat(lambda: Design.max_expiries)]
TimeOuts = Annotated[int, Nat(lambda: Design.max_time_outs)]
FalseDeaths = Annotated[int, Nat(lambda: Design.max_false_deaths)]
EarlySuspicions = Annotated[int, Nat(lambda: Design.max_early_suspicions)]


OutOfRange = Annotated[int, Nat(lambda: Design.max_out_of_range)]
Shutdowns = Annotated[int, Nat(lambda: Design.max_shutdowns)]


@record
class Faults:
    """The spent part of each budget."""

    crashes: Crashes
    broker_crashes: BrokerCrashes
    expiries: Expiries
    time_outs: TimeOuts
    false_deaths: FalseDeaths
    early_suspicions: EarlySuspicions
    out_of_range: OutOfRange
    shutdowns: Shutdowns


@state
class Cluster:
    """ZooKeeper, brokers and consumers."""

    zookeeper: ZooKeeper
    brokers: Map[Broker, BrokerProcess]
    consumers: Map[Consumer, ConsumerProcess]
    channels: Map[Consumer, Channel]
    consumed: Annotated[Map[Group, Consumption], History]
    former_wrote: Annotated[bool, History]  # a former coordinator has changed owners or offsets
    faults: Faults


def is_coordinator(s: Cluster, broker: Broker) -> bool:
    """A broker is the coordinator, as it believes and as ZooKeeper has it."""
    epoch = s.brokers[broker].epoch
    return epoch is not None and s.zookeeper.coordinator == broker and s.zookeeper.epoch == epoch


def is_connected(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """Both ends of a registered consumer's connection with a broker are open."""
    channel = s.channels[consumer]
    return channel.peer == broker and channel.server == broker and not channel.broken


def is_fetching(s: Cluster, consumer: Consumer, partition: Partition) -> bool:
    """A consumer fetches a partition. One whose session is over stops before it fetches again, if it looks first."""
    process = s.consumers[consumer]
    stops = process.lapsed and Design.timer_before_requests
    joined = process.state == ConsumerState.JOINED
    return joined and not stops and any(p.partition == partition for p in process.fetched)


def is_under_way(phase: Phase) -> bool:
    """A rebalance is between 4.1 and 4.6."""
    return phase != Phase.IDLE and phase != Phase.BACKOFF
