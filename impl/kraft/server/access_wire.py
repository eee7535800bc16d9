"""ACLs and SCRAM credentials, by kio's schemas: CreateAcls, DescribeAcls, DeleteAcls, and those of KIP-554."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import uuid4

from kio.schema.alter_user_scram_credentials.v0 import request as alter_request
from kio.schema.alter_user_scram_credentials.v0 import response as alter_response
from kio.schema.create_acls.v3 import request as create_request
from kio.schema.create_acls.v3 import response as create_response
from kio.schema.delete_acls.v3 import request as delete_request
from kio.schema.delete_acls.v3 import response as delete_response
from kio.schema.describe_acls.v3 import request as describe_request
from kio.schema.describe_acls.v3 import response as describe_response
from kio.schema.describe_user_scram_credentials.v0 import request as users_request
from kio.schema.describe_user_scram_credentials.v0 import response as users_response
from kio.static.primitive import i8, i32

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterUserScramCredentialsRequest,
    CreateAclRequest,
    DeleteAclsRequest,
    ScramChange,
)
from impl.kraft.security.acls import Acl, AclFilter, acls_of, matches, problem_of_filter
from impl.kraft.security.scram import Credential
from impl.kraft.security.stored import scram_credentials
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Parts
from impl.runtime.entities import read_entity

VERSIONS: Mapping[int, int] = {29: 3, 30: 3, 31: 3, 50: 0, 51: 0}
"""By key, the version that is served: of DescribeAcls, CreateAcls, DeleteAcls, DescribeUserScramCredentials,
AlterUserScramCredentials."""
OF_ACLS = frozenset((29, 30, 31))


def read_parts(key: int, body: bytes, image: Image, refusal: ErrorCode = ErrorCode.NONE) -> Parts:
    """refusal: what is answered to all of it, without a decision. Raises WireError."""
    kind, parts_of = _READ[key]
    return parts_of(read_entity(kind, body), image, refusal)


def _create(entity: Any, _: Image, refusal: ErrorCode) -> Parts:
    refused = refusal is not ErrorCode.NONE
    requests = () if refused else tuple(CreateAclRequest(uuid4(), _acl(one)) for one in entity.creations)

    def created(responses: Sequence[Any]) -> Any:
        told = [(refusal, "")] * len(entity.creations) if refused else [(one.error, one.message) for one in responses]
        results = tuple(
            create_response.AclCreationResult(error_code=wire_code(error), error_message=says or None)
            for error, says in told
        )
        return create_response.CreateAclsResponse(throttle_time=NO_TIME, results=results)

    return Parts(requests, created)


def _acl(one: Any) -> Acl:
    return Acl(
        int(one.resource_type), one.resource_name, int(one.resource_pattern_type), one.principal, one.host,
        int(one.operation), int(one.permission_type),
    )  # fmt: skip


def _filter(one: Any) -> AclFilter:
    return AclFilter(
        int(one.resource_type_filter), one.resource_name_filter, int(one.pattern_type_filter), one.principal_filter,
        one.host_filter, int(one.operation), int(one.permission_type),
    )  # fmt: skip


def _delete(entity: Any, _: Image, refusal: ErrorCode) -> Parts:
    refused = refusal is not ErrorCode.NONE
    requests = () if refused else tuple(DeleteAclsRequest(_filter(one)) for one in entity.filters)

    def deleted(responses: Sequence[Any]) -> Any:
        told = [(refusal, "", ())] * len(entity.filters) if refused else [
            (one.error, one.message, one.deleted) for one in responses
        ]  # fmt: skip
        results = tuple(
            delete_response.DeleteAclsFilterResult(
                error_code=wire_code(error), error_message=says or None, matching_acls=tuple(map(_deleted, acls))
            )
            for error, says, acls in told
        )
        return delete_response.DeleteAclsResponse(throttle_time=NO_TIME, filter_results=results)

    return Parts(requests, deleted)


def _deleted(acl: Acl) -> Any:
    return delete_response.DeleteAclsMatchingAcl(
        error_code=wire_code(ErrorCode.NONE), error_message=None, resource_type=i8(acl.resource_type),
        resource_name=acl.resource_name, pattern_type=i8(acl.pattern_type), principal=acl.principal, host=acl.host,
        operation=i8(acl.operation), permission_type=i8(acl.permission_type),
    )  # fmt: skip


def _describe(entity: Any, image: Image, refusal: ErrorCode) -> Parts:
    return Parts((), lambda _: describe_acls(entity, image, refusal))


def describe_acls(request: Any, image: Image, refusal: ErrorCode = ErrorCode.NONE) -> Any:
    """Those of an image that the filter means, by resource."""
    asked, says = _filter(request), ""
    if refusal is ErrorCode.NONE and (says := problem_of_filter(asked)):
        refusal = ErrorCode.INVALID_REQUEST
    found = sorted(acl for _, acl in acls_of(image) if matches(asked, acl)) if refusal is ErrorCode.NONE else ()
    resources = tuple(
        describe_response.DescribeAclsResource(
            resource_type=i8(kind), resource_name=name, pattern_type=i8(pattern), acls=tuple(map(_described, acls))
        )
        for (kind, name, pattern), acls in groupby(
            found, key=lambda acl: (acl.resource_type, acl.resource_name, acl.pattern_type)
        )
    )
    return describe_response.DescribeAclsResponse(
        throttle_time=NO_TIME, error_code=wire_code(refusal), error_message=says or None, resources=resources
    )


def _described(acl: Acl) -> Any:
    return describe_response.AclDescription(
        principal=acl.principal, host=acl.host, operation=i8(acl.operation), permission_type=i8(acl.permission_type)
    )


def _alter_users(entity: Any, _: Image, refusal: ErrorCode) -> Parts:
    changes: dict[str, list[ScramChange]] = {}
    for one in entity.deletions:
        changes.setdefault(one.name, []).append(ScramChange(int(one.mechanism)))
    for one in entity.upsertions:
        change = ScramChange(int(one.mechanism), bytes(one.salted_password), bytes(one.salt), int(one.iterations))
        changes.setdefault(one.name, []).append(change)
    refused = refusal is not ErrorCode.NONE
    requests = tuple(AlterUserScramCredentialsRequest(user, tuple(of_user)) for user, of_user in changes.items())

    def altered(responses: Sequence[Any]) -> Any:
        told = [(refusal, "")] * len(changes) if refused else [(one.error, one.message) for one in responses]
        results = tuple(
            alter_response.AlterUserScramCredentialsResult(
                user=user, error_code=wire_code(error), error_message=says or None
            )
            for user, (error, says) in zip(changes, told, strict=True)
        )
        return alter_response.AlterUserScramCredentialsResponse(throttle_time=NO_TIME, results=results)

    return Parts(() if refused else requests, altered)


def _describe_users(entity: Any, image: Image, refusal: ErrorCode) -> Parts:
    return Parts((), lambda _: describe_users(entity, image, refusal))


def describe_users(request: Any, image: Image, refusal: ErrorCode = ErrorCode.NONE) -> Any:
    """Mechanisms and iterations: salts and keys are told to nobody."""
    refused = refusal is not ErrorCode.NONE
    known = {} if refused else scram_credentials(image)
    asked = [user.name for user in request.users or ()]
    names = () if refused else dict.fromkeys(asked or sorted(known))
    results = tuple(_described_user(name, known.get(name), twice=asked.count(name) > 1) for name in names)
    return users_response.DescribeUserScramCredentialsResponse(
        throttle_time=NO_TIME, error_code=wire_code(refusal), error_message=None, results=results
    )


def _described_user(name: str, credentials: Mapping[int, Credential] | None, *, twice: bool) -> Any:
    error, says = ErrorCode.NONE, None
    if twice:
        error, says, credentials = ErrorCode.DUPLICATE_RESOURCE, "the user is named twice", None
    elif credentials is None:
        error, says = ErrorCode.RESOURCE_NOT_FOUND, "there is no such user"
    infos = tuple(
        users_response.CredentialInfo(mechanism=i8(number), iterations=i32(credential.iterations))
        for number, credential in sorted((credentials or {}).items())
    )
    return users_response.DescribeUserScramCredentialsResult(
        user=name, error_code=wire_code(error), error_message=says, credential_infos=infos
    )


_READ: Mapping[int, tuple[type, Callable[[Any, Image, ErrorCode], Parts]]] = {
    29: (describe_request.DescribeAclsRequest, _describe),
    30: (create_request.CreateAclsRequest, _create),
    31: (delete_request.DeleteAclsRequest, _delete),
    50: (users_request.DescribeUserScramCredentialsRequest, _describe_users),
    51: (alter_request.AlterUserScramCredentialsRequest, _alter_users),
}
