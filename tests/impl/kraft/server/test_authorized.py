"""A controller with logins and ACLs: who may do what, for themselves and for clients of brokers; and a rough crowd."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse
from kio.schema.alter_user_scram_credentials.v0 import request as scram_request
from kio.schema.alter_user_scram_credentials.v0.response import AlterUserScramCredentialsResponse
from kio.schema.create_acls.v3 import request as create_request
from kio.schema.create_acls.v3.response import CreateAclsResponse
from kio.schema.create_partitions.v3.response import CreatePartitionsResponse
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.delete_acls.v3 import request as delete_acls_request
from kio.schema.delete_acls.v3.response import DeleteAclsResponse
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6.response import DeleteTopicsResponse
from kio.schema.describe_acls.v3.request import DescribeAclsRequest
from kio.schema.describe_acls.v3.response import DescribeAclsResponse
from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.describe_user_scram_credentials.v0.request import DescribeUserScramCredentialsRequest
from kio.schema.describe_user_scram_credentials.v0.response import DescribeUserScramCredentialsResponse
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.schema.types import BrokerId, TopicName
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse
from kio.schema.vote.v2.request import VoteRequest
from kio.schema.vote.v2.response import VoteResponse
from kio.static.primitive import i8, i32, i64

from impl.kraft.security.acls import Operation, PatternType, Permission, ResourceType
from impl.kraft.security.scram import MECHANISMS, salted
from impl.kraft.server.server import SERVED
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import RequestHeader, frame, request_bytes
from tests.cluster.kafka import until
from tests.impl.kraft.server import admin_requests as admin
from tests.impl.kraft.server.running_controller import running
from tests.impl.kraft.server.secured import Refused, Wire, plain_module

USERS = {"root": "r-secret", "ann": "a-secret", "broker": "b-secret"}
SHA_256 = "SCRAM-SHA-256"
MORE = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
    "sasl.enabled.mechanisms": f"PLAIN,{SHA_256}",
    "connection.failed.authentication.delay.ms": 1,
    "listener.name.outside.plain.sasl.jaas.config": plain_module(("root", "r-secret"), USERS),
}
CLUSTER_REFUSED, TOPIC_REFUSED, NOT_CONTROLLER = 31, 29, 41
ANY = i8(1)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("controller")
    with running(folder, MORE, {"OUTSIDE": "SASL_PLAINTEXT"}, (f"{SHA_256}=[name=first,password=f-secret]",)) as ports:
        with user(ports["OUTSIDE"], "root") as root:
            until(lambda: created(root, "warm-up") != NOT_CONTROLLER, "it leads")
            for name, operation in (("broker", Operation.CLUSTER_ACTION),):
                assert add_acl(root, f"User:{name}", operation, ResourceType.CLUSTER, "kafka-cluster") == 0
        yield ports["OUTSIDE"]


def user(port: int, name: str) -> Wire:
    return Wire(port).log_in("PLAIN", name, USERS[name])


def creation_of(*acls: Any) -> Any:
    return create_request.CreateAclsRequest(creations=acls)


def new_acl(
    principal: str, operation: int, kind: int = ResourceType.TOPIC, name: str = "orders",
    pattern: int = PatternType.LITERAL,
) -> Any:  # fmt: skip
    return create_request.AclCreation(
        resource_type=i8(kind), resource_name=name, resource_pattern_type=i8(pattern), principal=principal, host="*",
        operation=i8(operation), permission_type=i8(Permission.ALLOW),
    )  # fmt: skip


def add_acl(wire: Wire, *of: Any, **more: Any) -> int:
    (one,) = wire.asked(creation_of(new_acl(*of, **more)), CreateAclsResponse).results
    return int(one.error_code)


def acl_filter(kind: Callable[..., Any], **more: Any) -> Any:
    every = {
        "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY, "principal_filter": None,
        "host_filter": None, "operation": ANY, "permission_type": ANY,
    }  # fmt: skip
    return kind(**{**every, **more})


def created(wire: Wire, name: str) -> int:
    answer = wire.asked(admin.creation(admin.new_topic(name, partitions=1, factor=1)), CreateTopicsResponse)
    return int(answer.topics[0].error_code)


def deletion_of(name: str) -> Any:
    topic = delete_request.DeleteTopicState(name=TopicName(name), topic_id=None)
    return delete_request.DeleteTopicsRequest(topics=(topic,), timeout=admin.TIMEOUT)


def upsertion_of(name: str, password: str, iterations: int = 4096) -> Any:
    one = scram_request.ScramCredentialUpsertion(
        name=name, mechanism=i8(1), iterations=i32(iterations), salt=b"salt",
        salted_password=salted(MECHANISMS[SHA_256], password, b"salt", iterations),
    )  # fmt: skip
    return scram_request.AlterUserScramCredentialsRequest(deletions=(), upsertions=(one,))


REFUSED: Mapping[str, tuple[Any, type, Callable[[Any], Any], int]] = {
    "Vote": (VoteRequest(topics=()), VoteResponse, lambda found: found, CLUSTER_REFUSED),
    "DescribeQuorum": (DescribeQuorumRequest(topics=()), DescribeQuorumResponse, lambda found: found, CLUSTER_REFUSED),
    "AllocateProducerIds": (
        AllocateProducerIdsRequest(broker_id=BrokerId(1), broker_epoch=i64(1)), AllocateProducerIdsResponse,
        lambda found: found, CLUSTER_REFUSED,
    ),
    "UnregisterBroker": (
        UnregisterBrokerRequest(broker_id=BrokerId(1)), UnregisterBrokerResponse, lambda found: found, CLUSTER_REFUSED
    ),
    "ElectLeaders": (admin.election({"orders": (0,)}), ElectLeadersResponse, lambda found: found, CLUSTER_REFUSED),
    "CreateTopics": (
        admin.creation(admin.new_topic("orders")), CreateTopicsResponse, lambda found: found.topics[0], TOPIC_REFUSED
    ),
    "DeleteTopics": (deletion_of("orders"), DeleteTopicsResponse, lambda found: found.responses[0], TOPIC_REFUSED),
    "CreatePartitions": (
        admin.growth(admin.grown("orders", 2)), CreatePartitionsResponse, lambda found: found.results[0], TOPIC_REFUSED
    ),
    "configs of a topic": (
        admin.alteration(admin.configs_of(2, "orders", ("a", 0, "b"))), IncrementalAlterConfigsResponse,
        lambda found: found.responses[0], TOPIC_REFUSED,
    ),
    "configs of brokers": (
        admin.alteration(admin.configs_of(4, "", ("a", 0, "b"))), IncrementalAlterConfigsResponse,
        lambda found: found.responses[0], CLUSTER_REFUSED,
    ),
    "CreateAcls": (
        creation_of(new_acl("User:ann", Operation.ALL)), CreateAclsResponse, lambda found: found.results[0],
        CLUSTER_REFUSED,
    ),
    "DeleteAcls": (
        delete_acls_request.DeleteAclsRequest(filters=(acl_filter(delete_acls_request.DeleteAclsFilter),)),
        DeleteAclsResponse, lambda found: found.filter_results[0], CLUSTER_REFUSED,
    ),
    "DescribeAcls": (acl_filter(DescribeAclsRequest), DescribeAclsResponse, lambda found: found, CLUSTER_REFUSED),
    "AlterUserScramCredentials": (
        upsertion_of("ann", "x"), AlterUserScramCredentialsResponse, lambda found: found.results[0], CLUSTER_REFUSED
    ),
    "DescribeUserScramCredentials": (
        DescribeUserScramCredentialsRequest(users=None), DescribeUserScramCredentialsResponse, lambda found: found,
        CLUSTER_REFUSED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_without_an_acl_nothing_is_done(port: int, name: str) -> None:
    request, response, part, code = REFUSED[name]
    with user(port, "ann") as ann:
        assert int(part(ann.asked(request, response)).error_code) == code


def test_an_acl_permits_what_it_says_until_it_is_removed(port: int) -> None:
    with user(port, "ann") as ann, user(port, "root") as root:
        of = ("User:ann", Operation.CREATE)
        assert add_acl(root, *of, name="ann-", pattern=PatternType.PREFIXED) == 0
        assert created(ann, "ann-1") not in (0, TOPIC_REFUSED)  # there is no broker to put it on
        assert created(ann, "bob-1") == TOPIC_REFUSED
        asked = acl_filter(DescribeAclsRequest, principal_filter="User:ann")
        (resource,) = root.asked(asked, DescribeAclsResponse).resources
        assert (resource.resource_name, int(resource.pattern_type)) == ("ann-", PatternType.PREFIXED)
        assert add_acl(root, *of, name="ann-", pattern=PatternType.PREFIXED) == 0  # once more, which changes nothing
        one = acl_filter(delete_acls_request.DeleteAclsFilter, principal_filter="User:ann")
        answer = root.asked(delete_acls_request.DeleteAclsRequest(filters=(one,)), DeleteAclsResponse)
        (removed,) = answer.filter_results[0].matching_acls
        assert removed.principal == "User:ann"
        assert created(ann, "ann-1") == TOPIC_REFUSED
        assert add_acl(root, "ann", Operation.CREATE) == 42


def forwarded(wire: Wire, name: str, request: Any, principal: bytes | None = None) -> Any:
    who = entity_bytes(DefaultPrincipalData(type_="User", name=name, token_authenticated=False))
    within = request_bytes(RequestHeader(int(request.__api_key__), int(request.__version__), 5, "c"), b"\0")
    envelope = EnvelopeRequest(
        request_data=within + entity_bytes(request), client_host_address=b"\x7f\0\0\1",
        request_principal=b"\0\0" + who if principal is None else principal,
    )  # fmt: skip
    return wire.asked(envelope, EnvelopeResponse)


def test_a_broker_forwards_with_the_rights_of_its_client(port: int) -> None:
    request = admin.creation(admin.new_topic("orders", partitions=1, factor=1))
    with user(port, "broker") as broker, user(port, "ann") as ann:
        assert int(forwarded(ann, "root", request).error_code) == CLUSTER_REFUSED
        assert int(forwarded(broker, "root", request, b"\0\7").error_code) == 97
        codes = {}
        for client in ("ann", "root"):
            answer = forwarded(broker, client, request)
            assert int(answer.error_code) == 0
            found = read_entity(CreateTopicsResponse, answer.response_data[5:])
            codes[client] = int(found.topics[0].error_code)
        assert codes["ann"] == TOPIC_REFUSED != codes["root"]
        assert created(broker, "orders") == TOPIC_REFUSED


def test_users_of_scram_come_and_go(port: int) -> None:
    with Wire(port) as wire:
        wire.log_in(SHA_256, "first", "f-secret")  # of the format
    with user(port, "root") as root:
        for iterations, code in ((4095, 93), (4096, 0)):
            answer = root.asked(upsertion_of("eve", "e-secret", iterations), AlterUserScramCredentialsResponse)
            assert int(answer.results[0].error_code) == code
        with Wire(port) as wire:
            wire.log_in(SHA_256, "eve", "e-secret")
        asked = DescribeUserScramCredentialsRequest(users=None)
        users = root.asked(asked, DescribeUserScramCredentialsResponse).results
        assert [(one.user, [int(info.iterations) for info in one.credential_infos]) for one in users] == [
            ("eve", [4096]), ("first", [4096])
        ]  # fmt: skip
        deletion = scram_request.ScramCredentialDeletion(name="eve", mechanism=i8(1))
        for code in (0, 91):
            request = scram_request.AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=())
            assert int(root.asked(request, AlterUserScramCredentialsResponse).results[0].error_code) == code
        with Wire(port) as wire, pytest.raises(Refused):
            wire.log_in(SHA_256, "eve", "e-secret")


@pytest.mark.long("requests of every API")
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SERVED)), st.binary(max_size=60), st.booleans())
def test_whatever_is_asked_others_are_served(port: int, key: int, body: bytes, is_root: bool) -> None:
    """Of every API, by who may do everything, and who may do nothing."""
    with user(port, "root" if is_root else "ann") as wire:
        wire.send(frame(request_bytes(RequestHeader(key, SERVED[key][1], 1, "t"), b"\0" + body)))
        with user(port, "root") as other:
            assert int(other.asked(DescribeQuorumRequest(topics=()), DescribeQuorumResponse).error_code) in (0, 3)


@pytest.mark.long("a thousand connections")
def test_a_thousand_idle_connections_keep_nobody_out(port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(1_000)]
    try:
        with user(port, "root") as root:
            assert created(root, "x") != NOT_CONTROLLER
    finally:
        for one in idle:
            one.close()


def test_without_an_authorizer_there_are_no_acls(tmp_path: Path) -> None:
    with running(tmp_path, {}, {}) as ports, Wire(ports["CONTROLLER"]) as wire:
        until(lambda: created(wire, "x") != NOT_CONTROLLER, "it leads")
        assert add_acl(wire, "User:ann", Operation.CREATE) == 54
        assert int(wire.asked(acl_filter(DescribeAclsRequest), DescribeAclsResponse).error_code) == 54
