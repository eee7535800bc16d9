"""Work of a coordinator that waits for ZooKeeper."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Work(Enum):
    """The kinds of work that wait."""

    ELECT = "take in what was heard of the coordinator's znode"
    READ_BROKERS = "read who is registered"
    READ_TOPICS = "the second part of coordinatorStartup"
    HEAR_TOPICS = "read which topics there are"
    HEAR_PARTITIONS = "read the partitions of a topic"
    WATCH_AGAIN = "watch and read, as the connection was lost"
    GO_ON = "write what a rebalance is to write"
    COMMIT = "commit the offsets of a group"
    BEGIN = "begin the rebalance of a group"


class Item(NamedTuple):
    """Some work. of: a topic or a group."""

    work: Work
    of: str = ""
