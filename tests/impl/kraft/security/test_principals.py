"""The names of certificates, as Java writes them, and what rules make of them."""

from __future__ import annotations

import pytest

from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.principals import of_certificate, rules

SUBJECT = (
    (("countryName", "DE"),), (("organizationName", "Acme, Inc."),), (("organizationalUnitName", "a"), ("userId", "u")),
    (("commonName", "broker-1.example.org"),),
)  # fmt: skip


def test_a_name_has_its_last_part_first() -> None:
    assert str(of_certificate(SUBJECT)) == r"User:CN=broker-1.example.org,OU=a+UID=u,O=Acme\, Inc.,C=DE"
    assert of_certificate(((("commonName", "#a "),),)).name == r"CN=\#a\ "


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RULE:^CN=(.*?),.*$/$1/", "broker-1.example.org"),
        ("RULE:^CN=(.*?)-(\\d).*$/$2-$1/U, DEFAULT", "1-BROKER"),
        ("RULE:^OU=.*$/x/,RULE:^(.*?),.*$/$1$7/L", "cn=broker-1.example.org"),
        ("RULE:^nothing$/x/,DEFAULT", r"CN=broker-1.example.org,OU=a+UID=u,O=Acme\, Inc.,C=DE"),
    ],
)
def test_the_first_rule_that_matches_counts(text: str, name: str) -> None:
    assert of_certificate(SUBJECT, rules(text)).name == name


def test_a_certificate_that_no_rule_is_for_is_nobody() -> None:
    with pytest.raises(AuthenticationError):
        of_certificate(SUBJECT, rules("RULE:^nothing$/x/"))


@pytest.mark.parametrize("text", ["default", "RULE:a/b", "RULE:(/b/", "DEFAULT DEFAULT", "RULE:a/b/X"])
def test_rules_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        rules(text)
