"""Answers to who the coordinator is (Consumer Coordinator, 7, ClusterMetadataRequest)."""

from __future__ import annotations

from impl.group.effects import Answer, Context
from impl.group.protocol import UNKNOWN, ClusterMetadataResponse, ErrorCode
from impl.group.scripts import RefusedError, Script, Scripts, data
from impl.group.topics import Topics
from impl.group.znodes import COORDINATOR, SEAT
from impl.zookeeper.znodes import ZnodeError


class Metadata:
    """The questions of one broker that are not answered yet."""

    def __init__(self, context: Context, scripts: Scripts, topics: Topics, broker: int) -> None:
        self.context = context
        self.scripts = scripts
        self.topics = topics
        self.broker = broker
        self._asking = set[int]()
        self._reads = False
        """ZooKeeper is asked: the answer is for all who ask meanwhile, thousands where a coordinator is gone."""

    def ask(self, call: int, epoch: int | None, *, is_connected: bool) -> None:
        """Answer with this broker, if it believes to be the coordinator, in this epoch; else as ZooKeeper has it."""
        if epoch is not None:
            self._answer(call, self._found(self.broker, epoch))
        elif not is_connected:
            self._answer(call, ClusterMetadataResponse(ErrorCode.NO_COORDINATOR_KNOWN))
        else:
            self._asking.add(call)
            if not self._reads:
                self._reads = True
                self.scripts.begin(self._read())

    def drop(self) -> None:
        """ZooKeeper does not answer any more."""
        self._answer_all(ClusterMetadataResponse(ErrorCode.NO_COORDINATOR_KNOWN))

    def _read(self) -> Script[None]:
        response = ClusterMetadataResponse(ErrorCode.NO_COORDINATOR_KNOWN, brokers=tuple(self.topics.brokers.values()))
        try:
            (found,) = yield from data([COORDINATOR])
            if found is not None:
                response = self._found(SEAT.holder(found), UNKNOWN)
        except ZnodeError as error:
            self.context.log("garbage in a znode", is_warning=True, what=str(error))
        except RefusedError as refused:
            self.context.log("ZooKeeper refuses", is_warning=True, why=str(refused))
        self._answer_all(response)

    def _found(self, coordinator: int, epoch: int) -> ClusterMetadataResponse:
        return ClusterMetadataResponse(ErrorCode.NONE, coordinator, tuple(self.topics.brokers.values()), epoch)

    def _answer_all(self, response: ClusterMetadataResponse) -> None:
        self._reads = False
        for call in sorted(self._asking):
            self._answer(call, response)
        self._asking.clear()

    def _answer(self, call: int, response: ClusterMetadataResponse) -> None:
        self.context.effects.append(Answer(call, response))
