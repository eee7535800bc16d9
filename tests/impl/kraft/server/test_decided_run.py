"""Records of a log of ours tell what was decided: it is accepted, and what no controller may decide is not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from impl.apache.recording.driving import START, Done
from impl.kraft.metadata.encoding import MetadataRecord, encode
from impl.kraft.recorded.image import Image
from impl.kraft.recorded.records import numbered
from impl.kraft.storage.batches import Record, RecordBatch
from impl.kraft.storage.batches import encode as encode_batch
from impl.kraft.storage.control import LeaderChange, leader_change
from tests.impl.kraft.recorded.made_records import change, fenced, registered, topic, unfenced
from tests.impl.kraft.server.decided_run import ahead_ms, decisions, expired, operation, traces
from tests.impl.kraft.simulation.decided import judged

NODES = (11, 12)
NUMBERS = {11: 0, 12: 1}
JOURNAL = [Done(0, START, broker) for broker in range(len(NODES))]


BEGIN = [
    [registered(11, 1, UUID(int=11))], [registered(12, 2, UUID(int=12))], [unfenced(11, 1)], [unfenced(12, 2)],
    topic(*NODES),
]  # fmt: skip


def log(*batches: list[MetadataRecord]) -> bytes:
    """Each batch is a decision, a second after the one before; a controller leads from the first."""
    data = encode_batch(RecordBatch(0, 1, 1_000, (leader_change(LeaderChange(1, (1,), (1,))),), is_control=True))
    offset = 1
    for number, records in enumerate(batches, 2):
        data += encode_batch(RecordBatch(offset, 1, number * 1_000, tuple(Record(encode(one)) for one in records)))
        offset += len(records)
    return data


def status(*more: list[MetadataRecord]) -> str:
    """A broker is fenced because its lease has expired."""
    lines: list[dict[str, Any]] = [
        {"event": "started"},
        {"event": "lease expired", "broker": 11, "epoch": 1, "offset": 7},
    ]
    lapsed = expired(lines if more[0][0].type == "FENCE_BROKER_RECORD" else [])
    summary = judged(len(NODES), traces(log(*BEGIN, *more), lapsed, JOURNAL, NODES))
    (found,) = [status for status, count in summary.counts.items() if count]
    return found


def test_the_leader_of_an_epoch_is_a_decision_and_brokers_count_from_zero() -> None:
    first, second, *_ = decisions(log(*BEGIN), NODES)
    assert (first.leader, first.records) == (1, ())
    assert (second.leader, second.time_ms, second.records[0].fields["brokerId"]) == (None, 2_000, 0)


def test_a_time_is_that_of_the_clock_of_who_led_when_it_was_started() -> None:
    lines: list[dict[str, Any]] = [
        {"event": "started", "node": 1, "clock_ahead_ms": 70},
        {"event": "quorum", "node": 1, "epoch": 1, "leader": 1},
        {"event": "quorum", "node": 1, "epoch": 2, "leader": 3},
        {"event": "started", "node": 1, "clock_ahead_ms": 90},
        {"event": "quorum", "node": 1, "epoch": 1, "leader": 1},
        {"event": "quorum", "node": 1, "epoch": 4, "leader": 1},
    ]
    assert ahead_ms(lines) == {1: 70, 4: 90}
    later = [Done(1_000_000, START, broker) for broker in range(len(NODES))]
    found = traces(log(*BEGIN), set(), later, NODES, clocks_ms={1: -1_000_000})
    assert found == traces(log(*BEGIN), set(), JOURNAL, NODES) != traces(log(*BEGIN), set(), later, NODES)


def test_what_was_asked_is_told_from_the_records() -> None:
    moved, still = Image(), Image()
    for records in BEGIN:
        for record in records:
            moved.replay(numbered(record, NUMBERS))
            still.replay(numbered(record, NUMBERS))
    moved.replay(change(replicas=(0, 1, 2), addingReplicas=(2,), removingReplicas=(0,)))

    asked = "alterPartitionReassignments"
    assert operation([change(addingReplicas=(2,), replicas=(0, 1, 2))], still) == asked
    assert operation([change(replicas=(1,), isr=(1,), leader=1)], still) == asked, "who stays is in sync"
    cancelled = change(replicas=(0, 1), addingReplicas=(), removingReplicas=())
    assert operation([cancelled], moved) == asked
    completed = change(replicas=(1, 2), isr=(1, 2), leader=1, addingReplicas=(), removingReplicas=())
    assert operation([completed], moved) == ""
    other = change(replicas=(0, 2), isr=(0, 2), addingReplicas=(), removingReplicas=())
    assert operation([other], moved) == asked, "another reassignment, whose replicas are in sync"
    assert operation([change(leader=1)], still) == "electLeaders"
    assert operation([change(isr=(0,))], still) == ""
    assert operation([change()], still) == "", "a leader asks for the ISR that is there"
    assert operation([numbered(fenced(11, 1), NUMBERS), change(leader=1)], still) == "processBrokerHeartbeat"


@pytest.mark.parametrize(
    "decided",
    [
        [change(isr=(11,))],
        [fenced(11, 1), change(isr=(12,), leader=12)],
        [change(replicas=(12,), isr=(12,), leader=12)],
    ],
    ids=["an ISR shrinks", "a leader is fenced", "a partition moves to who is in sync"],
)
def test_what_a_controller_may_decide_is_accepted(decided: list[MetadataRecord]) -> None:
    assert status(decided) == "accepted"


@pytest.mark.parametrize(
    "decided",
    [
        [change(isr=(12,))],
        [fenced(11, 1)],
        [change(leader=12)],
        [change(isr=(11, 12), replicas=(12,), leader=12)],
    ],
    ids=["a leader is outside", "a fenced leader stays", "the preferred leader was not elected", "who left stays"],
)
def test_what_no_controller_may_decide_is_rejected(decided: list[MetadataRecord]) -> None:
    assert status(decided) == "rejected"
