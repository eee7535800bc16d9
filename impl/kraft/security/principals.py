"""Principals: of users that have logged in, of certificates, of who stays anonymous (DefaultKafkaPrincipalBuilder)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from impl.kraft.security.errors import AuthenticationError

USER = "User"


class Principal(NamedTuple):
    """type: `User`, for all that the builder makes."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")

_SHORT = {
    "commonName": "CN", "countryName": "C", "localityName": "L", "stateOrProvinceName": "ST", "organizationName": "O",
    "organizationalUnitName": "OU", "streetAddress": "STREET", "domainComponent": "DC", "userId": "UID",
}  # fmt: skip
"""The names of RFC 2253, by OpenSSL's."""
_SPECIAL = re.compile(r'([,+"\\<>;])')
_RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_GROUP = re.compile(r"\$(\d)")

Subject = Sequence[Sequence[tuple[str, str]]]
"""Of a certificate, as the ssl module has it."""


class Rule(NamedTuple):
    """Of `ssl.principal.mapping.rules`: the whole name must match. case: L or U for the outcome, or empty."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""


DEFAULT_RULE = Rule(None)


def rules(text: str) -> tuple[Rule, ...]:
    """`RULE:PATTERN/REPLACEMENT/[LU],...,DEFAULT`. Raises ValueError."""
    found, at = list[Rule](), 0
    text = text.strip()
    while at < len(text):
        if text.startswith("DEFAULT", at):
            found.append(DEFAULT_RULE)
            at += len("DEFAULT")
        else:
            match = _RULE.match(text, at)
            if match is None:
                raise ValueError(f"{text[at : at + 40]!r} is neither DEFAULT nor RULE:PATTERN/REPLACEMENT/[LU]")
            try:
                pattern = re.compile(match[1].replace("\\/", "/"))
            except re.error as error:
                raise ValueError(f"{match[1]!r} is no pattern: {error}") from None
            found.append(Rule(pattern, match[2], match[3]))
            at = match.end()
        separator = re.compile(r"\s*,\s*|\s*$").match(text, at)
        if separator is None:
            raise ValueError(f"a comma is expected before {text[at : at + 40]!r}")
        at = separator.end()
    return tuple(found)


def of_user(name: str) -> Principal:
    return Principal(USER, name)


def of_certificate(subject: Subject, mapping: Sequence[Rule] = (DEFAULT_RULE,)) -> Principal:
    """By the first rule that matches. Raises AuthenticationError where none does."""
    name = distinguished_name(subject)
    for rule in mapping:
        if rule.pattern is None:
            return of_user(name)
        match = rule.pattern.fullmatch(name)
        if match is not None:
            mapped = _GROUP.sub(lambda of, match=match: _group(match, int(of[1])), rule.replacement)  # type: ignore[misc]
            return of_user({"L": mapped.lower(), "U": mapped.upper()}.get(rule.case, mapped))
    raise AuthenticationError("no rule of ssl.principal.mapping.rules is for the certificate's name")


def _group(match: re.Match[str], number: int) -> str:
    """Empty where the pattern has no such group, or it took no part."""
    return (match[number] or "") if number <= (match.re.groups) else ""


def distinguished_name(subject: Subject) -> str:
    """As RFC 2253 writes it, the last part first. An attribute that has no short name there keeps OpenSSL's."""
    return ",".join(
        "+".join(f"{_SHORT.get(name, name)}={_value(text)}" for name, text in part) for part in subject[::-1]
    )


def _value(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", text)
    if escaped[:1] in ("#", " "):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if len(escaped) > 1 and escaped.endswith(" ") else escaped
