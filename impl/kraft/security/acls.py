"""ACLs: what one says, which of them a filter means, and how an image has them (KIP-11, KIP-290)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from uuid import UUID

from impl.kraft.fields import Int8
from impl.kraft.image import Image
from impl.kraft.records import AccessControlEntryRecord

CLUSTER_NAME = "kafka-cluster"
WILDCARD = "*"
"""The name of a literal pattern that is every resource; and of every host."""
WILDCARD_PRINCIPAL = "User:*"


class ResourceType(IntEnum):
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """MATCH, of filters alone: whatever pattern a name falls under."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """Whom (principal, host) what is permitted or denied on which resources. Numbers are those of the protocol."""

    resource_type: Int8
    resource_name: str
    pattern_type: Int8
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


@dataclass(frozen=True, slots=True)
class AclFilter:
    """ACLs by their fields; None, or ANY, for whatever one has."""

    resource_type: Int8
    resource_name: str | None
    pattern_type: Int8
    principal: str | None
    host: str | None
    operation: Int8
    permission_type: Int8


def acls_of(image: Image) -> Iterator[tuple[UUID, Acl]]:
    """All that an image has, by id."""
    for acl_id, one in sorted(image.acls.items()):
        yield acl_id, Acl(**{each.name: getattr(one, each.name) for each in fields(Acl)})


def added(acl_id: UUID, acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(acl_id, **{each.name: getattr(acl, each.name) for each in fields(Acl)})


def matches(asked: AclFilter, acl: Acl) -> bool:
    """The filter means this ACL (AclBindingFilter.matches)."""
    return (
        asked.resource_type in (ResourceType.ANY, acl.resource_type)
        and _matches_pattern(asked, acl)
        and asked.principal in (None, acl.principal)
        and asked.host in (None, acl.host)
        and asked.operation in (Operation.ANY, acl.operation)
        and asked.permission_type in (Permission.ANY, acl.permission_type)
    )


def _matches_pattern(asked: AclFilter, acl: Acl) -> bool:
    if asked.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
        return False
    if asked.resource_name is None or asked.resource_name == acl.resource_name:
        return True
    return asked.pattern_type == PatternType.MATCH and covers(acl, asked.resource_name)


def covers(acl: Acl, name: str) -> bool:
    """The pattern of an ACL covers a resource of its type by this name."""
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)


def problem_of(acl: Acl) -> str:
    """The reason why there cannot be such an ACL; empty where there can (AclControlManager.validateNewAcl, AclApis)."""
    if acl.resource_type not in set(ResourceType) - {ResourceType.ANY}:
        return f"resource type {acl.resource_type} is none of an ACL"
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"pattern type {acl.pattern_type} is neither LITERAL nor PREFIXED"
    if acl.operation not in set(Operation) - {Operation.ANY}:
        return f"operation {acl.operation} is none of an ACL"
    if acl.permission_type not in (Permission.DENY, Permission.ALLOW):
        return f"permission {acl.permission_type} is neither ALLOW nor DENY"
    if not acl.resource_name:
        return "a resource has a name"
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name not in (CLUSTER_NAME, WILDCARD):
        return f"the only name of a cluster is {CLUSTER_NAME}"
    kind, separator, name = acl.principal.partition(":")
    if not kind or not separator or not name:
        return "a principal is TYPE:NAME"
    return "" if acl.host else "a host has a name"


def problem_of_filter(asked: AclFilter) -> str:
    """The reason why nothing can be looked for like this; empty where something can."""
    for value, kind in (
        (asked.resource_type, ResourceType), (asked.pattern_type, PatternType), (asked.operation, Operation),
        (asked.permission_type, Permission),
    ):  # fmt: skip
        if value not in set(kind):
            return f"{kind.__name__} {value} is unknown"
    return ""
