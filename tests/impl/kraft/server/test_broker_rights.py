"""What a broker of ours tells and takes by who asks: by ACLs of its metadata, with the errors of Kafka (KafkaApis)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from impl.kraft.records import FeatureLevelRecord
from impl.kraft.security.acls import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType, added
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.security.principals import Principal
from impl.kraft.server.client_requests import (
    DESCRIBE_ACLS,
    DESCRIBE_QUOTAS,
    DESCRIBE_USERS,
    FETCH,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
)
from tests.impl.kraft.server.one_broker import EPOCHS, ID, OTHER, TOPIC, TOPIC_ID, OneBroker
from tests.impl.kraft.server.test_client_requests import EARLIEST, batch, fetch, produce

ROOT, ANN = Principal("User", "root"), Principal("User", "ann")
REFUSED, OF_CLUSTER = ErrorCode.topic_authorization_failed, ErrorCode.cluster_authorization_failed
OFFSETS = {"replica_id": -1, "isolation_level": 0, "topics": [
    {"name": TOPIC, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": EARLIEST}]}
]}  # fmt: skip
ACLS = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
    "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip


def permitted(operation: Operation, name: str = TOPIC, resource: ResourceType = ResourceType.TOPIC) -> Acl:
    """A record has plain numbers."""
    return Acl(int(resource), name, int(PatternType.LITERAL), str(ANN), "*", int(operation), int(Permission.ALLOW))


def guarded(folder: Path, *acls: Acl) -> OneBroker:
    folder.mkdir(exist_ok=True)
    one = OneBroker(folder, authorizer=Authorizer((str(ROOT),), allows_without_acls=False))
    one.replay(FeatureLevelRecord("metadata.version", 7, 7))
    one.create_topic((ID, OTHER))
    for number, acl in enumerate(acls):
        one.replay(added(UUID(int=900 + number), acl))
    return one


async def write(one: OneBroker, of: Principal) -> ErrorCode:
    answer = await one.ask(PRODUCE, 9, produce(batch(b"value"), acks=1), of)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


async def read(one: OneBroker, of: Principal, version: int = 12, **more: Any) -> ErrorCode:
    answer = await one.ask(FETCH, version, {**fetch(0), **more}, of)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


async def follow(one: OneBroker, of: Principal) -> ErrorCode:
    state = {"replica_id": OTHER, "replica_epoch": EPOCHS[OTHER]}
    topics = fetch(0, current_leader_epoch=0)["topics"]
    return await read(one, of, 17, replica_state=state, topics=topics)


async def offsets(one: OneBroker, of: Principal) -> ErrorCode:
    answer = await one.ask(LIST_OFFSETS, 7, OFFSETS, of)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


async def begin(one: OneBroker, of: Principal) -> ErrorCode:
    asked = {"transactional_id": None, "transaction_timeout": produce(None)["timeout"]}
    return ErrorCode((await one.ask(INIT_PRODUCER_ID, 1, asked, of)).error_code)


async def users(one: OneBroker, of: Principal) -> ErrorCode:
    return ErrorCode((await one.ask(DESCRIBE_USERS, 0, {"users": None}, of)).error_code)


async def quotas(one: OneBroker, of: Principal) -> ErrorCode:
    return ErrorCode((await one.ask(DESCRIBE_QUOTAS, 1, {"components": (), "strict": False}, of)).error_code)


async def acls(one: OneBroker, of: Principal) -> ErrorCode:
    return ErrorCode((await one.ask(DESCRIBE_ACLS, 3, ACLS, of)).error_code)


CLUSTER = ResourceType.CLUSTER
NO_ID_YET = ErrorCode.coordinator_load_in_progress
"""Of who may have a producer id, where no controller gives any."""


@pytest.mark.parametrize(
    ("ask", "refusal", "enough", "not_enough"),
    [
        (write, REFUSED, permitted(Operation.WRITE), permitted(Operation.READ)),
        (read, REFUSED, permitted(Operation.READ), permitted(Operation.WRITE)),
        (offsets, REFUSED, permitted(Operation.DESCRIBE), permitted(Operation.DESCRIBE, "other")),
        (begin, OF_CLUSTER, permitted(Operation.WRITE, "other"), permitted(Operation.READ)),
        (begin, OF_CLUSTER, permitted(Operation.IDEMPOTENT_WRITE, CLUSTER_NAME, CLUSTER), permitted(Operation.READ)),
        (users, OF_CLUSTER, permitted(Operation.DESCRIBE, CLUSTER_NAME, CLUSTER), permitted(Operation.DESCRIBE)),
        (acls, OF_CLUSTER, permitted(Operation.DESCRIBE, CLUSTER_NAME, CLUSTER), permitted(Operation.DESCRIBE)),
        (
            quotas,
            OF_CLUSTER,
            permitted(Operation.DESCRIBE_CONFIGS, CLUSTER_NAME, CLUSTER),
            permitted(Operation.DESCRIBE, CLUSTER_NAME, CLUSTER),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_request_needs_what_it_needs(
    tmp_path: Path,
    ask: Callable[[OneBroker, Principal], Awaitable[ErrorCode]],
    refusal: ErrorCode,
    enough: Acl,
    not_enough: Acl,
) -> None:
    fine = NO_ID_YET if ask is begin else ErrorCode.none

    def runs(name: str, given: Acl, of: Principal, expected: ErrorCode) -> None:
        one = guarded(tmp_path / name, given)

        async def what() -> None:
            assert await ask(one, of) is expected

        one.run(what)

    runs("enough", enough, ANN, fine)
    runs("too little", not_enough, ANN, refusal)
    runs("a super user", not_enough, ROOT, fine)


def test_who_follows_acts_for_the_cluster(tmp_path: Path) -> None:
    """Rights to the topic are not enough, as a follower is told of what is not committed."""
    one = guarded(tmp_path / "reader", permitted(Operation.ALL))
    other = guarded(tmp_path / "broker", permitted(Operation.CLUSTER_ACTION, CLUSTER_NAME, CLUSTER))

    async def refused() -> None:
        assert await follow(one, ANN) is REFUSED

    async def let_in() -> None:
        assert await follow(other, ANN) is ErrorCode.none

    one.run(refused)
    other.run(let_in)


def test_who_may_not_describe_a_topic_learns_nothing_of_it(tmp_path: Path) -> None:
    one = guarded(tmp_path, permitted(Operation.DESCRIBE, "other"))

    async def told(topics: Any, of: Principal = ANN) -> list[tuple[ErrorCode, Any, Any, int]]:
        asked = {
            "topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False
        }  # fmt: skip
        answer = await one.ask(METADATA, 12, asked, of)
        return [(one.error_code, one.name, one.topic_id, len(one.partitions)) for one in answer.topics]

    async def what() -> None:
        assert await told(None) == []
        assert await told([{"name": TOPIC, "topic_id": None}]) == [(REFUSED, TOPIC, None, 0)]
        (by_id,) = await told([{"name": None, "topic_id": TOPIC_ID}])
        assert by_id[0] is REFUSED and by_id[1] != TOPIC and by_id[2:] == (TOPIC_ID, 0)
        assert await told([{"name": "nowhere", "topic_id": None}]) == [(REFUSED, "nowhere", None, 0)]
        assert await told(None, ROOT) == [(ErrorCode.none, TOPIC, TOPIC_ID, 1)]

    one.run(what)


def test_a_fetch_by_id_is_refused_as_one_by_name(tmp_path: Path) -> None:
    one = guarded(tmp_path)

    async def what() -> None:
        assert await read(one, ANN, 13) is REFUSED
        unknown = fetch(0)["topics"][0] | {"topic_id": UUID(int=1)}
        assert await read(one, ANN, 13, topics=[unknown]) is ErrorCode.unknown_topic_id

    one.run(what)


def test_without_an_authorizer_there_are_no_acls_to_describe(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)

    async def what() -> None:
        assert await acls(one, ANN) is ErrorCode.security_disabled

    one.run(what)
