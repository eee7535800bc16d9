"""A login on one connection: a mechanism, its exchange, a principal; and every other order is refused."""

from __future__ import annotations

import pytest

from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.principals import Principal
from impl.kraft.security.sasl import Login, PlainServer

PASSWORDS = {"ann": "secret", "nobody": ""}


def login() -> Login:
    return Login({"PLAIN": lambda: PlainServer(PASSWORDS)})


@pytest.mark.parametrize("message", [b"\0ann\0secret", b"ann\0ann\0secret"])
def test_who_knows_the_password_has_a_principal(message: bytes) -> None:
    asked = login()
    assert asked.mechanisms == ("PLAIN",) and asked.choose("PLAIN") and asked.principal is None
    assert asked.respond(message) == b""
    assert asked.principal == Principal("User", "ann") and str(asked.principal) == "User:ann"
    with pytest.raises(AuthenticationError):
        asked.respond(message)


@pytest.mark.parametrize(
    "message",
    [b"", b"\0ann\0secret\0", b"\0ann\0wrong", b"\0bob\0secret", b"\0nobody\0", b"\0unknown\0", b"bob\0ann\0secret",
     b"\0ann\0\xff"],
)  # fmt: skip
def test_who_does_not_has_none_and_no_second_try(message: bytes) -> None:
    asked = login()
    asked.choose("PLAIN")
    with pytest.raises(AuthenticationError, match="Authentication failed with PLAIN") as refused:
        asked.respond(message)
    assert "secret" not in str(refused.value)
    for again in (lambda: asked.respond(b"\0ann\0secret"), lambda: asked.choose("PLAIN")):
        with pytest.raises(AuthenticationError):
            again()
    assert asked.principal is None


def test_a_mechanism_is_chosen_once_and_first() -> None:
    with pytest.raises(AuthenticationError):
        login().respond(b"\0ann\0secret")
    asked = login()
    assert not asked.choose("GSSAPI")
    with pytest.raises(AuthenticationError):
        asked.choose("PLAIN")
