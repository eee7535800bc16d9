"""What the key of a cluster leaves out decides nothing: a twin in which it is changed all the time does the same."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from checker.lang.loader import load
from impl.adapters.kraft import SYSTEM
from impl.adapters.kraft.cluster import Cluster
from impl.adapters.kraft.core import PythonCore
from impl.adapters.kraft.state_rules import RULES
from impl.adapters.kraft.system import KraftUnderTest
from impl.adapters.kraft.values import MEMORY, Comparable, replace
from impl.kraft.copy_on_write import CopyOnWriteDict
from impl.kraft.image import Image
from impl.kraft.messages import BrokerHeartbeatResponse
from tests.conform.perturbed import unnoticed
from tests.conform.twins import Change, assert_twin_does_the_same, left_out

LATER_MS = 1_234_567


def with_hosts(cluster: Cluster, controller: Callable[[Any], Any], process: Callable[[Any], Any]) -> Cluster:
    """The cluster with other hosts. The functions are given copies, with copies of their cores."""

    def copied(host: Any, change: Callable[[Any], Any]) -> Any:
        return change(replace(host, core=None if host.core is None else host.core.copy(), timers=dict(host.timers)))

    return replace(
        cluster,
        controllers=tuple(copied(host, controller) for host in cluster.controllers),
        processes=tuple(copied(host, process) for host in cluster.processes),
    )


def same(host: Any) -> Any:
    return host


def leaders(host: Any) -> Iterable[Any]:
    return () if host.core is None else host.core.leaders.values()


def later(rng: random.Random, cluster: Cluster) -> Cluster:
    """Every clock shows another time, and so does everything that was noted by it."""

    def of_controller(host: Any) -> Any:
        held = host.core.sessions.of_broker
        for id_, session in held.items():
            held[id_] = dataclasses.replace(session, contact_ms=session.contact_ms + LATER_MS)
        timers = {timer: at_ms + LATER_MS for timer, at_ms in host.timers.items()}
        return replace(host, timers=timers, now_ms=host.now_ms + LATER_MS)

    def of_process(host: Any) -> Any:
        for leader in leaders(host):
            leader.since_ms += LATER_MS
            for id_, state in leader.followers.items():
                times = {"caught_up_ms": state.caught_up_ms + LATER_MS, "fetched_ms": state.fetched_ms + LATER_MS}
                leader.followers[id_] = dataclasses.replace(state, **times)
        timers = {timer: at_ms + LATER_MS for timer, at_ms in host.timers.items()}
        return replace(host, timers=timers, now_ms=host.now_ms + LATER_MS)

    return with_hosts(cluster, of_controller, of_process)


def older_fetches(rng: random.Random, cluster: Cluster) -> Cluster:
    """Leaders have led, and followers have lagged, for some time more or less."""

    def of_process(host: Any) -> Any:
        for leader in leaders(host):
            leader.since_ms = rng.randint(0, host.now_ms)
            for id_, state in leader.followers.items():
                fetched_ms = rng.randint(0, host.now_ms)
                times = {"caught_up_ms": rng.randint(0, fetched_ms), "fetched_ms": fetched_ms}
                end = rng.randint(0, 3)
                leader.followers[id_] = dataclasses.replace(state, leader_end_offset=end, **times)
        return host

    return with_hosts(cluster, same, of_process)


def more_calls(rng: random.Random, cluster: Cluster) -> Cluster:
    return with_hosts(cluster, lambda host: replace(host, made=host.made + rng.randint(1, 9)), same)


def forgotten(rng: random.Random, cluster: Cluster) -> Cluster:
    return with_hosts(cluster, same, same)


def shared_images(rng: random.Random, cluster: Cluster) -> Cluster:
    """Dicts of images are divided otherwise, and whatever changes in one is copied first."""

    def of_controller(host: Any) -> Any:
        for image in (host.core.committed, host.core.speculative):
            for part in (*vars(image).values(), *image.in_isr.values()):
                if isinstance(part, CopyOnWriteDict):
                    part._mask = rng.choice((0, 1, 7))
                    part._divide()
            image.copy()
        return host

    return with_hosts(cluster, of_controller, same)


def other_replies(rng: random.Random, cluster: Cluster) -> Cluster:
    def of_process(host: Any) -> Any:
        answer = host.answer
        if answer is None or not isinstance(answer.response, BrokerHeartbeatResponse):
            return host
        response = dataclasses.replace(answer.response, is_caught_up=rng.random() < 0.5)
        return replace(host, answer=dataclasses.replace(answer, response=response))

    return with_hosts(cluster, same, of_process)


def more_failures(rng: random.Random, cluster: Cluster) -> Cluster:
    def of_process(host: Any) -> Any:
        if host.core is not None:
            host.core.lifecycle.failures = rng.choice((0, 1, 5, 40, 10_000))
        return host

    return with_hosts(cluster, same, of_process)


def newer_images(rng: random.Random, cluster: Cluster) -> Cluster:
    """Brokers that do not act on the metadata yet have replayed more of it, but not all."""

    def of_process(host: Any) -> Any:
        if host.core is not None and host.core.applied_offset < 0:
            news = [batch for batch in cluster.log.batches if batch.base_offset > host.core.image.offset]
            for batch in news[: rng.randint(0, max(0, len(news) - 1))]:
                host.core.image.replay(batch)
        return host

    return with_hosts(cluster, same, of_process)


CHANGES: dict[Change, set[str]] = {
    later: {"ControllerHost.now_ms", "ProcessHost.now_ms", "PartitionLeader.since_ms", "FollowerState.caught_up_ms",
            "FollowerState.fetched_ms"},
    older_fetches: {"PartitionLeader.since_ms", "FollowerState.caught_up_ms", "FollowerState.fetched_ms",
                    "FollowerState.leader_end_offset"},
    more_calls: {"ControllerHost.made"},
    forgotten: {"Remembering.memory"},
    shared_images: {"CopyOnWriteDict._owned", "CopyOnWriteDict._mask"},
    other_replies: {"BrokerHeartbeatResponse.is_caught_up"},
    more_failures: {"Lifecycle.failures"},
    newer_images: {f"Broker.image.{name}" for name in vars(Image()) if name != "registrations"},
}  # fmt: skip
MODELS = [
    ("shutdown", {}),
    ("reassignment", {"max_reassignments": "1"}),
    ("failover_record", {}),
]
NOTHING_TO_CHANGE = {("reassignment", forgotten), ("reassignment", other_replies), ("reassignment", newer_images)}
"""In its behaviours brokers neither send heartbeats nor wait to act on metadata, and all is read by the same marks."""
PAIRS = [
    pytest.param(name, changes, change, id=f"{name}-{change.__name__}")
    for name, changes in MODELS
    for change in CHANGES
    if (name, change) not in NOTHING_TO_CHANGE
]


def test_every_field_that_is_left_out_is_changed_here() -> None:
    assert left_out(RULES) == set().union(*CHANGES.values())


@pytest.mark.sample(1, verify=10)
@pytest.mark.parametrize(("name", "changes", "change"), PAIRS)
def test_a_twin_does_the_same(
    name: str, changes: dict[str, str], change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparable, "alike", lambda host: host)  # else the twin has the other's hosts after a step
    assert_twin_does_the_same(load(f"kraft/{name}", changes), SYSTEM, change)


OF_THE_ADAPTER = {
    "Answer.request": "the broker has it, too: what it is about, and that it waits for the answer, is in its key",
    "Cluster.incarnations": "how many were drawn numbers the next, which is new in any case",
    "Cluster.is_asked_the_rest": "only of a probe",
    "Cluster.log": "its records are held to the document's when they are appended, and their replay is in the key",
    "Cluster.marks": "offsets in the log, where those that wait for them say what they reach",
    "Cluster.shape": "the same in all states",
    "Cluster.topics": "how many were drawn numbers the next, which is new in any case",
    "Cluster.written": "it numbers batches, which are told apart by their order",
    "ControllerHost.high_watermark": "what the core has committed ends there",
    "ControllerHost.operators": "the calls that wait, and that no broker has made",
    "UUID.is_safe": "nothing compares it",
}
"""Fields that the adapter keeps for itself."""
PERTURBED = ["shutdown", "failover_record", "restarts", "reassignment", "deletion"]


class Blind(KraftUnderTest):
    """It does not look at the timers of brokers."""

    def key(self, system: Cluster) -> Any:
        return super().key(with_hosts(system, same, lambda host: replace(host, timers={})))


def unnoticed_in(system: KraftUnderTest, names: list[str]) -> set[str]:
    models = (load(f"kraft/{name}") for name in names)
    return unnoticed(system, models, left_out(RULES) | OF_THE_ADAPTER.keys(), {MEMORY, "_hash"})


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_field_that_is_not_left_out_is_noticed() -> None:
    assert unnoticed_in(SYSTEM, PERTURBED) == set()


@pytest.mark.long("every field is changed in every state")
def test_a_blind_adapter_does_not_notice() -> None:
    assert "ProcessHost.timers" in unnoticed_in(Blind(PythonCore()), PERTURBED[:1])
