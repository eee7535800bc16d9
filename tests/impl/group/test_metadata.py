"""Who the coordinator is, as a broker that is none answers it."""

from __future__ import annotations

from impl.group.effects import Answer, Context
from impl.group.metadata import Metadata
from impl.group.protocol import ErrorCode
from impl.group.scripts import Scripts
from impl.group.topics import Topics
from impl.zookeeper import Found, Result, Submit
from impl.zookeeper.events import Stat
from impl.zookeeper.operations import Operation


class Asked:
    """A broker that is asked. operations: what it asks of ZooKeeper."""

    def __init__(self) -> None:
        self.context = Context()
        self.scripts = Scripts(self.context, 1)
        self.metadata = Metadata(self.context, self.scripts, Topics(self.context), 0)
        self.operations: list[tuple[int, Operation]] = []

    def by(self, *calls: int) -> None:
        for call in calls:
            self.metadata.ask(call, None, is_connected=True)

    def answers(self) -> list[tuple[int, int]]:
        """The calls that are answered since, and with which code."""
        effects = self.context.taken()
        self.operations += [(one.id, one.operation) for one in effects if isinstance(one, Submit)]
        return [(one.call, one.response.error_code) for one in effects if isinstance(one, Answer)]


def test_zookeeper_is_asked_once_for_all_who_ask_meanwhile() -> None:
    run = Asked()
    run.by(1, 2, 3)
    assert run.answers() == [] and len(run.operations) == 1
    number, _ = run.operations.pop()
    run.scripts.take(Result(number, Found(b"1", Stat(1, 1, 0))))
    assert run.answers() == [(call, ErrorCode.NONE) for call in (1, 2, 3)]
    run.by(4)
    assert run.answers() == [] and len(run.operations) == 1, "what was read before is not its answer"


def test_all_who_ask_are_answered_when_the_connection_is_lost_and_zookeeper_is_asked_again_after_that() -> None:
    run = Asked()
    run.by(1, 2)
    run.scripts.drop()
    run.metadata.drop()
    assert run.answers() == [(call, ErrorCode.NO_COORDINATOR_KNOWN) for call in (1, 2)]
    run.by(3)
    run.answers()
    assert len(run.operations) == 2
