"""A broker that observes a quorum: it finds the leader, hears what is committed, registers and comes into service."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from uuid import UUID

from impl.kraft.broker import Broker, BrokerSettings, BrokerState
from impl.kraft.effects import Send as SendToController
from impl.kraft.effects import SetTimer as SetBrokerTimer
from impl.kraft.messages import CreateTopicRequest, Request, Response
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import BrokerEffects, BrokerNode
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import Answer, AnswerFetch, Send, Timer
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchResponse
from impl.kraft.snapshot import write_snapshot
from impl.kraft.storage.effects import Flush
from tests.impl.kraft.node.quorum import VOTERS, Quorum

ID, TOPIC = 7, UUID(int=2)
COMMUNICATION = ("communication",)


class Process:
    """The process of a broker, all of whose messages and flushes come to their end at once; a fetch never waits."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum, self.now_ms, self.calls = quorum, 0, 100
        raft = Raft(RaftSettings(ID, VOTERS, is_observer=True, fetch_max_wait_ms=0), None, LogEnds())
        self.node = BrokerNode(raft, Broker(BrokerSettings(ID, ""), UUID(int=ID)), MetadataCodec())
        self.fetched: tuple[Send, FetchResponse] | None = None

    def carry_out(self, effects: BrokerEffects) -> None:
        due = deque(effects)
        while due:
            match due.popleft():
                case Send() as sent:
                    due += self.sent(sent)
                case SendToController(request=request):
                    due += self.node.on_controller_response(request, self.asked(request), self.now_ms)
                case SetBrokerTimer(timer=timer, at_ms=at_ms) if at_ms <= self.now_ms:
                    due += self.node.on_timer(timer, self.now_ms)
                case Flush():
                    due += self.node.on_flushed(self.node.raft.voter.log.end_offset, self.now_ms)

    def state(self) -> BrokerState:
        return self.node.broker.state

    def asked(self, request: Request) -> Response | None:
        if (leader := self.node.leader) is None:
            return None
        self.calls += 1
        self.quorum.ask(leader, self.calls, request)
        self.quorum.settle()
        return self.quorum.replies[leader][self.calls]

    def sent(self, sent: Send) -> BrokerEffects:
        """A fetch that has nothing new for it is handed in by `fetch`, else this would not end."""
        effects = self.quorum.nodes[sent.to].handle_quorum(0, sent.request, self.now_ms)
        for effect in effects:
            match effect:
                case Answer(response=response):
                    return self.node.on_response(sent.to, sent.request, response, self.now_ms)
                case AnswerFetch(response=response, offset=offset, max_bytes=max_bytes):
                    records = self.quorum.storages[sent.to].log.read(offset, max_bytes)
                    if records or response.high_watermark > self.node.raft.voter.high_watermark:
                        response = replace(response, records=records)
                        return self.node.on_response(sent.to, sent.request, response, self.now_ms)
                    self.fetched = sent, response
        return []

    def fetch(self) -> None:
        """The fetch for which there was nothing new is answered, and the next one has what came since."""
        assert self.fetched is not None
        sent, response = self.fetched
        self.carry_out(self.node.on_response(sent.to, sent.request, response, self.now_ms))


def test_a_broker_comes_into_service_and_hears_what_is_committed() -> None:
    quorum = Quorum()
    quorum.elect(1)
    process = Process(quorum)
    process.carry_out(process.node.start(0))
    process.carry_out(process.node.on_timer(Timer.ELECTION, 0))
    assert process.node.leader == 1 and process.state() is BrokerState.RECOVERY, "the LeaderChange is all there is"
    process.carry_out(process.node.on_timer(COMMUNICATION, 0))
    assert process.node.broker.broker_epoch == 1
    process.fetch()
    process.carry_out(process.node.recovered(0))
    process.fetch()
    process.carry_out(process.node.on_timer(COMMUNICATION, 0))
    assert process.state() is BrokerState.RUNNING
    quorum.ask(1, 5, CreateTopicRequest("orders", TOPIC))
    quorum.settle()
    process.fetch()
    assert list(process.node.broker.leaders) == [(TOPIC, 0)]
    assert write_snapshot(process.node.broker.image) == write_snapshot(quorum.nodes[1].controller.committed)
