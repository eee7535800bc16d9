"""A broker in a controller's process has what is committed, as the controller has it, however often it is told."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.broker import Broker, BrokerSettings
from impl.kraft.messages import BrokerRegistrationRequest
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Applied, HostedBroker
from impl.kraft.snapshot import write_snapshot
from tests.impl.kraft.node.quorum import Quorum

VOTER, OTHER = 1, 2


class Telling(Quorum):
    """The nodes of one voter tell what is committed."""

    def __init__(self) -> None:
        self.applied: list[Applied] = []
        super().__init__()
        self.nodes[VOTER].tells_applied = True

    def _do(self, voter: int, effect: object) -> None:
        if isinstance(effect, Applied):
            assert voter == VOTER, "the others are not asked to"
            self.applied.append(effect)
        else:
            super()._do(voter, effect)


def with_a_broker(leader: int) -> Telling:
    """One has registered, and is in the log."""
    quorum = Telling()
    quorum.elect(leader)
    quorum.ask(leader, 5, BrokerRegistrationRequest(7, "", UUID(int=7)))
    quorum.settle()
    quorum.settle()
    return quorum


def test_it_has_what_its_controller_has_committed_whoever_leads() -> None:
    for leader in (VOTER, OTHER):
        quorum = with_a_broker(leader)
        node = quorum.nodes[VOTER]
        hosted = HostedBroker(node.raft, Broker(BrokerSettings(VOTER, ""), UUID(int=VOTER)), MetadataCodec())
        assert hosted.leader == leader
        hosted.start(0)
        for applied in quorum.applied:
            hosted.apply(applied, 0)
        assert list(hosted.broker.image.registrations) == [7]
        assert write_snapshot(hosted.broker.image) == write_snapshot(node.controller.committed)
        before = hosted.broker.image.offset
        hosted.apply(quorum.applied[-1], 0)
        assert hosted.broker.image.offset == before
