"""What the coordinator knows of groups and their members: soft, gone with its term (Consumer Coordinator, 5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

from impl.group.assignment import Owners, consumer_of, thread_id
from impl.group.protocol import BrokerAddress, Position, TopicPartition
from impl.group.topic_count import Named, Subscription, Wildcard, threads_of


class Phase(Enum):
    """Where a rebalance is (9)."""

    IDLE = "IDLE"
    STOPPING = "STOPPING"  # 4.1, 4.2
    COMMITTING = "COMMITTING"  # 4.3
    STARTING = "STARTING"  # 4.4, 4.5
    WRITING = "WRITING"  # 4.6
    BACKOFF = "BACKOFF"  # 5


@dataclass(slots=True)
class Member:
    """A registered consumer. Times are of the coordinator's clock.

    heard_ms: when an answer to a ping was read last, or it registered. unanswered_ms: when each ping was sent that is
    not answered; of these the first `expired` have failed. failed, in_a_row: pings, as the document counts them.
    last_offsets: those it reported last.
    """

    group: str
    consumer: str
    connection: int
    session_timeout_ms: int
    subscription: Subscription
    auto_commit: bool
    start_offset: int
    heard_ms: int
    unanswered_ms: deque[int] = field(default_factory=deque)
    expired: int = 0
    failed: int = 0
    in_a_row: int = 0
    next_ping_ms: int = 0
    last_offsets: tuple[Position, ...] | None = None

    @property
    def interval_ms(self) -> int:
        return max(1, self.session_timeout_ms // 3)


@dataclass(slots=True)
class Rebalance:
    """A rebalance of a group. waits_for: whose response has not come. Times are of the coordinator's clock.

    In section 2 its attempt is UNKNOWN until everybody is back; answers: whom it answers then.
    """

    phase: Phase
    attempt: int
    retries: int
    cause: str
    began_ms: int
    phase_ms: int
    assignment: Owners = field(default_factory=dict)
    waits_for: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Group:
    """A group. bit: a rebalance is asked for. reading: which reading (9, 1 to 3) it is in, or 0.

    reported: offsets as last reported. committed: as far as known those in ZooKeeper; None: there is none. uncommitted:
    partitions whose offset a commit would change. owners: in ZooKeeper, as last read or written. is_read_ahead: they
    were read for the rebalance that is next. told: the brokers that its members were told of last.
    """

    name: str
    members: dict[str, Member] = field(default_factory=dict)
    bit: bool = False
    cause: str = ""
    gave_up: bool = False
    reading: int = 0
    started: set[str] = field(default_factory=set)
    reported: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, int | None] = field(default_factory=dict)
    uncommitted: set[TopicPartition] = field(default_factory=set)
    owners: Owners = field(default_factory=dict)
    owned: dict[str, list[TopicPartition]] = field(default_factory=dict)
    is_read_ahead: bool = False
    told: dict[int, BrokerAddress] = field(default_factory=dict)
    rebalance: Rebalance | None = None

    def awaits(self, consumer: str) -> bool:
        """A rebalance waits for a consumer."""
        return self.rebalance is not None and consumer in self.rebalance.waits_for

    @property
    def phase(self) -> Phase:
        return Phase.IDLE if self.rebalance is None else self.rebalance.phase

    def own(self, owners: Owners) -> None:
        """These are the owners in ZooKeeper."""
        self.owners = owners
        self.owned = {}
        for of, thread in owners.items():
            self.owned.setdefault(consumer_of(thread), []).append(of)

    def topics(self, known: Collection[str]) -> set[str]:
        """The topics that a member subscribes to: by name whether they are there or not, by wildcard of the known."""
        found = set[str]()
        for subscription in {member.subscription for member in self.members.values()}:
            if isinstance(subscription, Named):
                found.update(topic for topic, _ in subscription.threads)
            else:
                found |= subscription.of(known)
        return found

    def threads(self, topics: Collection[str]) -> dict[str, list[str]]:
        """For each of the topics the threads of members that subscribe to it."""
        by_wildcard = {
            subscription: subscription.of(topics)
            for subscription in {member.subscription for member in self.members.values()}
            if isinstance(subscription, Wildcard)
        }
        found: dict[str, list[str]] = {topic: [] for topic in topics}
        for member in self.members.values():
            subscription = member.subscription
            matching = by_wildcard[subscription] if isinstance(subscription, Wildcard) else frozenset[str]()
            for topic in topics:
                count = threads_of(subscription, topic, matching)
                found[topic] += [thread_id(member.consumer, number) for number in range(count)]
        return found
