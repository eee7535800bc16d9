"""The election on the ZooKeeper in memory: step by step, and over random schedules with every fault."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from impl.zookeeper import Committed, Create, Delete, Event, Expired, Result, SetData, Submit
from impl.zookeeper.election import (
    AlwaysRun,
    Cause,
    Complaint,
    ControllerSeen,
    Election,
    LeftOffice,
    Notice,
    Office,
    Phase,
    Policy,
    TookOffice,
)
from impl.zookeeper.model import ZooKeeper


@dataclass
class Wish(AlwaysRun):
    """A policy that a test decides about."""

    run: bool = True
    resign: bool = False

    def may_run(self) -> bool:
        return self.run

    def must_resign(self) -> bool:
        return self.resign


@dataclass
class Cluster:
    """Brokers 0, 1, ... that take part in an election; client number = broker. The last client is an operator's."""

    brokers: int
    epoch_with_office: bool = True
    conditional_resign: bool = True
    epoch: bytes | None = b"0"
    lagging: bool = False
    policies: list[Wish] = field(default_factory=list)
    notices: list[tuple[int, Notice]] = field(default_factory=list)

    def __post_init__(self) -> None:
        znodes = [] if self.epoch is None else [("/controller_epoch", self.epoch)]
        self.service = ZooKeeper.begin(self.brokers + 1, znodes, lagging=self.lagging).open_session(self.brokers)
        self.policies = [Wish() for _ in range(self.brokers)]
        self.elections = [self.election(broker, policy) for broker, policy in enumerate(self.policies)]

    def election(self, broker: int, policy: Policy) -> Election:
        return Election(
            broker, policy, epoch_with_office=self.epoch_with_office, conditional_resign=self.conditional_resign
        )

    def take(self, broker: int, effects: list[Submit | Notice]) -> None:
        for effect in effects:
            if isinstance(effect, Submit):
                self.service = self.service.submit(broker, effect)
            else:
                self.notices.append((broker, effect))

    def hear(self, broker: int) -> Event:
        event, self.service = self.service.deliver(broker)
        self.take(broker, self.elections[broker].handle(event, 0))
        return event

    def reconsider(self, broker: int) -> None:
        self.take(broker, self.elections[broker].reconsider())

    def settle(self) -> None:
        """Everything that heals happens, until nothing is under way."""
        for _ in range(10_000):
            steps = [step for broker in range(self.brokers) for step in self.healing(broker)]
            if not steps:
                return
            self.heal(*steps[0])
        raise AssertionError("the election does not come to rest")

    def healing(self, broker: int) -> list[tuple[str, int]]:
        client = self.service.clients[broker]
        is_over = client.session not in self.service.sessions
        found = [("hear", broker)] if client.arriving else []
        found += [("catch_up", broker)] if self.service.is_behind(broker) else []
        if client.is_connected:
            found += [("disconnect", broker)] if is_over else [("serve", broker)] if client.sent else []
        elif not client.arriving:
            found += [("reconnect", broker) if client.session else ("open_session", broker)]
        return found

    def heal(self, step: str, broker: int) -> None:
        if step == "hear":
            self.hear(broker)
        else:
            self.service = getattr(self.service, step)(broker)

    def operate(self, operation: Create | SetData | Delete) -> None:
        self.service = self.service.submit(self.brokers, Submit(0, operation)).serve(self.brokers)

    def in_office(self) -> dict[int, Office]:
        return {broker: e.office for broker, e in enumerate(self.elections) if e.office is not None}

    @property
    def epoch_now(self) -> int:
        return int(self.service.tree["/controller_epoch"].data)


@pytest.mark.parametrize("epoch_with_office", [True, False])
def test_one_is_elected_and_raises_the_epoch(epoch_with_office: bool) -> None:
    cluster = Cluster(3, epoch_with_office)
    cluster.settle()
    ((broker, office),) = cluster.in_office().items()
    assert office.epoch == cluster.epoch_now == 1
    assert office.czxid == cluster.service.tree["/controller"].stat.czxid
    for other in {0, 1, 2} - {broker}:
        assert cluster.elections[other].phase is Phase.WATCHING
        assert (other, ControllerSeen(broker)) in cluster.notices


def test_an_absent_epoch_is_created() -> None:
    cluster = Cluster(1, epoch=None)
    cluster.settle()
    assert cluster.in_office()[0].epoch == 1


def test_a_policy_keeps_a_broker_from_running_until_it_changes() -> None:
    cluster = Cluster(1)
    cluster.policies[0].run = False
    cluster.settle()
    assert cluster.elections[0].phase is Phase.ABSTAINING
    cluster.policies[0].run = True
    cluster.reconsider(0)
    cluster.settle()
    assert 0 in cluster.in_office()


def test_a_resignation_hands_over() -> None:
    cluster = Cluster(2)
    cluster.settle()
    (first,) = cluster.in_office()
    cluster.policies[first].resign, cluster.policies[first].run = True, False
    cluster.reconsider(first)
    assert cluster.in_office() == {}, "it is in office no more before its write is done"
    cluster.settle()
    assert {b: o.epoch for b, o in cluster.in_office().items()} == {1 - first: 2}


def test_a_resignation_without_an_answer_is_repeated() -> None:
    cluster = Cluster(2)
    cluster.settle()
    (first,) = cluster.in_office()
    cluster.policies[first].resign, cluster.policies[first].run = True, False
    cluster.reconsider(first)
    cluster.service = cluster.service.disconnect(first, done=0)
    cluster.settle()
    assert list(cluster.in_office()) == [1 - first]
    assert sum(isinstance(notice, TookOffice) for _, notice in cluster.notices) == 2


@pytest.mark.parametrize("conditional", [True, False])
def test_a_late_resignation_deletes_no_other_brokers_controller_if_it_is_conditional(conditional: bool) -> None:
    cluster = Cluster(2, conditional_resign=conditional)
    cluster.settle()
    (first,) = cluster.in_office()
    cluster.operate(Delete("/controller"))
    heard = cluster.service.clients[first].arriving
    while cluster.elections[1 - first].office is None:
        cluster.heal(*cluster.healing(1 - first)[0])
    assert heard, "the deposed controller has not heard of it yet"
    cluster.policies[first].resign = True
    cluster.reconsider(first)
    cluster.service = cluster.service.serve(first)
    assert ("/controller" in cluster.service.tree) == conditional


@pytest.mark.parametrize("epoch_with_office", [True, False])
@pytest.mark.parametrize("done", [0, 1])
def test_an_election_of_unknown_outcome_is_read_back(epoch_with_office: bool, done: int) -> None:
    cluster = Cluster(1, epoch_with_office)
    while not any(s for s in cluster.service.clients[0].sent if cluster.elections[0].phase is Phase.RUNNING):
        cluster.heal(*cluster.healing(0)[0])
    cluster.service = cluster.service.disconnect(0, done=done)
    cluster.settle()
    assert cluster.in_office()[0].epoch == cluster.epoch_now == 1
    assert sum(isinstance(notice, TookOffice) for _, notice in cluster.notices) == 1


def test_a_controller_deleted_by_hand_is_replaced() -> None:
    cluster = Cluster(2)
    cluster.settle()
    (first,) = cluster.in_office()
    cluster.operate(Delete("/controller"))
    cluster.settle()
    assert any(b == first and isinstance(n, LeftOffice) and n.cause is Cause.DELETED for b, n in cluster.notices)
    assert [office.epoch for office in cluster.in_office().values()] == [2]


def test_a_controller_leaves_office_when_it_hears_that_its_session_expired() -> None:
    cluster = Cluster(1)
    cluster.settle()
    office = cluster.in_office()[0]
    cluster.service = cluster.service.expire(cluster.service.clients[0].session).disconnect(0).reconnect(0)
    while not isinstance(cluster.hear(0), Expired):
        pass
    assert cluster.notices[-1] == (0, LeftOffice(office, Cause.EXPIRED))


@pytest.mark.parametrize("data", [b"", b"garbage", b"-1", b"9999999999", b"\xff"])
def test_garbage_in_the_epoch_is_complained_of_and_left_alone_until_it_is_mended(data: bytes) -> None:
    cluster = Cluster(1, epoch=data)
    cluster.settle()
    ((_, complaint),) = [(b, n) for b, n in cluster.notices if isinstance(n, Complaint)]
    assert complaint.message.startswith("/controller_epoch holds '")
    assert cluster.service.tree["/controller_epoch"].data == data
    cluster.operate(SetData("/controller_epoch", b"41"))
    cluster.settle()
    assert cluster.in_office()[0].epoch == 42


def test_garbage_in_the_controller_is_complained_of_and_left_alone() -> None:
    cluster = Cluster(1)
    cluster.operate(Create("/controller", b"{"))
    cluster.settle()
    assert (0, Complaint("/controller holds '{', expected a JSON object of version 1")) in cluster.notices
    assert cluster.in_office() == {}
    cluster.operate(Delete("/controller"))
    cluster.settle()
    assert 0 in cluster.in_office()


FAULTS = ("disconnect", "lose_reply", "expire", "delete", "wish", "reconsider", "crash")


@pytest.mark.parametrize("epoch_with_office", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_random_schedules(seed: int, epoch_with_office: bool) -> None:
    """One term for an epoch; who is in office by ZooKeeper and its own belief is one broker once all is quiet."""
    chosen = random.Random(seed)
    cluster = Cluster(3, epoch_with_office, lagging=seed % 2 == 1)
    for _ in range(150):
        if chosen.random() < 0.1:
            fault(cluster, chosen, chosen.choice(FAULTS))
        steps = [step for broker in range(3) for step in cluster.healing(broker)]
        if steps:
            cluster.heal(*chosen.choice(steps))
        terms = [(broker, n.office) for broker, n in cluster.notices if isinstance(n, TookOffice)]
        assert len({office.epoch for _, office in terms}) == len(terms), "an epoch is issued once"
    for policy in cluster.policies:
        policy.run, policy.resign = True, False
    for session in cluster.service.sessions - {client.session for client in cluster.service.clients}:
        cluster.service = cluster.service.expire(session)
    cluster.settle()
    for broker in range(3):
        cluster.reconsider(broker)
    cluster.settle()
    ((broker, office),) = cluster.in_office().items()
    znode = cluster.service.tree["/controller"].stat
    assert (znode.owner, znode.czxid) == (cluster.service.clients[broker].session, office.czxid)
    assert office.epoch == cluster.epoch_now


def fault(cluster: Cluster, chosen: random.Random, kind: str) -> None:
    broker = chosen.randrange(cluster.brokers)
    client = cluster.service.clients[broker]
    match kind:
        case "disconnect" if client.is_connected:
            done = chosen.randint(0, len(client.sent)) if client.session in cluster.service.sessions else 0
            cluster.service = cluster.service.disconnect(broker, done=done)
        case "lose_reply" if client.is_connected and client.sent and client.session in cluster.service.sessions:
            cluster.service = cluster.service.lose_reply(broker)
        case "expire" if client.session in cluster.service.sessions:
            cluster.service = cluster.service.expire(client.session)
        case "delete" if "/controller" in cluster.service.tree:
            cluster.operate(Delete("/controller"))
        case "wish":
            policy = cluster.policies[broker]
            policy.run, policy.resign = chosen.random() < 0.5, chosen.random() < 0.3
        case "reconsider":
            cluster.reconsider(broker)
        case "crash":
            cluster.service = cluster.service.crash(broker)
            cluster.elections[broker] = cluster.election(broker, cluster.policies[broker])


def test_results_of_other_cores_are_passed_over() -> None:
    election = Election(0, AlwaysRun(), id=3)
    assert election.handle(Result(7, Committed(())), 0) == []
