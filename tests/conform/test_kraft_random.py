"""Five brokers, two topics and random faults: what the spec claims of its states holds of the implementation's.

The cluster is driven as in conformance, but by chance, and with nothing to follow: after each step it is mapped to a
state of the spec for each of its topics, and the spec's own properties look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker.conform.system import Refusal
from checker.lang.loader import load
from impl.adapters.kraft import controllers, initial, processes
from impl.adapters.kraft.cluster import TOPIC, Cluster, Envelope, ProcessHost, Shape, topic_id
from impl.adapters.kraft.core import PythonCore
from impl.adapters.kraft.deciding import decide
from impl.adapters.kraft.running import deliver, settled, without_answer
from impl.kraft.broker import BrokerState
from impl.kraft.controller import fencing
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    Request,
    UnregisterBrokerRequest,
)
from spec.kraft import properties
from tests.conform.kraft_mapped import mapped

BROKERS, PARTITIONS, MIN_INSYNC = 5, 2, 2
OTHER = "another topic"
MODEL = ("kraft/full", {"controllers": "1", "brokers": str(BROKERS), "partitions": str(PARTITIONS),
                        "pending_batches": "0"})  # fmt: skip
STATES = (
    properties.heartbeat.unfenced_broker_is_ready,
    properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
    properties.leader_election.leader_may_lead,
    properties.leader_election.leaderless_only_without_candidates,
    properties.isr.isr_is_never_empty,
    properties.isr.fenced_broker_is_out_of_isr,
    properties.isr.maximal_isr_covers_committed,
    properties.replication.acknowledged_record_survives,
    properties.replication.isr_has_acknowledged_record,
    properties.isr.isr_is_within_replicas,
)
STEPS = (
    properties.leader_election.epochs_never_go_back,
    properties.reassignment.reassignment_completes_in_sync,
    properties.reassignment.reassignment_keeps_min_isr,
    properties.leader_election.leader_changes_for_cause,
)

Move = Callable[[], Cluster | Refusal]


def names(**indices: Any) -> dict[str, Any]:
    """Arguments as the driver reads them."""
    return {name: SimpleNamespace(index=value) for name, value in indices.items()}


def empty() -> Cluster:
    """A controller, and nothing else."""
    shape = Shape(BROKERS, PARTITIONS, tuple(range(BROKERS)), MIN_INSYNC, {}, PythonCore())
    host = replace(initial.standby(shape, ()), epoch=1)
    nobody = (ProcessHost(),) * BROKERS
    cluster = Cluster(shape, (host,), nobody, records=("UNWRITTEN",) * PARTITIONS)
    return decide(cluster, 0, lambda core, now_ms: core.claim(1, now_ms))[0]


def ask(cluster: Cluster, request: Request) -> Cluster | Refusal:
    return controllers.ask(cluster, names(voter=0), request)


class Moves:
    """Everything that may happen next, in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def everything(self) -> dict[str, list[Move]]:
        return {
            "life": list(self.life()),
            "network": list(self.network()),
            "replication": list(self.replication()),
            "operators": list(self.operators()),
            "faults": list(self.faults()),
        }

    def life(self) -> Iterator[Move]:
        cluster = self.cluster
        for place, host in enumerate(cluster.processes):
            who, core = names(process=place), host.core
            if core is None:
                yield partial(processes.start, cluster, who, None)
                continue
            waits = host.answer is not None or any(e.sender == place and not e.late for e in cluster.lifecycle)
            if not waits:
                yield partial(processes.send_registration, cluster, who, None)
                yield partial(processes.send_heartbeat, cluster, who, None)
            if host.answer is not None:
                yield partial(processes.receive_reply, cluster, who, None)
            yield partial(processes.apply_metadata, cluster, who, None)
            if core.state == BrokerState.RECOVERY and core.lifecycle.wants_fence and core.broker_epoch is not None:
                yield partial(processes.finish_recovery, cluster, who, None)
            if core.state == BrokerState.SHUTTING_DOWN:
                yield partial(processes.finish_shutdown, cluster, who, None)

    def network(self) -> Iterator[Move]:
        for envelope in (*self.cluster.lifecycle, *self.cluster.alterations):
            yield partial(self.landed, envelope)
            yield partial(self.landed, envelope)
            yield partial(self.lost, envelope)
            if not envelope.late and sum(one.late for one in self.cluster.lifecycle) < 3:
                yield partial(self.copied, envelope)

    def landed(self, envelope: Envelope) -> Cluster:
        if isinstance(envelope.request, AlterPartitionRequest):
            return controllers.handle_alter_isr(self.cluster, envelope)
        return controllers.handle_lifecycle(self.cluster, envelope)

    def lost(self, envelope: Envelope) -> Cluster:
        cluster = replace(
            self.cluster,
            lifecycle=controllers.without(self.cluster.lifecycle, envelope),
            alterations=controllers.without(self.cluster.alterations, envelope),
        )
        return processes.given_up(cluster, envelope)

    def copied(self, envelope: Envelope) -> Cluster:
        copy = replace(envelope, late=True)
        if isinstance(envelope.request, AlterPartitionRequest):
            return replace(self.cluster, alterations=(*self.cluster.alterations, copy))
        return replace(self.cluster, lifecycle=(*self.cluster.lifecycle, copy))

    def replication(self) -> Iterator[Move]:
        cluster = self.cluster
        for place, host in enumerate(cluster.processes):
            if host.core is None:
                continue
            for (topic, p), follower in host.core.followers.items():
                who = {**names(follower=place, leader=follower.leader, p=p), "topic": topic}
                yield partial(processes.fetch, cluster, {**who, "answered": True}, None)
                yield partial(processes.fetch, cluster, {**who, "answered": False}, None)
            for (topic, p), leader in host.core.leaders.items():
                who = {**names(leader=place, p=p), "topic": topic}
                if topic == cluster.topic and cluster.records[p] == "UNWRITTEN":
                    yield partial(processes.write, cluster, who, None)
                yield partial(processes.advance_high_watermark, cluster, who, None)
                yield partial(processes.send_alter_isr, cluster, who, None)
                for member in leader.isr - {place}:
                    yield partial(processes.shrink_isr, cluster, {**who, **names(member=member)}, None)
            for key, answer in host.isr_answers.items():
                told = without_answer(host, key)
                yield partial(self.told, place, told, answer.request, answer.response)
                yield partial(self.told, place, told, answer.request, None)

    def told(self, place: int, host: ProcessHost, request: Any, response: Any) -> Cluster:
        return self.cluster.with_process(place, settled(deliver(host, request, response)))

    def operators(self) -> Iterator[Move]:
        cluster, image = self.cluster, self.cluster.committed
        known = sorted(image.registrations)
        for (topic, p), partition in sorted(image.partitions.items()):
            name = image.topics[topic]
            rotated = (
                tuple(known[(known.index(partition.replicas[0]) + i) % len(known)] for i in range(3))
                if partition.replicas[0] in known and len(known) >= 3
                else ()
            )
            for target in (rotated, rotated[:2], None):
                yield partial(ask, cluster, AlterPartitionReassignmentRequest(name, p, target))
            yield partial(ask, cluster, ElectPreferredLeaderRequest(name, p))
        for name in (TOPIC, OTHER):
            if name not in image.topic_ids:
                yield partial(self.created, name)
        yield partial(ask, cluster, DeleteTopicRequest(name=OTHER))
        for broker in range(BROKERS):
            yield partial(ask, cluster, UnregisterBrokerRequest(broker))

    def created(self, name: str) -> Cluster | Refusal:
        request = CreateTopicRequest(name, topic_id(self.cluster.topics), PARTITIONS, replication_factor=3)
        after = ask(self.cluster, request)
        return after if isinstance(after, Refusal) else replace(after, topics=after.topics + 1)

    def faults(self) -> Iterator[Move]:
        cluster = self.cluster
        for place, host in enumerate(cluster.processes):
            if host.core is not None:
                yield partial(processes.crash, cluster, names(process=place), None)
                yield partial(processes.sigterm, cluster, names(process=place), None)
        for broker in range(BROKERS):
            who = names(voter=0, broker=broker)
            if cluster.controllers[0].core.has_valid_session(broker, cluster.controllers[0].now_ms):
                yield partial(controllers.expire_lease, cluster, who, None)
            yield partial(controllers.fence_expired, cluster, who, None)
        yield partial(controllers.fail_over, cluster, names(voter=0), None)


def brought_up(cluster: Cluster) -> Cluster:
    """Whoever is down starts, all register and run, as far as their ids are free."""
    for place, host in enumerate(cluster.processes):
        if host.core is None:
            cluster = done(processes.start(cluster, names(process=place), None), cluster)
    for _ in range(6):
        for place in range(BROKERS):
            cluster = one_round(cluster, place)
    return cluster


def one_round(cluster: Cluster, place: int) -> Cluster:
    who = names(process=place)
    for send in (processes.send_registration, processes.send_heartbeat):
        sent = send(cluster, who, None)
        if not isinstance(sent, Refusal):
            cluster = Moves(sent).landed(sent.lifecycle[-1])
        cluster = done(processes.receive_reply(cluster, who, None), cluster)
    cluster = done(processes.apply_metadata(cluster, who, None), cluster)
    core = cluster.processes[place].core
    if core is not None and core.state == BrokerState.RECOVERY and core.lifecycle.wants_fence and core.broker_epoch:
        cluster = done(processes.finish_recovery(cluster, who, None), cluster)
    return cluster


def done(after: Cluster | Refusal, before: Cluster) -> Cluster:
    return before if isinstance(after, Refusal) else after


def seen(cluster: Cluster, topics: set[UUID]) -> dict[UUID, Any]:
    first = cluster.topic
    return {topic: mapped(cluster, topic, cluster.records if topic == first else None) for topic in topics}


def held(before: Cluster, after: Cluster) -> None:
    """Assert the invariants of the spec after a step, and its transition invariants over the step."""
    topics = {*before.committed.topics, *after.committed.topics}
    old, new = seen(before, topics), seen(after, topics)
    unregistered = before.committed.registrations.keys() - after.committed.registrations.keys()
    for topic in topics:
        assert unregistered or properties.registration.broker_epochs_rise.function(old[topic], new[topic])
        for claim in STATES:
            assert claim.function(new[topic]), f"{claim.name} of topic {topic.int}"
        for claim in STEPS:
            assert claim.function(old[topic], new[topic]), f"{claim.name} of topic {topic.int}"


@pytest.fixture(scope="module", autouse=True)
def bound_spec() -> None:
    load(*MODEL)


KINDS = ("life", "life", "network", "network", "replication", "replication", "replication", "operators", "faults")


@pytest.mark.long("forty random runs of a cluster: 9 s of CPU")
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_the_spec_claims_holds(data: st.DataObject) -> None:
    cluster = brought_up(empty())
    for name in (TOPIC, OTHER):
        cluster = done(Moves(cluster).created(name), cluster)
    cluster = brought_up(cluster)
    for _ in range(data.draw(st.integers(20, 80), label="steps")):
        moves = Moves(cluster).everything()
        kind = data.draw(st.sampled_from(KINDS), label="kind")
        if moves[kind]:
            move = moves[kind][data.draw(st.integers(0, len(moves[kind]) - 1), label="move")]
            after = done(move(), cluster)
            held(cluster, after)
            cluster = after


def without_leader() -> tuple[Cluster, Any]:
    """A cluster whose one leader has crashed, and whose lease has run out; and how a step names it."""
    cluster = brought_up(empty())
    cluster = brought_up(done(Moves(cluster).created(TOPIC), cluster))
    leader = next(iter(cluster.committed.partitions.values())).leader
    who = names(voter=0, broker=leader, process=leader)
    crashed = done(processes.crash(cluster, who, None), cluster)
    return done(controllers.expire_lease(crashed, who, None), crashed), who


def test_a_fault_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that fences a broker and lets it lead on."""
    lapsed, who = without_leader()
    held(lapsed, done(controllers.fence_expired(lapsed, who, None), lapsed))
    lapsed, who = without_leader()
    monkeypatch.setattr(fencing, "taken_out", lambda image, settings, broker_id: ())
    with pytest.raises(AssertionError, match="leader_may_lead"):
        held(lapsed, done(controllers.fence_expired(lapsed, who, None), lapsed))
