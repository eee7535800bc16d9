"""A node with this codec: what its controller decides is in its log as Kafka's records, and comes back from there."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerRegistrationRequest, CreateTopicRequest, Request
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.metadata.encoding import decode
from impl.kraft.node import Node, NodeEffects
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import Timer
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.storage.batches import decode_all
from impl.kraft.storage.effects import AppendToLog


def started(log: bytes = b"", ends: LogEnds | None = None) -> Node:
    raft = Raft(RaftSettings(0, (0,), uses_prevote=False), None, ends or LogEnds())
    node = Node(raft, Controller(ControllerSettings("")), MetadataCodec(), log)
    node.start(0)
    return node


def appended(effects: NodeEffects) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, AppendToLog))


def test_decisions_are_in_the_log_as_kafkas_records() -> None:
    node = started()
    log = appended(node.on_timer(Timer.ELECTION, 1_000))
    node.on_flushed(1, 1_001)
    requests: tuple[Request, ...] = (
        BrokerRegistrationRequest(7, "", UUID(int=1), rack="here"),
        BrokerHeartbeatRequest(7, 1, 1, want_fence=False, want_shut_down=False),
        CreateTopicRequest("orders", UUID(int=2), assignments=((7,), (7,))),
    )
    for call, request in enumerate(requests):
        log += appended(node.handle(call, request, 1_002 + call))
        node.on_flushed(decode_all(log)[-1].end_offset, 1_002 + call)
    batches = decode_all(log)
    types = [decode(one.value or b"").type for batch in batches if not batch.is_control for one in batch.records]
    of_topic = ["TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_RECORD"]
    assert types == ["REGISTER_BROKER_RECORD", "UNFENCE_BROKER_RECORD", *of_topic]
    again = started(log, LogEnds.recovered(batches[-1].end_offset, [(1, 0)]))
    again.on_timer(Timer.ELECTION, 2_000)
    again.on_flushed(batches[-1].end_offset + 1, 2_001)
    image = again.controller.committed
    assert image.registrations[7].rack == "here" and list(image.topic_ids) == ["orders"]
