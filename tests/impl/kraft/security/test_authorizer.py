"""The standard authorizer against what its rules say, case by case and compared with a search of all ACLs."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.kraft.image import Image
from impl.kraft.records import FeatureLevelRecord, RemoveAccessControlEntryRecord
from impl.kraft.security.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    acls_of,
    added,
    covers,
    matches,
    problem_of,
    problem_of_filter,
)
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.security.principals import Principal

ANN, BOB = Principal("User", "ann"), Principal("User", "bob")
TOPIC, LITERAL, PREFIXED = ResourceType.TOPIC, PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY
HOST = "10.0.0.1"


def acl(
    name: str = "orders", operation: int = Operation.READ, permission: int = ALLOW, pattern: int = LITERAL,
    principal: str = "User:ann", host: str = "*", resource: int = TOPIC,
) -> Acl:  # fmt: skip
    return Acl(resource, name, pattern, principal, host, operation, permission)


def image_with(*acls: Acl) -> Image:
    image = Image()
    image.replay_record(FeatureLevelRecord("metadata.version", 7, 7))
    for number, one in enumerate(acls):
        image.replay_record(added(UUID(int=number + 1), one))
    return image


def allows(*acls: Acl, operation: Operation = Operation.READ, name: str = "orders", principal: Principal = ANN) -> bool:
    authorizer = Authorizer(("User:root",), allows_without_acls=False)
    return authorizer.allows(image_with(*acls), principal, HOST, operation, TOPIC, name)


@pytest.mark.parametrize(
    ("acls", "permitted"),
    [
        ((), False),
        ((acl(),), True),
        ((acl(name="other"),), False),
        ((acl(name="*"),), True),
        ((acl(name="ord", pattern=PREFIXED),), True),
        ((acl(name="ord"),), False),
        ((acl(name="", pattern=PREFIXED),), True),
        ((acl(name="orders2", pattern=PREFIXED),), False),
        ((acl(principal="User:bob"),), False),
        ((acl(principal="User:*"),), True),
        ((acl(host=HOST),), True),
        ((acl(host="10.0.0.2"),), False),
        ((acl(operation=Operation.ALL),), True),
        ((acl(operation=Operation.WRITE),), False),
        ((acl(resource=ResourceType.GROUP),), False),
        ((acl(), acl(permission=DENY)), False),
        ((acl(), acl(name="*", permission=DENY, operation=Operation.ALL, principal="User:*")), False),
        ((acl(), acl(permission=DENY, principal="User:bob")), True),
        ((acl(), acl(permission=DENY, host="10.0.0.2")), True),
        ((acl(), acl(permission=DENY, operation=Operation.WRITE)), True),
        ((acl(name="o", pattern=PREFIXED, permission=DENY), acl()), False),
    ],
)
def test_who_may_read(acls: tuple[Acl, ...], permitted: bool) -> None:
    assert allows(*acls) is permitted


@pytest.mark.parametrize(
    ("given", "asked", "permitted"),
    [
        *[(one, Operation.DESCRIBE, True) for one in (3, 4, 6, 7, 8, 2)], (Operation.CREATE, Operation.DESCRIBE, False),
        (Operation.DESCRIBE, Operation.READ, False), (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS, True),
        (Operation.ALTER, Operation.DESCRIBE_CONFIGS, False),
    ],
)  # fmt: skip
def test_what_a_permission_implies(given: int, asked: Operation, permitted: bool) -> None:
    assert allows(acl(operation=given), operation=asked) is permitted


def test_a_denial_implies_nothing() -> None:
    denied = acl(operation=Operation.READ, permission=DENY)
    assert allows(acl(operation=Operation.DESCRIBE), denied, operation=Operation.DESCRIBE)


def test_super_users_may_do_everything_at_any_time() -> None:
    authorizer = Authorizer(("User:root",), allows_without_acls=True)
    denied = image_with(acl(principal="User:*", permission=DENY, operation=Operation.ALL))
    for image in (Image(), denied):
        assert authorizer.allows(image, Principal("User", "root"), HOST, Operation.READ, TOPIC, "orders")
        assert not authorizer.allows(image, ANN, HOST, Operation.READ, TOPIC, "orders")


def test_where_no_acl_covers_a_resource_a_setting_decides() -> None:
    authorizer = Authorizer((), allows_without_acls=True)
    image = image_with(acl(principal="User:bob", permission=DENY))
    assert authorizer.allows(image, ANN, HOST, Operation.READ, TOPIC, "other")
    assert not authorizer.allows(image, ANN, HOST, Operation.READ, TOPIC, "orders")


def test_acls_that_change_count_at_once() -> None:
    authorizer, image = Authorizer((), allows_without_acls=False), image_with()
    for record, permitted in ((added(UUID(int=9), acl()), True), (RemoveAccessControlEntryRecord(UUID(int=9)), False)):
        later = image.copy()
        later.replay_record(record)
        assert authorizer.allows(later, ANN, HOST, Operation.READ, TOPIC, "orders") is permitted
        assert not authorizer.allows(image_with(), ANN, HOST, Operation.READ, TOPIC, "orders")


NAMES = st.sampled_from(("a", "ab", "abc", "b"))
ACLS = st.builds(
    Acl, st.sampled_from((TOPIC, ResourceType.GROUP)), NAMES | st.just("*"), st.sampled_from((LITERAL, PREFIXED)),
    st.sampled_from(("User:ann", "User:bob", "User:*")), st.sampled_from((HOST, "*", "h")),
    st.sampled_from((Operation.ALL, Operation.READ, Operation.DESCRIBE, Operation.WRITE)),
    st.sampled_from((ALLOW, DENY)),
)  # fmt: skip


@settings(max_examples=100)
@given(st.lists(ACLS, max_size=6), NAMES, st.sampled_from((ANN, BOB)), st.booleans())
def test_the_index_decides_as_a_search_of_all(acls: list[Acl], name: str, principal: Principal, lax: bool) -> None:
    covering = [one for one in acls if one.resource_type == TOPIC and covers(one, name)]
    mine = [one for one in covering if one.principal in (str(principal), "User:*") and one.host in (HOST, "*")]
    denied = any(one.permission_type == DENY and one.operation in (2, 8) for one in mine)
    allowed = any(one.permission_type == ALLOW and one.operation in (2, 3, 4, 8) for one in mine)
    expected = lax if not covering else allowed and not denied
    authorizer = Authorizer((), allows_without_acls=lax)
    assert authorizer.allows(image_with(*acls), principal, HOST, Operation.DESCRIBE, TOPIC, name) is expected


def asked(**changes: object) -> AclFilter:
    every: dict[str, object] = {
        "resource_type": 1, "resource_name": None, "pattern_type": 1, "principal": None, "host": None, "operation": 1,
        "permission_type": 1,
    }  # fmt: skip
    return AclFilter(**{**every, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, "abc"), ({"resource_type": 3}, ""), ({"resource_name": "orders"}, "a"), ({"pattern_type": 4}, "c"),
        ({"pattern_type": 2, "resource_name": "orders"}, "abc"), ({"pattern_type": 3, "resource_name": "orders"}, "a"),
        ({"principal": "User:bob"}, "b"), ({"host": "*"}, "abc"), ({"host": "h"}, ""), ({"operation": 4}, "b"),
        ({"permission_type": 2}, "c"),
    ],
)  # fmt: skip
def test_what_a_filter_means(changes: dict[str, object], found: str) -> None:
    acls = {
        "a": acl(), "b": acl(name="*", principal="User:bob", operation=Operation.WRITE),
        "c": acl(name="ord", pattern=PREFIXED, permission=DENY),
    }  # fmt: skip
    assert "".join(name for name, one in acls.items() if matches(asked(**changes), one)) == found


@pytest.mark.parametrize(
    "one",
    [acl(resource=1), acl(resource=9), acl(pattern=2), acl(operation=1), acl(operation=99), acl(permission=1),
     acl(name=""), acl(principal="ann"), acl(principal="User:"), acl(principal=":x"), acl(host=""),
     acl(resource=ResourceType.CLUSTER, name="other")],
)  # fmt: skip
def test_acls_that_cannot_be(one: Acl) -> None:
    assert problem_of(one) and not problem_of(acl())
    assert problem_of(acl(resource=ResourceType.CLUSTER, name="kafka-cluster")) == ""


@pytest.mark.parametrize(
    "changes", [{"resource_type": 0}, {"pattern_type": 9}, {"operation": -1}, {"permission_type": 4}]
)
def test_filters_that_mean_nothing(changes: dict[str, object]) -> None:
    assert problem_of_filter(asked(**changes)) and not problem_of_filter(asked())


def test_an_image_has_what_was_added() -> None:
    assert list(acls_of(image_with(acl()))) == [(UUID(int=1), acl())]


def somewhere(*acls: Acl, principal: Principal = ANN) -> bool:
    authorizer = Authorizer(("User:root",), allows_without_acls=False)
    return authorizer.allows_somewhere(image_with(*acls), principal, HOST, Operation.READ, TOPIC)


@pytest.mark.parametrize(
    ("acls", "permitted"),
    [
        ((), False),
        ((acl(),), True),
        ((acl(operation=Operation.WRITE),), False),
        ((acl(principal="User:bob"),), False),
        ((acl(resource=ResourceType.GROUP),), False),
        ((acl(), acl(permission=DENY)), False),
        ((acl(), acl("other", permission=DENY)), True),
        ((acl(), acl("*", permission=DENY)), False),
        ((acl(), acl("or", permission=DENY, pattern=PREFIXED)), False),
        ((acl("*"), acl(permission=DENY)), True),
        ((acl(pattern=PREFIXED), acl(permission=DENY)), True),
        ((acl(pattern=PREFIXED), acl("ord", permission=DENY, pattern=PREFIXED)), False),
    ],
)
def test_what_is_permitted_for_some_resource(acls: tuple[Acl, ...], permitted: bool) -> None:
    assert somewhere(*acls) is permitted
    assert somewhere(*acls, principal=Principal("User", "root"))
