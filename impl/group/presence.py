"""The registration of a broker: its id, and the partitions that it has, where Kafka 0.7 writes them."""

from __future__ import annotations

from collections.abc import Mapping

from impl.group.effects import Context, Effects, Timing
from impl.group.protocol import BrokerAddress
from impl.group.scripts import LostError, Script, Scripts, do, is_over
from impl.group.znodes import PERSISTENT, broker_bytes, count_path, id_path, topic_path
from impl.zookeeper import Connected, Create, Disconnected, ErrorCode, Event, Exists, Expired, Failed, Found, Result

FIRST_ID = 1 << 40
"""Of its operations: those of the coordinator are below."""
_RETRY_MS = 500


class Presence:
    """Registers one broker in each session. Others of the process come after it: `is_registered`."""

    def __init__(self, address: BrokerAddress, topics: Mapping[str, int]) -> None:
        self.address = address
        self.topics = topics
        self.context = Context()
        self.is_registered = False
        self._scripts = Scripts(self.context, FIRST_ID)
        self._session = 0

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        self.context.now_ms = now_ms
        match event:
            case Connected():
                self.is_registered = self.is_registered and not event.is_new
                self._session = event.session
                self._begin()
            case Disconnected():
                self._scripts.drop()
            case Expired():
                self._scripts.drop()
                self.is_registered, self._session = False, 0
            case Result():
                self._scripts.take(event)
        return self.context.taken()

    def on_timer(self, now_ms: int) -> Effects:
        """Try again: a znode was still there of a former session."""
        self.context.now_ms = now_ms
        self._begin()
        return self.context.taken()

    def _begin(self) -> None:
        if self._session and not self.is_registered and self._scripts.are_done:
            self._scripts.begin(self._register())

    def _register(self) -> Script[None]:
        for path, data in (*PERSISTENT, *((topic_path(topic), b"") for topic in self.topics)):
            outcome = yield from do(Create(path, data))
            if isinstance(outcome, Failed) and outcome.code is not ErrorCode.NODE_EXISTS:
                raise LostError
        ephemeral = [(id_path(self.address.id), broker_bytes(self.address, self.context.now_ms))]
        ephemeral += [
            (count_path(topic, str(self.address.id)), b"%d" % count) for topic, count in sorted(self.topics.items())
        ]
        for path, data in ephemeral:
            if not (yield from self._has_created(path, data)):
                self.context.log("a znode is another session's", is_warning=True, path=path)
                self.context.set_timer(self.context.now_ms + _RETRY_MS, Timing.REGISTER)
                return
        self.is_registered = True
        self.context.log("registered as a broker", broker=self.address.id)

    def _has_created(self, path: str, data: bytes) -> Script[bool]:
        outcome = yield from do(Create(path, data, ephemeral=True))
        if not isinstance(outcome, Failed):
            return True
        if is_over(outcome):
            raise LostError
        there = yield from do(Exists(path))
        return isinstance(there, Found) and there.stat.owner == self._session
