"""The registration of a broker: the ephemeral znode of its id, whose czxid is the incarnation.

KIP-343, Broker Incarnation ID.
"""

from __future__ import annotations

from impl.heartbeat.design import Design
from impl.heartbeat.effects import Timer
from impl.heartbeat.scripts import Context, Script, do
from impl.heartbeat.znodes import BrokerInfo, broker_bytes, id_path
from impl.zookeeper import Create, Created, Found, GetData


class Registration:
    """The registration of one process. incarnation: that it sends; owned: the czxid of its own znode; 0: none yet."""

    def __init__(
        self, broker: int, context: Context, design: Design, info: BrokerInfo, session_timeout_ms: int
    ) -> None:
        self.broker = broker
        self.context = context
        self.design = design
        self.info = info
        self.session_timeout_ms = session_timeout_ms
        self.session = 0
        self.owned = 0
        self.incarnation = 0

    def register(self) -> Script[bool]:
        """Create the znode, or find it as its own session's. Returns whether it is a new one.

        While another session owns it, be it a former one of the same process, the create is tried again (KAFKA-1387,
        KAFKA-7165): an ephemeral znode cannot be overwritten.
        """
        path = id_path(self.broker)
        outcome = yield from do(Create(path, broker_bytes(self.info), ephemeral=True))
        if isinstance(outcome, Created):
            self._own(outcome.stat.czxid)
            return True
        found = yield from do(GetData(path))
        if isinstance(found, Found) and found.stat.owner == self.session:
            is_new = found.stat.czxid != self.owned
            if is_new:
                self._own(found.stat.czxid)
            return is_new
        facts = {"broker": self.broker, "path": path, "owner": found.stat.owner if isinstance(found, Found) else None}
        self.context.log("its id is taken", facts, is_warning=True)
        self.context.set_timer(Timer.REGISTER, self.context.now_ms + max(1, self.session_timeout_ms // 4))
        return False

    def take_incarnation(self) -> Script[None]:
        """Go by the znode's czxid: that of the create's reply; else it is read, and may be another process's by now."""
        if self.design.czxid_with_create:
            self.incarnation = self.owned
            return
        found = yield from do(GetData(id_path(self.broker)))
        if isinstance(found, Found):
            self.incarnation = found.stat.czxid

    def _own(self, czxid: int) -> None:
        self.owned, self.incarnation = czxid, 0
        facts = {"broker": self.broker, "incarnation": czxid, "session": self.session, "version": self.info.version}
        self.context.log("registered", facts)
        self.context.did("register", **facts)
