"""The standard authorizer: from ACLs, what a principal may do (StandardAuthorizerData).

A DENY that applies prevails; else an ALLOW that applies permits; else nothing is permitted, unless no ACL covers the
resource at all, and `allow.everyone.if.no.acl.found` says so. Super users may do everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from impl.kraft.copy_on_write import CopyOnWriteDict
from impl.kraft.image import Image
from impl.kraft.records import AccessControlEntryRecord
from impl.kraft.security.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    Permission,
    acls_of,
)
from impl.kraft.security.principals import Principal

_IMPLYING: Mapping[int, frozenset[int]] = {
    Operation.DESCRIBE: frozenset((Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.ALTER_CONFIGS,)),
}
"""By operation, those whose permission permits it, too. A denial implies nothing."""


_ANY_NAME = "hardcode"
"""What Kafka asks about first, too."""
_UNNAMED = "\0"
"""In no name: behind a prefix, a resource that no ACL names."""


class Authorizer:
    """super_users: as principals are written."""

    def __init__(self, super_users: Iterable[str], *, allows_without_acls: bool) -> None:
        self._super_users = frozenset(super_users)
        self._allows_without_acls = allows_without_acls
        self._indexed: CopyOnWriteDict[UUID, AccessControlEntryRecord] = CopyOnWriteDict()
        self._literal: Mapping[tuple[int, str], list[Acl]] = {}
        self._prefixed: Mapping[tuple[int, str], list[Acl]] = {}

    def allows(
        self, image: Image, principal: Principal, host: str, operation: Operation, resource_type: int, name: str
    ) -> bool:
        """By the ACLs of an image. Before the log is known, only super users are permitted anything."""
        if str(principal) in self._super_users:
            return True
        if not image.features:
            return False
        self._take(image)
        covering = list(self._covering(resource_type, name))
        if not covering:
            return self._allows_without_acls
        of_caller = [acl for acl in covering if _is_about(acl, str(principal), host)]
        if any(
            acl.permission_type == Permission.DENY and acl.operation in (operation, Operation.ALL) for acl in of_caller
        ):
            return False
        permitting = {operation, Operation.ALL} | _IMPLYING.get(operation, frozenset())
        return any(acl.permission_type == Permission.ALLOW and acl.operation in permitting for acl in of_caller)

    def allows_somewhere(
        self, image: Image, principal: Principal, host: str, operation: Operation, resource_type: int
    ) -> bool:
        """Whether it is permitted for some resource of the type (Authorizer.authorizeByResourceType)."""
        if self.allows(image, principal, host, operation, resource_type, _ANY_NAME):
            return True
        if not image.features:
            return False
        named = [name for of_type, name in self._literal if of_type == resource_type]
        named += [name + _UNNAMED for of_type, name in self._prefixed if of_type == resource_type]
        return any(self.allows(image, principal, host, operation, resource_type, name) for name in named)

    def _take(self, image: Image) -> None:
        """Index the ACLs of an image, unless they are indexed."""
        if self._indexed == image.acls:  # a copy that has not changed is told at once
            return
        literal: dict[tuple[int, str], list[Acl]] = defaultdict(list)
        prefixed: dict[tuple[int, str], list[Acl]] = defaultdict(list)
        for _, acl in acls_of(image):
            into = prefixed if acl.pattern_type == PatternType.PREFIXED else literal
            into[acl.resource_type, acl.resource_name].append(acl)
        self._literal, self._prefixed, self._indexed = dict(literal), dict(prefixed), image.acls.copy()

    def _covering(self, resource_type: int, name: str) -> Iterator[Acl]:
        for literal in dict.fromkeys((name, WILDCARD)):
            yield from self._literal.get((resource_type, literal), ())
        for end in range(len(name) + 1):
            yield from self._prefixed.get((resource_type, name[:end]), ())


def _is_about(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, WILDCARD_PRINCIPAL) and acl.host in (host, WILDCARD)
