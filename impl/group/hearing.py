"""Changes of topics and brokers that a coordinator hears of, and the rebalances that they ask for (5, 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from impl.group.design import Design
from impl.group.effects import Context
from impl.group.rebalance import Rebalances
from impl.group.registry import Group
from impl.group.scripts import Script
from impl.group.topics import Topics


class Hearing:
    """The watches of a coordinator, as scripts. groups: its own. starts_up: its first reading is not over."""

    def __init__(
        self, context: Context, design: Design, topics: Topics, rebalances: Rebalances, groups: Mapping[str, Group]
    ) -> None:
        self.context = context
        self.design = design
        self.topics = topics
        self.rebalances = rebalances
        self.groups = groups
        self.starts_up = False

    def read_unwatched(self) -> Script[None]:
        """coordinatorStartup 2 as written."""
        self.topics.known = yield from self.topics.names(watch=False)

    def read_topics(self) -> Script[None]:
        """Set the watches, and read; or, as written, only set watches on what is known (coordinatorStartup 2, 3)."""
        if self.design.watch_then_read:
            yield from self.hear_topics()
        else:
            yield from self.topics.names(watch=True)
            yield from self.topics.partitions(self.topics.known, watch=True)
        self.starts_up = False
        self.context.did("read_topics")

    def hear_topics(self) -> Script[None]:
        """New topics are watched, and groups rebalanced that are interested in them (2.1 to 2.3)."""
        found = yield from self.topics.names(watch=True)
        yield from self.topics.partitions(found, watch=True)
        new, self.topics.known = found - self.topics.known, found
        self._rebalance_interested(new, "a topic is new")
        if not self.starts_up:
            self.context.did("hear_of_topic")

    def hear_partitions(self, topic: str) -> Script[None]:
        """Groups are rebalanced that are interested in a topic."""
        yield from self.topics.partitions([topic], watch=True)
        self._rebalance_interested(frozenset({topic}), "a partition is new")
        self.context.did("hear_of_partition", topic=topic)

    def watch_again(self) -> Script[None]:
        """With a connection its watches are lost, and what was heard and not read: each group looks for itself."""
        yield from self.hear_topics()
        self._rebalance_where(lambda group: True, "the connection with ZooKeeper was lost")

    def read_brokers(self) -> Script[None]:
        """Read who is registered; who fetches from a broker that has moved is started again."""
        yield from self.topics.read_brokers()
        self._rebalance_where(self.rebalances.is_misled, "a broker has moved")

    def _rebalance_interested(self, topics: frozenset[str], cause: str) -> None:
        self._rebalance_where(lambda group: not topics.isdisjoint(group.topics(self.topics.known)), cause)

    def _rebalance_where(self, holds: Callable[[Group], bool], cause: str) -> None:
        for group in self.groups.values():
            if group.members and holds(group):
                self.rebalances.ask(group, cause)
