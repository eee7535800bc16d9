"""A counterexample made by hand, as a checker would report it: KAFKA-13173, one partition, two brokers.

One decision fences both brokers, and the second fencing is computed from the state before the first: broker 1
is elected leader and fenced at once.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from traces import Column, Step, Trace, Value, Violation

NONE: Value = {"tag": "None", "value": {"#tup": []}}


def some(value: Value) -> Value:
    return {"tag": "Some", "value": value}


def a_set(*members: Value) -> Value:
    return {"#set": list(members)}


def a_map(**items: Value) -> Value:
    return {"#map": [[key, value] for key, value in items.items()]}


def message(tag: str, **fields: Value) -> Value:
    return some({"tag": tag, "value": fields})


def registration(epoch: int, fenced: bool) -> Value:
    return some({"broker_epoch": epoch, "fenced": fenced})


def _process(state: str, incarnation: int, epoch: Value) -> dict[str, Value]:
    return {"state": state, "incarnation": incarnation, "epoch": epoch}


class _Story:
    """Steps written as what they change."""

    def __init__(self, state: dict[str, Value]) -> None:
        self.state = state
        self.steps = [Step(1, "init", "", {}, deepcopy(state), source="KIP-631, Broker Startup")]

    def step(
        self,
        actor: str,
        action: str,
        notes: list[str],
        source: str,
        changes: dict[str, Any],
        **parameters: Value,
    ) -> None:
        for path, value in changes.items():
            *way, last = path.split(".")
            place: Any = self.state
            for part in way:
                place = dict(place["#map"])[part] if "#map" in place else place[part]
            if "#map" in place:
                place["#map"] = [[key, value if key == last else old] for key, old in place["#map"]]
            else:
                place[last] = value
        index = len(self.steps) + 1
        self.steps.append(
            Step(index, action, actor, parameters, deepcopy(self.state), tuple(notes), f"KIP-631, {source}")
        )


def _steps() -> tuple[Step, ...]:
    story = _Story(
        {
            "processes": a_map(broker0=_process("RUNNING", 1, some(1)), broker1=_process("STARTING", 2, NONE)),
            "lease_expired": a_map(broker0=False, broker1=False),
            "registrations": a_map(broker0=registration(1, False), broker1=NONE),
            "partition": {
                "leader": some("broker0"),
                "isr": a_set("broker0"),
                "leader_epoch": 1,
                "partition_epoch": 1,
            },
            "requests": a_map(broker0=NONE, broker1=NONE),
        }
    )
    story.step(
        "broker 1",
        "send_registration",
        ["sends BrokerRegistration v1"],
        "Broker Startup",
        {"requests.broker1": message("Register", incarnation=2)},
        broker="broker1",
    )
    story.step(
        "active controller",
        "register_broker",
        ["BrokerRegistration v1 → NONE, broker epoch 2", "writes RegisterBrokerRecord(broker 1, epoch 2)"],
        "Broker Registration",
        {
            "requests.broker1": NONE,
            "registrations.broker1": registration(2, True),
            "processes.broker1.epoch": some(2),
            "processes.broker1.state": "RECOVERY",
        },
        broker="broker1",
    )
    story.step(
        "broker 1",
        "send_heartbeat",
        ["sends BrokerHeartbeat v1, WantFence=false"],
        "Broker Leases",
        {"requests.broker1": message("Heartbeat", epoch=2, want_fence=False)},
        broker="broker1",
    )
    story.step(
        "active controller",
        "unfence_broker",
        ["BrokerHeartbeat v1 → NONE, IsFenced=false", "writes UnfenceBrokerRecord(broker 1, epoch 2)"],
        "Broker Leases",
        {
            "requests.broker1": NONE,
            "registrations.broker1": registration(2, False),
            "processes.broker1.state": "RUNNING",
        },
        broker="broker1",
    )
    story.step(
        "broker 0, leader",
        "ask_to_expand_isr",
        ["sends AlterPartition v3"],
        "AlterIsr",
        {"requests.broker0": message("AlterIsr", leader_epoch=1, partition_epoch=1, isr=a_set("broker0", "broker1"))},
        broker="broker0",
        follower="broker1",
    )
    story.step(
        "active controller",
        "alter_isr",
        ["AlterPartition v3 → NONE", "writes PartitionChangeRecord(isr={0, 1}), partition epoch 2"],
        "AlterIsr",
        {
            "requests.broker0": NONE,
            "partition.isr": a_set("broker0", "broker1"),
            "partition.partition_epoch": 2,
        },
        broker="broker0",
    )
    story.step("time", "lease_runs_out", [], "Broker Leases", {"lease_expired.broker0": True}, broker="broker0")
    story.step("time", "lease_runs_out", [], "Broker Leases", {"lease_expired.broker1": True}, broker="broker1")
    story.step(
        "active controller",
        "fence_expired_brokers",
        [
            "writes PartitionChangeRecord(leader=1, isr={1}), leader epoch 2",
            "writes FenceBrokerRecord(broker 0, epoch 1)",
            "writes FenceBrokerRecord(broker 1, epoch 2)",
        ],
        "Broker Leases",
        {
            "registrations.broker0": registration(1, True),
            "registrations.broker1": registration(2, True),
            "partition.leader": some("broker1"),
            "partition.isr": a_set("broker1"),
            "partition.leader_epoch": 2,
            "partition.partition_epoch": 3,
        },
        brokers=a_set("broker0", "broker1"),
    )
    return tuple(story.steps)


def _broker(name: str, title: str) -> Column:
    return Column(title, (("", ("processes", name)), ("lease expired", ("lease_expired", name))))


STORY = Trace(
    model="kraft/isr",
    constants={
        "brokers": 2,
        "crashes": 0,
        "spurious_expiries": 0,
        "kafka_13173": False,
        "kip_841": True,
        "kip_903": True,
    },
    steps=_steps(),
    violation=Violation(
        property="leader_is_active",
        kind="invariant",
        statement="A partition's leader, where there is one, is in the ISR, registered and unfenced.",
        source="KIP-631, Broker Leases",
        conjunct="not s.registrations[s.partition.leader].fenced",
        location="spec/kraft/properties/heartbeat.py:41",
        values=(("s.partition.leader", "broker1"), ("s.registrations[s.partition.leader].fenced", True)),
    ),
    head=(
        "switched off: kafka_13173 (each fencing sees the state that the one before left)",
        "fault budget: no crash, no spurious expiry; two brokers fall silent, as in a network partition",
        "shortest: no trace of fewer than 10 steps breaks it",
        "not modelled: log contents, controller failover, unclean election",
        "finding: known (KAFKA-13173)",
    ),
    tail=(
        "with kafka_13173 on: step 10 (fence_expired_brokers) leaves the partition without a leader: "
        "elect(s, excluding=...) finds no active member of the ISR",
    ),
    columns=(
        _broker("broker0", "broker 0"),
        _broker("broker1", "broker 1"),
        Column("controller", (("", ("partition",)), ("registrations", ("registrations",)))),
        Column("network", (("", ("requests",)),)),
    ),
)


@pytest.fixture
def story() -> Trace:
    """Ten steps of two brokers, a controller and a network, ending in a violated invariant."""
    return STORY
