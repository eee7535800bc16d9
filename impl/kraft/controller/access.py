"""ACLs and SCRAM credentials: what is added, changed and removed."""

from __future__ import annotations

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.image import METADATA_VERSION, Image
from impl.kraft.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    CreateAclRequest,
    CreateAclResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from impl.kraft.records import Record, RemoveAccessControlEntryRecord, RemoveUserScramCredentialRecord
from impl.kraft.security import acls, scram
from impl.kraft.security.stored import scram_record

SCRAM_SINCE = 11
"""The metadata.version (3.5-IV2) from which credentials are in the log."""


def create_acl(image: Image, request: CreateAclRequest) -> Decision:
    """Adds an ACL; one that is there already is left as it is."""
    if problem := acls.problem_of(request.acl):
        return Decision(CreateAclResponse(ErrorCode.INVALID_REQUEST, problem))
    is_there = any(acl == request.acl for _, acl in acls.acls_of(image))
    records = () if is_there else (acls.added(request.acl_id, request.acl),)
    return Decision(CreateAclResponse(ErrorCode.NONE), records)


def delete_acls(image: Image, request: DeleteAclsRequest) -> Decision:
    """Removes those that a filter means."""
    if problem := acls.problem_of_filter(request.filter):
        return Decision(DeleteAclsResponse(ErrorCode.INVALID_REQUEST, problem))
    found = [(acl_id, acl) for acl_id, acl in acls.acls_of(image) if acls.matches(request.filter, acl)]
    records = tuple(RemoveAccessControlEntryRecord(acl_id) for acl_id, _ in found)
    return Decision(DeleteAclsResponse(ErrorCode.NONE, deleted=tuple(acl for _, acl in found)), records)


def alter_scram(image: Image, request: AlterUserScramCredentialsRequest) -> Decision:
    """Sets and removes credentials of one user: all that is asked for, or nothing (ScramControlManager)."""
    error, message = _scram_error(image, request)
    if error is not ErrorCode.NONE:
        return Decision(AlterUserScramCredentialsResponse(error, message))
    records = list[Record]()
    for change in request.changes:
        if change.salted_password is None:
            records.append(RemoveUserScramCredentialRecord(request.user, change.mechanism))
        else:
            mechanism = scram.BY_NUMBER[change.mechanism]
            credential = scram.credential_of(mechanism, change.salted_password, change.salt, change.iterations)
            records.append(scram_record(request.user, change.mechanism, credential))
    return Decision(AlterUserScramCredentialsResponse(ErrorCode.NONE), tuple(records))


def _scram_error(image: Image, request: AlterUserScramCredentialsRequest) -> tuple[ErrorCode, str]:
    if image.features.get(METADATA_VERSION, (0, SCRAM_SINCE))[1] < SCRAM_SINCE:
        return ErrorCode.UNSUPPORTED_VERSION, f"{METADATA_VERSION} is below {SCRAM_SINCE} (3.5-IV2)"
    if not request.user:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "a user has a name"
    if len({change.mechanism for change in request.changes}) < len(request.changes):
        return ErrorCode.DUPLICATE_RESOURCE, "a credential is changed twice"
    for change in request.changes:
        if change.mechanism not in scram.BY_NUMBER:
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"there is no mechanism {change.mechanism}"
        if change.salted_password is None:
            if (request.user, change.mechanism) not in image.credentials:
                return ErrorCode.RESOURCE_NOT_FOUND, "the user has no such credential"
        elif not scram.LEAST_ITERATIONS <= change.iterations <= scram.MOST_ITERATIONS:
            return (
                ErrorCode.UNACCEPTABLE_CREDENTIAL,
                f"{change.iterations} iterations: {scram.LEAST_ITERATIONS} to {scram.MOST_ITERATIONS} are allowed",
            )
        elif not change.salt or not change.salted_password:
            return ErrorCode.UNACCEPTABLE_CREDENTIAL, "a credential has a salt and a salted password"
    return ErrorCode.NONE, ""
