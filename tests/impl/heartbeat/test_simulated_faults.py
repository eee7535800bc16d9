"""Random faults on simulated nodes: what holds at every moment, what was acknowledged, and that all comes back."""

from __future__ import annotations

import random

import pytest

from impl.heartbeat.control_requests import ControlledShutdownRequest, TopicPartition
from impl.heartbeat.design import DRAFT, REPAIRED
from impl.heartbeat.messages import BrokerState, MetadataHeartbeatRequest
from impl.zookeeper import Multi
from tests.impl.heartbeat.simulation import SESSION_MS, Cluster, Violation, started

FAULTS = ("crash", "crash", "pause", "cut", "cut", "zookeeper", "expire", "stop", "disconnect")
LASTING_MS = 12_000


def do_fault(cluster: Cluster, choice: random.Random) -> None:
    """One fault on one broker, which ends by itself."""
    broker, kind = choice.randrange(len(cluster.hosts)), choice.choice(FAULTS)
    host = cluster.hosts[broker]
    for_ms = choice.randint(100, 5_000)
    if host.node is None or host.paused_until_ms > cluster.now_ms or host.is_cut_from_zookeeper:
        return
    if kind == "crash":
        cluster.crash(broker)
    elif kind == "stop":
        cluster.stop(broker)
    elif kind == "pause":
        cluster.pause(broker, for_ms)
    elif kind == "cut":
        host.is_cut_from_controllers = True
        cluster.at(for_ms, lambda: setattr(host, "is_cut_from_controllers", False))
    elif kind == "zookeeper" and cluster.zookeeper.clients[broker].is_connected:
        cluster.cut_from_zookeeper(broker, for_ms)
    elif kind == "expire" and cluster.zookeeper.clients[broker].session in cluster.zookeeper.sessions:
        cluster.expire(broker)
    elif kind == "disconnect":
        cluster.lose_connection(broker)


def with_faults(cluster: Cluster, seed: int) -> None:
    choice = random.Random(seed)
    end_ms, number = cluster.now_ms + LASTING_MS, 0
    while cluster.now_ms < end_ms:
        if choice.random() < 0.12:
            do_fault(cluster, choice)
        for broker, host in enumerate(cluster.hosts):
            if host.node is None and choice.random() < 0.05:
                cluster.start(broker)
        cluster.produce(b"%d" % number)
        number += 1
        cluster.run(cluster.now_ms + choice.randint(10, 120))


def recovers(cluster: Cluster) -> bool:
    """All start again, and every partition gets its leader and its whole ISR back."""

    def is_whole() -> bool:
        for broker, host in enumerate(cluster.hosts):
            if host.node is None:
                cluster.start(broker)
        return all(
            len(cluster.serving(of)) == 1 and len(cluster.state(of).isr) == len(cluster.hosts)
            for of in cluster.partitions
        )

    return cluster.run_until(is_whole, 20 * SESSION_MS)


@pytest.mark.parametrize("seed", range(10))
def test_random_faults(seed: int) -> None:
    """Of hundreds of seeds that were run, some."""
    cluster = started(seed, REPAIRED, partitions=2)
    with_faults(cluster, seed)
    assert recovers(cluster)
    cluster.check_records()
    assert cluster.acknowledged


def cut_off_a_leader(cluster: Cluster) -> tuple[int, TopicPartition]:
    """Cut a leader that is not the controller off from it, and not from ZooKeeper and its clients."""
    controller = next(host.number for host in cluster.hosts if host.node is not None and host.node.controller.office)
    leaders = ((cluster.state(of).leader, of) for of in cluster.partitions)
    leader, of = next(one for one in leaders if one[0] != controller)
    cluster.hosts[leader].is_cut_from_controllers = True
    return leader, of


def test_a_broker_whose_timeout_is_the_longer_one_serves_beside_its_successor() -> None:
    """As the document has it."""
    cluster = started(0, DRAFT, partitions=3, broker_timeout_ms=2_400)
    cut_off_a_leader(cluster)
    with pytest.raises(Violation, match=r"S2 at \d+ ms"):
        cluster.run(cluster.now_ms + 5_000)


def test_a_leader_that_is_cut_off_from_the_controller_loses_its_leaderships() -> None:
    cluster = started(0, REPAIRED, partitions=3)
    leader, of = cut_off_a_leader(cluster)
    assert cluster.run_until(lambda: cluster.state(of).leader not in (-1, leader), 5_000)
    fenced = [now_ms for now_ms, broker, did in cluster.did if broker == leader and did.action == "fenced"]
    moved = [now_ms for now_ms, _, did in cluster.did if did.facts.get("to") == "INACTIVE"]
    assert fenced[0] < moved[0], "it is fenced before it is given up"
    cluster.hosts[leader].is_cut_from_controllers = False
    assert recovers(cluster)


def test_a_controlled_shutdown_moves_the_leaderships_first() -> None:
    cluster = started(0, REPAIRED, partitions=3)
    cluster.stop(1)
    assert cluster.run_until(lambda: 1 in cluster.exited, 5_000)
    assert all(cluster.state(of).leader != 1 for of in cluster.partitions)
    assert cluster.produce(b"after")


@pytest.mark.parametrize("stops_in_time", [False, True], ids=["parked before", "parked after"])
def test_no_heartbeat_is_handled_after_a_later_one(stops_in_time: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ACTIVE one waits for acknowledgements. Its sender gives it up, and says STOPPING by another connection."""
    cluster = started(0, REPAIRED)
    controller, core = next(
        (host.number, host.node.controller) for host in cluster.hosts if host.node and host.node.controller.office
    )
    broker = next(host.number for host in cluster.hosts if host.number != controller)
    assert core.office is not None
    incarnation, epoch = core.registry.brokers[broker].incarnation, core.office.epoch
    answers = dict[BrokerState, object]()

    def send(target: BrokerState) -> None:
        request = MetadataHeartbeatRequest(broker, incarnation, target, epoch)
        call = next(cluster.calls)
        cluster.replies[call] = lambda response: answers.update({target: response})
        cluster._do(
            controller,
            lambda node: node.then(lambda: node.controller.on_request(call, request, cluster.now_ms), cluster.now_ms),
        )

    cluster.hosts[broker].is_cut_from_controllers = True
    cluster.run(cluster.now_ms + 20)
    monkeypatch.setattr(core.heartbeats, "has_to_wait", lambda one: one.target_state == BrokerState.ACTIVE)
    send(BrokerState.ACTIVE)
    if not stops_in_time:
        assert cluster.run_until(lambda: broker in core.parked, 100)
    send(BrokerState.STOPPING)
    assert cluster.run_until(lambda: len(answers) == 2, 100)
    assert answers[BrokerState.ACTIVE] is None
    assert not core.parked


def test_a_write_whose_reply_is_lost_is_sent_to_the_brokers() -> None:
    """Else who has led is taken for one that knows of its end, and another leads beside it."""
    cluster = started(0, REPAIRED)
    controller = next(host.number for host in cluster.hosts if host.node is not None and host.node.controller.office)
    (of,) = cluster.partitions
    leader, epoch = cluster.state(of).leader, cluster.state(of).leader_epoch
    cluster.stop(leader)

    def is_moving() -> bool:
        return any(isinstance(one.operation, Multi) for one in cluster.zookeeper.clients[controller].sent)

    while not is_moving():
        cluster.run(cluster.now_ms + 1)
    cluster.zookeeper = cluster.zookeeper.disconnect(controller, done=len(cluster.zookeeper.clients[controller].sent))
    assert (cluster.state(of).leader, cluster.state(of).leader_epoch) == (-1, epoch + 1), "it is done"
    cluster.at(1, lambda: cluster.lose_connection(controller))
    assert cluster.run_until(lambda: cluster.state(of).leader not in (-1, leader), 5_000)
    steps = [(did.action, did.facts.get("leader_epoch"), did.facts.get("broker")) for _, _, did in cluster.did]
    assert ("take_control_request", epoch + 1, leader) in steps, "it knows that it leads no more"
    assert steps.index(("take_control_request", epoch + 1, leader)) < steps.index(("update_partition", epoch + 2, None))


def test_a_new_topic_gets_its_leaders() -> None:
    cluster = started(0, REPAIRED)
    cluster.create_topic("new", {0: (2, 1), 1: (1, 0)})
    assert cluster.run_until(lambda: all(len(cluster.serving(of)) == 1 for of in cluster.partitions), 5_000)
    assert [cluster.state(of).leader for of in cluster.partitions] == [0, 2, 1]


def test_legacy_brokers_write_the_isr_themselves() -> None:
    """A leader of the former protocol beside a new follower, which dies and comes back."""
    cluster = started(0, REPAIRED, legacy=frozenset({0}))
    assert cluster.state(cluster.partitions[0]).leader == 0
    cluster.crash(2)
    assert cluster.run_until(lambda: 2 not in cluster.state(cluster.partitions[0]).isr, 10_000)
    assert cluster.produce(b"without 2") and recovers(cluster)
    assert any(did.action == "write_isr" for _, broker, did in cluster.did if broker == 0)
    cluster.check_records()


def test_a_legacy_leader_that_stops_leads_anew_before_its_leadership_moves() -> None:
    """It has added a member since the controller read the partition, in a state that names nobody."""
    cluster = started(0, REPAIRED, brokers=2, legacy=frozenset({0}))
    (of,) = cluster.partitions
    cluster.crash(1)
    assert cluster.run_until(lambda: cluster.state(of).isr == (0,), 10_000)
    cluster.start(1)
    assert cluster.run_until(lambda: 1 in cluster.state(of).isr, 10_000)
    assert cluster.state(of).named() == {}
    epoch = cluster.state(of).leader_epoch
    in_office = next(one.node for one in cluster.hosts if one.node is not None and one.node.controller.office)
    number = in_office.controller.broker
    cluster._do(number, lambda node: node.controller.on_request(9, ControlledShutdownRequest(0), cluster.now_ms))
    assert cluster.run_until(lambda: cluster.state(of).leader == 1, 5_000)
    written = {
        did.facts["leader_epoch"]: (did.facts["leader"], did.facts["cause"])
        for _, _, did in cluster.did
        if did.action == "update_partition"
    }
    assert (written[epoch + 1], written[epoch + 2]) == ((0, "brokers' states"), (-1, "controlled shutdown"))
