"""Decisions about ACLs and SCRAM credentials: the records that they take, and what is refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from impl.kraft.controller.access import alter_scram, create_acl, delete_acls
from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterUserScramCredentialsRequest,
    CreateAclRequest,
    DeleteAclsRequest,
    ScramChange,
)
from impl.kraft.records import (
    FeatureLevelRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from impl.kraft.security.acls import Acl, AclFilter, added
from impl.kraft.security.scram import MECHANISMS, ScramClient, ScramServer, salted
from impl.kraft.security.stored import scram_credential
from impl.kraft.snapshot import load_snapshot, write_snapshot

READS = Acl(2, "orders", 3, "User:ann", "*", 3, 3)
WRITES = Acl(2, "orders", 3, "User:ann", "*", 4, 3)
ALL = AclFilter(1, None, 1, None, None, 1, 1)
SHA_256, SHA_512 = 1, 2


def image_at(level: int = 11) -> Image:
    image = Image()
    image.replay_record(FeatureLevelRecord("metadata.version", level, level))
    return image


def replayed(image: Image, decision: Decision) -> Image:
    for record in decision.records:
        image.replay_record(record)
    return image


def created(image: Image, number: int, acl: Acl) -> Decision:
    return create_acl(image, CreateAclRequest(UUID(int=number), acl))


def test_an_acl_is_added_once() -> None:
    image = image_at()
    first = created(image, 1, READS)
    assert first.records == (added(UUID(int=1), READS),)
    again = created(replayed(image, first), 2, READS)
    assert (again.response.error, again.records) == (ErrorCode.NONE, ())
    assert created(image, 2, WRITES).records != ()


def test_an_acl_that_cannot_be_is_refused() -> None:
    decision = created(image_at(), 1, Acl(2, "", 3, "User:ann", "*", 3, 3))
    assert (decision.response.error, decision.records) == (ErrorCode.INVALID_REQUEST, ())


def deletion(image: Image, of: AclFilter) -> tuple[Decision, Any]:
    """The decision, and its response."""
    decision = delete_acls(image, DeleteAclsRequest(of))
    return decision, decision.response


def test_a_filter_removes_those_that_it_means() -> None:
    image = image_at()
    for number, acl in enumerate((READS, WRITES), 1):
        replayed(image, created(image, number, acl))
    decision, answer = deletion(image, AclFilter(1, None, 1, None, None, 4, 1))
    assert decision.records == (RemoveAccessControlEntryRecord(UUID(int=2)),) and answer.deleted == (WRITES,)
    decision, answer = deletion(image, ALL)
    assert answer.deleted == (READS, WRITES) and not replayed(image, decision).acls
    decision, answer = deletion(image, ALL)
    assert (answer.error, answer.deleted, decision.records) == (ErrorCode.NONE, (), ())
    _, answer = deletion(image, AclFilter(0, None, 1, None, None, 1, 1))
    assert answer.error is ErrorCode.INVALID_REQUEST


def upsertion(mechanism: int = SHA_256, iterations: int = 4096, salt: bytes = b"salt") -> ScramChange:
    password = salted(MECHANISMS["SCRAM-SHA-256"], "secret", b"salt", 4096)
    return ScramChange(mechanism, password, salt, iterations)


def altered(image: Image, *changes: ScramChange, user: str = "ann") -> Decision:
    return alter_scram(image, AlterUserScramCredentialsRequest(user, changes))


def test_a_credential_that_is_set_lets_its_user_in() -> None:
    image = image_at()
    decision = altered(image, upsertion())
    (record,) = decision.records
    assert isinstance(record, UserScramCredentialRecord) and "salt" not in repr(record)
    held = replayed(image, decision).credentials["ann", SHA_256]
    server = ScramServer(MECHANISMS["SCRAM-SHA-256"], lambda _: scram_credential(held), "s")
    client = ScramClient(MECHANISMS["SCRAM-SHA-256"], "ann", "secret", "c")
    client.check(server.respond(client.last(server.respond(client.first()))))
    again = load_snapshot(write_snapshot(image))
    assert dict(again.credentials) == {("ann", SHA_256): record}
    gone = altered(image, ScramChange(SHA_256))
    assert gone.records == (RemoveUserScramCredentialRecord("ann", SHA_256),)
    assert not replayed(image, gone).credentials


@pytest.mark.parametrize(
    ("changes", "user", "error"),
    [
        ((upsertion(),), "", ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ((upsertion(iterations=4095),), "ann", ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ((upsertion(iterations=16385),), "ann", ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ((upsertion(salt=b""),), "ann", ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ((upsertion(3),), "ann", ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ((upsertion(), ScramChange(SHA_256)), "ann", ErrorCode.DUPLICATE_RESOURCE),
        ((upsertion(), ScramChange(SHA_512)), "ann", ErrorCode.RESOURCE_NOT_FOUND),
    ],
)
def test_of_a_user_all_is_changed_or_nothing(changes: tuple[ScramChange, ...], user: str, error: ErrorCode) -> None:
    decision = altered(image_at(), *changes, user=user)
    assert (decision.response.error, decision.records) == (error, ())


def test_credentials_need_a_level_that_has_them() -> None:
    assert altered(image_at(10), upsertion()).response.error is ErrorCode.UNSUPPORTED_VERSION
