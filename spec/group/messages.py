"""What travels on the connection of a consumer with a coordinator: requests to the consumer, and its responses.

Every request carries the epoch of the coordinator that the consumer has registered with: it is that of the
registration, and is told with its answer only.
Leaves out: the list of brokers, which nothing depends on; what is in a request to register, which is the consumer.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Range, Set, message
from spec.group.design import Design
from spec.group.types import Attempt, CoordinatorEpoch, Partition

UNDER_WAY = 2
"""Pings under way to a consumer: one is sent each third of a session, and fails after two."""
Offset = Annotated[int, Range(0, lambda: Design.records)]


@message
class Position:
    """A partition, and the offset of the record that is consumed next."""

    partition: Partition
    offset: Offset


@message
class Ping:
    """PingRequest. Its count of retries is left out: see `state.lapsed`.

    `behind`: of the last so many pings before this one the answers need not be committed (shutdown_commits).
    """

    behind: Annotated[int, Range(0, lambda: UNDER_WAY * Design.pings)]


@message
class PingAnswer:
    """PingResponse, with the offsets consumed."""

    positions: Set[Position]


@message
class Registered:
    """RegisterConsumerResponse; in section 2 with the partitions that the consumer owns."""

    accepted: bool
    epoch: CoordinatorEpoch
    share: Set[Position]  # by_sockets


@message
class StopFetcher:
    """StopFetcherRequest."""

    attempt: Attempt


@message
class StartFetcher:
    """StartFetcherRequest, with the partitions that are assigned to the consumer and where to start."""

    attempt: Attempt
    share: Set[Position]


@message
class Stopped:
    """StopFetcherResponse, with the offsets consumed."""

    attempt: Attempt
    positions: Set[Position]


@message
class Started:
    """StartFetcherResponse."""

    attempt: Attempt


Request = Registered | Ping | StopFetcher | StartFetcher
Response = PingAnswer | Stopped | Started
