"""What operators ask for: a controller of Apache Kafka and one of ours give the same answers, and write the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.update_features.v1.response import UpdateFeaturesResponse

from impl.kraft.controller.lists import LISTS
from tests.impl.kraft.released import java, released
from tests.impl.kraft.server.admin_requests import (
    APPEND,
    BROKER,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    alteration,
    configs_of,
    creation,
    election,
    grown,
    growth,
    levels,
    moved,
    new_topic,
    quotas,
    replacement,
)
from tests.impl.kraft.server.alone import KAFKA, OURS
from tests.impl.kraft.server.registered_brokers import with_brokers

POLICY = "cleanup.policy"
LEVEL = "metadata.version"

REQUESTS: list[Any] = [
    creation(new_topic("orders", (11, 12), (12, 13), retention_ms="5"), new_topic("bills", (12,))),
    creation(new_topic("orders", (11,)), new_topic("a b", (11,)), new_topic("gap", (11,), first=1)),
    creation(new_topic("new", (11, 12)), validate_only=True),
    creation(new_topic("orders", (11,)), new_topic("new", (11, 11)), validate_only=True),
    creation(new_topic("twice", (11,)), new_topic("twice", (12,)), new_topic("once", (11,))),
    creation(new_topic("many", partitions=1, factor=4), new_topic("none", partitions=0, factor=1)),
    growth(grown("orders", 2), grown("bills", 0), grown("missing", 3)),
    growth(grown("orders", 3, ((11, 12), (11, 12))), grown("bills", 2, ())),
    growth(grown("orders", 3, ((11,),)), grown("bills", 2, ((99,),))),
    growth(grown("orders", 3, ((11, 11),)), grown("bills", 2, ((),))),
    growth(grown("bills", 2, ((13,),))),
    growth(grown("bills", 2), grown("bills", 3)),
    growth(grown("orders", 4, ((13, 11), (12, 11))), validate_only=True),
    growth(grown("orders", 4, ((13, 11), (12, 11))), grown("bills", 2, ((11,),))),
    growth(grown("orders", 3)),
    election(None),
    election({"orders": (0, 2, 3, 9), "missing": (0,)}),
    alteration(configs_of(TOPIC, "orders", ("retention.ms", SET, "7"), ("segment.ms", SET, "8"))),
    alteration(configs_of(TOPIC, "orders", ("retention.ms", DELETE, None), ("segment.ms", SET, "9")),
               configs_of(TOPIC, "bills", (POLICY, APPEND, "compact"))),
    alteration(configs_of(TOPIC, "bills", (POLICY, APPEND, "compact"))),
    alteration(configs_of(TOPIC, "bills", (POLICY, SUBTRACT, "delete"), ("retention.ms", SET, "7"))),
    alteration(configs_of(TOPIC, "bills", ("retention.ms", SET, "8"), ("min.insync.replicas", SET, "0"))),
    alteration(configs_of(TOPIC, "bills", ("retention.ms", APPEND, "8"))),
    alteration(configs_of(TOPIC, "bills", ("retention.ms", SUBTRACT, "8")), configs_of(TOPIC, "bills")),
    alteration(configs_of(TOPIC, "missing", ("retention.ms", SET, "8"))),
    alteration(configs_of(BROKER, "99", ("log.cleaner.threads", SET, "2"))),
    alteration(configs_of(BROKER, "x", ("log.cleaner.threads", SET, "2"))),
    alteration(configs_of(BROKER, "11", ("log.cleaner.threads", SET, "2")),
               configs_of(BROKER, "", ("log.cleanup.policy", APPEND, "compact"))),
    alteration(configs_of(TOPIC, "orders", ("retention.ms", SET, "1")), validate_only=True),
    alteration(configs_of(TOPIC, "orders", ("min.insync.replicas", SET, "0")), validate_only=True),
    alteration(configs_of(TOPIC, "orders")),
    alteration(configs_of(TOPIC, "bills", ("segment.ms", SET, "6"), ("retention.ms", SET, "6"))),
    replacement(TOPIC, "bills", retention_ms="9", max_message_bytes="5"),
    replacement(TOPIC, "bills", retention_ms=None), replacement(TOPIC, "bills", min_insync_replicas="0"),
    replacement(TOPIC, "bills", validate_only=True), replacement(TOPIC, "missing", retention_ms="9"),
    replacement(BROKER, "99", retention_ms="9"), replacement(BROKER, "11"), replacement(TOPIC, "bills"),
    creation(new_topic("moves", *[(11, 12)] * 6)),
    moved("moves", (0, (11,)), (1, (12,)), (2, (12, 11)), (3, (11, 12)), (9, (11,))),
    moved("moves", (3, (11, 13)), (4, (13, 11)), (5, (11, 11)), (2, (99,)), (1, None)),
    moved("moves", (3, None), (4, None)),
    moved("missing", (0, (11,))),
    levels((LEVEL, 7, 1)), levels((LEVEL, 8, 1), validate_only=True), levels((LEVEL, 5, 2)), levels((LEVEL, 6, 1)),
    levels((LEVEL, 99, 1)), levels((LEVEL, -1, 1)), levels((LEVEL, 0, 1)), levels((LEVEL, 0, 2)),
    levels((LEVEL, 0, 3)), levels((LEVEL, 9, 2)), levels((LEVEL, 9, 0)), levels((LEVEL, 9, 4)),
    levels((LEVEL, 9, 1), ("none", 1, 1)), levels((LEVEL, 9, 1), (LEVEL, 10, 1)), levels(("none", 0, 1)), levels(),
    levels((LEVEL, 10, 1)), levels((LEVEL, 9, 1)), levels((LEVEL, 9, 2)), levels((LEVEL, 8, 3)), levels((LEVEL, 7, 2)),
    levels((LEVEL, 12, 1)), levels((LEVEL, 11, 2)), levels((LEVEL, 10, 2)), levels((LEVEL, 14, 1)),
    levels((LEVEL, 13, 2)), levels((LEVEL, 14, 3)), levels((LEVEL, 13, 3)),
    quotas(({"user": "ann"}, {"producer_byte_rate": 5.0, "request_percentage": 0.5})),
    quotas(({"user": "ann"}, {"producer_byte_rate": 5.0}), ({"user": None}, {"consumer_byte_rate": 1.0})),
    quotas(({"user": "ann"}, {"producer_byte_rate": None, "consumer_byte_rate": None})),
    quotas(({"client-id": "app"}, {"controller_mutation_rate": 2.5})),
    quotas(({"ip": "::1"}, {"connection_creation_rate": 3.0})),
    quotas(({"user": "ann"}, {"producer_byte_rate": 1.5}), ({"user": "bob"}, {"unknown": 1.0})),
    quotas(({"user": "ann"}, {"connection_creation_rate": 1.0}), ({"ip": "::1"}, {"producer_byte_rate": 1.0})),
    quotas(({"user": "ann"}, {"producer_byte_rate": 0.0}), ({"user": "bob"}, {"request_percentage": -1.0})),
    quotas(({"ip": "::1"}, {"connection_creation_rate": 2147483648.0})),
    quotas(({"ip": None}, {"connection_creation_rate": 1.0})),
    quotas(({"ip": "::1", "user": "ann"}, {"connection_creation_rate": 1.0}), ({}, {"producer_byte_rate": 1.0})),
    quotas(({"host": "a"}, {"producer_byte_rate": 1.0}), ({"user": ""}, {"producer_byte_rate": 1.0})),
    quotas(({"user": "tom"}, {"producer_byte_rate": 1.0}), validate_only=True),
]  # fmt: skip


def errors(response: Any) -> list[tuple[str, int]]:
    """By what each is about."""
    if isinstance(response, ElectLeadersResponse):
        elections = response.replica_election_results
        found = [(f"{topic.topic}-{one.partition_id}", one) for topic in elections for one in topic.partition_result]
        return sorted([("", int(response.error_code)), *((name, int(one.error_code)) for name, one in found)])
    if isinstance(response, AlterPartitionReassignmentsResponse):
        moves = [
            (f"{topic.name}-{one.partition_index}", one) for topic in response.responses for one in topic.partitions
        ]
        return sorted([("", int(response.error_code)), *((name, int(one.error_code)) for name, one in moves)])
    if isinstance(response, AlterClientQuotasResponse):
        return sorted(
            (str(sorted((of.entity_type, of.entity_name) for of in one.entity)), int(one.error_code))
            for one in response.entries
        )
    if isinstance(response, UpdateFeaturesResponse):
        return [("", int(response.error_code)), *sorted((one.feature, int(one.error_code)) for one in response.results)]
    parts = getattr(response, "topics", ()) or getattr(response, "results", ()) or getattr(response, "responses", ())
    return sorted((getattr(one, "name", "") or one.resource_name, int(one.error_code)) for one in parts)


@pytest.mark.long("a JVM and a process")
@released
def test_answers_and_records_are_those_of_kafka(tmp_path: Path) -> None:
    with (
        with_brokers(tmp_path / "kafka", KAFKA) as kafka,
        with_brokers(tmp_path / "ours", OURS) as ours,
    ):
        differs = [
            (request, ("kafka", errors(of_kafka)), ("ours", errors(of_ours)))
            for request in REQUESTS
            if errors(of_kafka := kafka.answer(request)) != errors(of_ours := ours.answer(request))
        ]
        assert not differs, "\n".join(map(str, differs))
        assert ours.written() == kafka.written()
        assert ours.levels() == kafka.levels() == [7, 10, 9, 8, 12, 11, 14]


@pytest.mark.long("a JVM")
@released
def test_the_configs_that_are_lists_are_those_of_kafka() -> None:
    done = java(Path(__file__).parent / "Lists.java")
    assert done.returncode == 0, done.stderr
    rows = [line.split(" ", 3)[1:] for line in done.stdout.splitlines() if line.startswith("list ")]
    assert {(int(kind), name): None if value == "null" else value for kind, name, value in rows} == {
        (kind, name): value for kind, lists in LISTS.items() for name, value in lists.items()
    }
