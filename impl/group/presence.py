"""The registration of a broker: its id, and the partitions that it has, where Kafka 0.7 writes them."""

from __future__ import annotations

from collections.abc import Mapping

from impl.group.effects import Context, Effects, Timing
from impl.group.protocol import BrokerAddress
from impl.group.scripts import Script, Scripts, do, is_over
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
                self._try_later(path, outcome)
                return
        ephemeral = [(id_path(self.address.id), broker_bytes(self.address, self.context.now_ms))]
        ephemeral += [
            (count_path(topic, str(self.address.id)), b"%d" % count) for topic, count in sorted(self.topics.items())
        ]
        for path, data in ephemeral:
            refused = yield from self._created(path, data)
            if refused is not None:
                self._try_later(path, refused)
                return
        self.is_registered = True
        self.context.log("registered as a broker", broker=self.address.id)

    def _created(self, path: str, data: bytes) -> Script[Failed | None]:
        """Create an ephemeral znode, unless it is this session's already. The refusal, if there is one."""
        outcome = yield from do(Create(path, data, ephemeral=True))
        if not isinstance(outcome, Failed) or is_over(outcome):
            return outcome if isinstance(outcome, Failed) else None
        there = yield from do(Exists(path))
        return None if isinstance(there, Found) and there.stat.owner == self._session else outcome

    def _try_later(self, path: str, refused: Failed) -> None:
        """A znode is still there of a former session, or ZooKeeper refuses it for a reason that can be mended."""
        if not is_over(refused):
            why = f"{refused.code.value} {refused.message}".strip()
            self.context.log("not registered yet", is_warning=True, path=path, why=why)
            self.context.set_timer(self.context.now_ms + _RETRY_MS, Timing.REGISTER)
