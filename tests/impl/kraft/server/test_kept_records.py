"""Quotas, ACLs and credentials that Kafka has written: a controller of ours goes on, and loses none of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from kio.schema.alter_client_quotas.v1 import request as quota_request
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.alter_user_scram_credentials.v0 import request as scram_request
from kio.schema.alter_user_scram_credentials.v0.response import AlterUserScramCredentialsResponse
from kio.schema.create_acls.v3 import request as create_request
from kio.schema.create_acls.v3.response import CreateAclsResponse
from kio.schema.delete_acls.v3 import request as delete_request
from kio.schema.delete_acls.v3.response import DeleteAclsResponse
from kio.schema.describe_acls.v3.request import DescribeAclsRequest
from kio.schema.describe_acls.v3.response import DescribeAclsResponse
from kio.static.primitive import f64, i8, i32

from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.alone import KAFKA, OURS, Alone

AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
FORMAT = ("-r", "3.5-IV2", "-S", "SCRAM-SHA-256=[name=ann,password=secret]")
KEPT = ("USER_SCRAM_CREDENTIAL_RECORD", "CLIENT_QUOTA_RECORD", "ACCESS_CONTROL_ENTRY_RECORD")
SHA_512, TOPIC, READ, ALLOW = i8(2), i8(2), i8(3), i8(3)
DUMP = "org.apache.kafka.tools.DumpLogSegments"


def write_security(controller: Alone) -> None:
    """Of each kind one for two users, of which that for cid is removed again."""
    for user in ("bob", "cid"):
        change_quota(controller, user, remove=False)
        upsertion = scram_request.ScramCredentialUpsertion(
            name=user, mechanism=SHA_512, iterations=i32(4096), salt=b"salt", salted_password=b"p" * 64
        )
        change_credential(controller, upsertions=(upsertion,))
        allow(controller, user)
    change_quota(controller, "cid", remove=True)
    change_credential(controller, deletions=(scram_request.ScramCredentialDeletion(name="cid", mechanism=SHA_512),))
    allow_no_more(controller, "cid")


def change_quota(controller: Alone, user: str, *, remove: bool) -> None:
    parts = ("user", user), ("client-id", None)
    entry = quota_request.EntryData(
        entity=tuple(quota_request.EntityData(entity_type=kind, entity_name=name) for kind, name in parts),
        ops=(quota_request.OpData(key="consumer_byte_rate", value=f64(1024.0), remove=remove),),
    )
    request = quota_request.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    (answered,) = controller.asked(request, AlterClientQuotasResponse).entries
    assert int(answered.error_code) == 0, answered


def change_credential(controller: Alone, deletions: tuple[Any, ...] = (), upsertions: tuple[Any, ...] = ()) -> None:
    request = scram_request.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    (answered,) = controller.asked(request, AlterUserScramCredentialsResponse).results
    assert int(answered.error_code) == 0, answered


def allow(controller: Alone, user: str) -> None:
    creation = create_request.AclCreation(
        resource_type=TOPIC, resource_name="orders", principal=f"User:{user}", host="*", operation=READ,
        permission_type=ALLOW,
    )  # fmt: skip
    (answered,) = controller.asked(create_request.CreateAclsRequest(creations=(creation,)), CreateAclsResponse).results
    assert int(answered.error_code) == 0, answered


def allow_no_more(controller: Alone, user: str) -> None:
    one = delete_request.DeleteAclsFilter(
        resource_type_filter=TOPIC, resource_name_filter="orders", principal_filter=f"User:{user}", host_filter=None,
        operation=READ, permission_type=ALLOW,
    )  # fmt: skip
    answer = controller.asked(delete_request.DeleteAclsRequest(filters=(one,)), DeleteAclsResponse)
    assert len(answer.filter_results[0].matching_acls) == 1, answer


def allowed(controller: Alone) -> list[str]:
    """Whom the controller would let in."""
    request = DescribeAclsRequest(
        resource_type_filter=TOPIC, resource_name_filter="orders", principal_filter=None, host_filter=None,
        operation=READ, permission_type=ALLOW,
    )  # fmt: skip
    answer = controller.asked(request, DescribeAclsResponse)
    return [acl.principal for resource in answer.resources for acl in resource.acls]


def payloads(printed: str) -> list[str]:
    """The records of the kinds that are kept, each as it is printed."""
    found = [line.split("payload: ", 1)[1] for line in printed.splitlines() if "payload: " in line]
    return sorted(one for one in found if any(f'"type":"{kind}"' in one for kind in KEPT))


@pytest.mark.long("a JVM and a process")
@released
def test_what_kafka_wrote_about_users_is_in_our_snapshot(tmp_path: Path) -> None:
    controller = Alone(tmp_path / "one", AUTHORIZED, FORMAT)
    controller.start(KAFKA)
    try:
        until(lambda: "Kafka Server started" in controller.process.output(), "Kafka serves")
        write_security(controller)
        controller.process.kill()
        controller.configure({"metadata.log.max.record.bytes.between.snapshots": 1_000})
        controller.start(OURS)  # on the log that Kafka has written
        until(lambda: any(controller.directory.glob("*.checkpoint")), "ours writes a snapshot")
        assert controller.process.terminate() == 0
    finally:
        controller.process.kill()
    written = payloads(controller.printed())
    removed = [one for one in written if '"cid"' in one or "User:cid" in one]
    snapshot = max(controller.directory.glob("*.checkpoint"))
    printed = tool(VERSION, DUMP, "--cluster-metadata-decoder", "--files", snapshot)
    left = payloads(printed)
    assert len(left) == 4 and len(removed) == 4 and left == sorted(set(written) - set(removed))

    other = Alone(tmp_path / "other", AUTHORIZED, FORMAT)
    other.directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(snapshot, other.directory)
    other.start(KAFKA)
    try:
        until(lambda: "Kafka Server started" in other.process.output(), "Kafka serves")
        assert allowed(other) == ["User:bob"]
    finally:
        other.process.kill()


@pytest.mark.long("a process")
def test_credentials_that_a_directory_is_formatted_with_are_there_from_the_first_leader_on(tmp_path: Path) -> None:
    controller = Alone(tmp_path / "one", options=FORMAT)
    controller.start(OURS)
    try:
        until(lambda: '"is_active": true' in controller.process.output(), "it leads")
        until(lambda: bool(payloads(controller.printed())), "the credential is written")
    finally:
        controller.process.kill()
