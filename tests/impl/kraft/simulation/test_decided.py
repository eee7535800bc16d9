"""What simulated clusters decide is a behaviour of KIP-631's spec, by partitions, and a lie about it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from impl.kraft.simulation.cluster import Cluster
from impl.kraft.simulation.swarm import cluster_plan_of
from tests.impl.kraft.simulation.decided import RecordedCluster, judged, traces_of

LIED_ABOUT = 28
"""Of three brokers, with reassignments."""

Event = dict[str, Any]
Lie = Callable[[list[Event]], list[Event]]


def test_a_run_is_the_same_when_its_decisions_are_recorded() -> None:
    plan = cluster_plan_of(0)
    assert RecordedCluster(plan).go() == Cluster(plan).go()


def test_each_partition_has_a_trace() -> None:
    traces = traces_of(cluster_plan_of(0))
    assert len(traces) == 4
    for name, text in traces.items():
        header, *events, end = map(json.loads, text.splitlines())
        assert (header["model"], header["name"], header["constants"]) == ("kraft/recorded", name, {"brokers": 2})
        assert end == {"end": len(events)} and [one["action"] for one in events].count("create_topic_on") == 1


@pytest.mark.sample(0, verify=6)
@pytest.mark.parametrize("seed", range(100))
def test_decisions_are_a_behaviour_of_the_spec(seed: int) -> None:
    plan = cluster_plan_of(seed)
    summary = judged(plan.swarm.brokers, traces_of(plan))
    assert summary.counts["rejected"] == summary.counts["unreadable"] == 0, summary.verdicts


def changed(action: str, change: Callable[[Event], None]) -> Lie:
    """What the last decision of a kind says of the partition is another thing."""

    def lie(events: list[Event]) -> list[Event]:
        copies = json.loads(json.dumps(events))
        *_, told = (event for event in copies if event["action"] == action)
        change(told["state"]["controllers"]["controller0"]["image"])
        return list(copies)

    return lie


def without(action: str) -> Lie:
    """The first step of an action is left out."""

    def lie(events: list[Event]) -> list[Event]:
        place = next(place for place, event in enumerate(events) if event["action"] == action)
        return events[:place] + events[place + 1 :]

    return lie


def keeps_its_leader_epoch(image: Event) -> None:
    image["partitions"]["partition0"]["leader_epoch"] -= 1


def has_another_isr(image: Event) -> None:
    image["partitions"]["partition0"]["isr"] = image["partitions"]["partition0"]["isr"][:1]


def has_another_order(image: Event) -> None:
    image["partitions"]["partition0"]["replicas"].reverse()


def is_unfenced(image: Event) -> None:
    for registration in filter(None, image["registrations"].values()):
        registration["fenced"] = False


LIES: dict[str, Lie] = {
    "a replica goes, and the leader epoch stays": changed("reassign", keeps_its_leader_epoch),
    "who is unfenced changes the ISR": changed("handle_heartbeat", has_another_isr),
    "replicas in another order": changed("create_topic_on", has_another_order),
    "who registers is unfenced": changed("handle_registration", is_unfenced),
    "nobody asked for the ISR": without("ask_for_isr"),
    "nobody asked to be unfenced": without("ask_by_heartbeat"),
    "a process that was not started": without("start"),
}


@pytest.mark.long("a kernel")
def test_lies_are_rejected() -> None:
    [text] = [text for name, text in traces_of(cluster_plan_of(LIED_ABOUT)).items() if name == "seed 28, 3689 0"]
    header, *events = text.splitlines(keepends=True)[:-1]
    found = [json.loads(line) for line in events]
    lies = {name: header + "".join(json.dumps(event) + "\n" for event in lie(found)) for name, lie in LIES.items()}
    summary = judged(3, {"as it was": text, **lies})
    assert summary.counts["rejected"] == len(LIES) and summary.counts["accepted"] == 1, summary.verdicts
