"""Log directories, registered controllers, unclean elections: Kafka's controller and ours answer and write the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kio.schema.alter_partition.v3 import request as isr_request
from kio.schema.assign_replicas_to_dirs.v0 import request as assign_request
from kio.schema.controller_registration.v0 import request as controller_request
from kio.schema.types import BrokerId
from kio.static.primitive import i8, i16, i32, i64, u16

from impl.kraft.image import UNCLEAN_ELECTION
from impl.kraft.storage.directories import decode_id
from tests.impl.kraft.released import released
from tests.impl.kraft.server.admin_requests import (
    BROKER,
    SET,
    TOPIC,
    alteration,
    configs_of,
    creation,
    election,
    moved,
    new_topic,
)
from tests.impl.kraft.server.alone import KAFKA, OURS
from tests.impl.kraft.server.registered_brokers import FENCED, UNWRITTEN, WithBrokers, with_brokers

ONE, OTHER, THIRD, ALONE, ELSEWHERE = (UUID(int=number << 64 | 1) for number in range(1, 6))
RESERVED, LOST = UUID(int=99), UUID(int=2)
LOG_DIRS = {11: (ONE, OTHER, THIRD), 12: (ALONE,), FENCED: (ELSEWHERE,)}
ITSELF = 1
LEVEL = ("-r", "3.7-IV4")
WRITTEN = frozenset((
    "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD",
    "REGISTER_CONTROLLER_RECORD",
))  # fmt: skip


def topic_id(of: WithBrokers, name: str) -> UUID:
    return next(
        decode_id(data["topicId"]) for kind, data in of.records() if kind == "TOPIC_RECORD"
        and data["name"] == name
    )  # fmt: skip


def epoch_of(of: WithBrokers, broker_id: int) -> int:
    """Of its last registration."""
    return [
        int(data["brokerEpoch"]) for kind, data in of.records() if kind == "REGISTER_BROKER_RECORD"
        and data["brokerId"] == broker_id
    ][-1]  # fmt: skip


def placed(of: WithBrokers, broker_id: int, *replicas: tuple[UUID, UUID, int], epoch: int | None = None) -> Any:
    """The answer to a broker that says where replicas are: directory, topic, partition."""
    return of.answer(assign_request.AssignReplicasToDirsRequest(
        broker_id=BrokerId(broker_id), broker_epoch=i64(epoch_of(of, broker_id) if epoch is None else epoch),
        directories=tuple(
            assign_request.DirectoryData(id_=directory, topics=(assign_request.TopicData(
                topic_id=topic, partitions=(assign_request.PartitionData(partition_index=i32(number)),),
            ),))
            for directory, topic, number in replicas
        ),
    ))  # fmt: skip


def errors(answer: Any) -> list[int]:
    """All error codes of an answer, in order."""
    found = [int(getattr(answer, "error_code", 0))]
    for directory in getattr(answer, "directories", ()):
        found += [int(one.error_code) for topic in directory.topics for one in topic.partitions]
    for topic in getattr(answer, "replica_election_results", ()):
        found += [int(one.error_code) for one in topic.partition_result]
    for topic in getattr(answer, "topics", ()):
        found += [int(one.error_code) for one in getattr(topic, "partitions", ())] or [int(topic.error_code)]
    return found


def controller(level: int) -> Any:
    return controller_request.ControllerRegistrationRequest(
        controller_id=i32(7), incarnation_id=UUID(int=70), zk_migration_ready=False,
        listeners=(controller_request.Listener(name="C", host="h", port=u16(9), security_protocol=i16(0)),),
        features=(controller_request.Feature(
            name="metadata.version", min_supported_version=i16(7), max_supported_version=i16(level)
        ),),
    )  # fmt: skip


def recovered(of: WithBrokers, topic: str, *isr: int, leader_epoch: int, partition_epoch: int, state: int) -> Any:
    """A leader says whether it has recovered from an unclean election."""
    leader = isr[0]
    return of.answer(isr_request.AlterPartitionRequest(
        broker_id=BrokerId(leader), broker_epoch=i64(epoch_of(of, leader)), topics=(isr_request.TopicData(
            topic_id=topic_id(of, topic), partitions=(isr_request.PartitionData(
                partition_index=i32(0), leader_epoch=i32(leader_epoch), partition_epoch=i32(partition_epoch),
                leader_recovery_state=i8(state), new_isr_with_epochs=tuple(
                    isr_request.BrokerState(broker_id=BrokerId(one), broker_epoch=i64(epoch_of(of, one)))
                    for one in isr
                ),
            ),),
        ),),
    ))  # fmt: skip


def once(of: WithBrokers) -> UUID:
    return topic_id(of, "once")


STEPS: Sequence[Callable[[WithBrokers], Any]] = [
    lambda of: of.registered(12, incarnation=100),
    lambda of: of.registered(14),
    lambda of: of.registered(14, ELSEWHERE),
    lambda of: of.registered(14, RESERVED),
    lambda of: of.registered(14, UUID(int=9 << 64), UUID(int=9 << 64)),
    lambda of: of.answer(creation(new_topic("once", (11, 12), (12, 11), (11, FENCED)), new_topic("single", (11,)))),
    lambda of: placed(of, 11, (ONE, once(of), 0), (OTHER, once(of), 1), (THIRD, topic_id(of, "single"), 0)),
    lambda of: placed(of, 11, (ONE, once(of), 2), (ONE, once(of), 9), (ONE, UUID(int=5), 0)),
    lambda of: placed(of, 12, (ALONE, once(of), 0), (ALONE, once(of), 2)),
    lambda of: placed(of, 12, (ALONE, once(of), 0), epoch=1 << 40),
    lambda of: placed(of, 99, (ALONE, once(of), 0), epoch=0),
    lambda of: of.answer(moved("once", (0, (11, 12, FENCED)))),
    lambda of: of.answer(moved("once", (0, None), (1, (12,)))),
    lambda of: of.beat(11, epoch_of(of, 11), ONE),
    lambda of: of.beat(11, epoch_of(of, 11), ONE),
    lambda of: of.answer(election({"once": (0, 1, 2, 9), "single": (0,)})),
    lambda of: of.beat(11, epoch_of(of, 11), ONE, UUID(int=77 << 64)),
    lambda of: placed(of, 11, (ONE, once(of), 1)),
    lambda of: of.beat(11, epoch_of(of, 11), ONE, THIRD),
    lambda of: of.answer(election({"single": (0,)}, is_unclean=True)),
    lambda of: of.answer(creation(new_topic("lossy", (12, 11)), new_topic("clean", (12, 11)))),
    lambda of: of.beat(11, epoch_of(of, 11), wants_fence=True),
    lambda of: of.beat(12, epoch_of(of, 12), wants_fence=True),
    lambda of: of.answer(election({"lossy": (0,), "missing": (0,)}, is_unclean=True)),
    lambda of: of.beat(11, epoch_of(of, 11)),
    lambda of: of.answer(election({"lossy": (0,)})),
    lambda of: of.answer(election({"lossy": (0, 1)}, is_unclean=True)),
    lambda of: of.answer(election({"lossy": (0,)}, is_unclean=True)),
    lambda of: of.answer(election(None, is_unclean=True)),
    lambda of: of.beat(12, epoch_of(of, 12)),
    lambda of: recovered(of, "lossy", 11, 12, leader_epoch=2, partition_epoch=3, state=1),
    lambda of: recovered(of, "lossy", 11, 12, leader_epoch=2, partition_epoch=3, state=0),
    lambda of: recovered(of, "lossy", 11, leader_epoch=2, partition_epoch=4, state=1),
    lambda of: of.answer(controller(19)),
    lambda of: of.beat(11, epoch_of(of, 11), wants_fence=True),
    lambda of: of.answer(creation(
        new_topic("allowed", (12, 11), unclean_leader_election_enable="true"), new_topic("later", (12, 11)),
    )),
    lambda of: of.beat(11, epoch_of(of, 11)),
    lambda of: of.beat(12, epoch_of(of, 12), wants_fence=True),
    lambda of: of.answer(alteration(configs_of(TOPIC, "later", (UNCLEAN_ELECTION, SET, "true")))),
    lambda of: of.beat(11, epoch_of(of, 11), wants_fence=True),
    lambda of: of.beat(11, epoch_of(of, 11)),
    lambda of: of.answer(alteration(configs_of(BROKER, "", (UNCLEAN_ELECTION, SET, "true")))),
    lambda of: of.answer(alteration(configs_of(TOPIC, "allowed", (UNCLEAN_ELECTION, SET, "false")))),
    lambda of: of.beat(11, epoch_of(of, 11), wants_fence=True),
    lambda of: of.beat(12, epoch_of(of, 12)),
    lambda of: of.beat(11, epoch_of(of, 11)),
]  # fmt: skip


@pytest.mark.long("a JVM and a process")
@released
def test_answers_and_records_are_those_of_kafka(tmp_path: Path) -> None:
    with (
        with_brokers(tmp_path / "kafka", KAFKA, options=LEVEL, log_dirs=LOG_DIRS) as kafka,
        with_brokers(tmp_path / "ours", OURS, options=LEVEL, log_dirs=LOG_DIRS) as ours,
    ):
        differs = []
        for number, step in enumerate(STEPS):
            of_kafka, of_ours = errors(step(kafka)), errors(step(ours))
            if of_kafka != of_ours:
                differs.append((number, ("kafka", of_kafka), ("ours", of_ours)))
        assert not differs, "\n".join(map(str, differs))
        assert without_fencing(ours) == without_fencing(kafka)


@pytest.mark.long("a JVM and a process")
@released
def test_who_is_unfenced_as_its_directory_fails_leads_from_there_in_kafka_alone(tmp_path: Path) -> None:
    """ReplicationControlManager.processBrokerHeartbeat elects it before it looks at directories, and not again."""
    leaders = {}
    for name, command in ("kafka", KAFKA), ("ours", OURS):
        with with_brokers(tmp_path / name, command, options=LEVEL, log_dirs=LOG_DIRS) as of:
            of.answer(creation(new_topic("single", (11,))))
            placed(of, 11, (ONE, topic_id(of, "single"), 0))
            of.beat(11, epoch_of(of, 11), wants_fence=True)
            for _ in range(2):
                of.beat(11, epoch_of(of, 11), ONE)
            changes = [data for kind, data in of.records() if kind == "PARTITION_CHANGE_RECORD"]
            leaders[name] = [data["leader"] for data in changes if "leader" in data]
    assert leaders == {"kafka": [-1, 11], "ours": [-1]}


def without_fencing(of: WithBrokers) -> list[tuple[str, str, dict[str, Any]]]:
    """What is written, in order of each partition and controller.

    But for fencing, for which KIP-631 has records of its own, the controller itself, which registers in its time, and
    what Kafka writes again that it has: a registration.
    """
    records = of.records()
    names = {data["topicId"]: data["name"] for kind, data in records if kind == "TOPIC_RECORD"}
    found = [
        (
            names.get(data.get("topicId", ""), str(data.get("controllerId", ""))),
            kind,
            {one: data[one] for one in data if one not in UNWRITTEN},
        )
        for kind, data in records
        if kind in WRITTEN and (kind.startswith("REGISTER") or not data.get("fenced"))
        if data.get("controllerId") != ITSELF
    ]
    in_order = sorted(found, key=lambda one: (one[0], one[2].get("partitionId", -1)))
    return [one for one, _ in groupby(in_order)]
