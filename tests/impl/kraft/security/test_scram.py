"""SCRAM: the example of RFC 7677, both sides against each other, and each thing that must be refused."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.scram import MECHANISMS, Credential, ScramClient, ScramServer, credential_of, decoy, salted

SHA_256 = MECHANISMS["SCRAM-SHA-256"]
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
RFC = (
    b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)


def of_password(password: str, mechanism: str = "SCRAM-SHA-256") -> Credential:
    used = MECHANISMS[mechanism]
    return credential_of(used, salted(used, password, SALT, 4096), SALT, 4096)


PENCIL = of_password("pencil")


def server(credential: Credential = PENCIL) -> ScramServer:
    return ScramServer(SHA_256, lambda _: credential, SERVER_NONCE)


def test_the_example_of_the_rfc() -> None:
    client, asked = ScramClient(SHA_256, "user", "pencil", CLIENT_NONCE), server()
    assert client.first() == RFC[0]
    assert asked.respond(RFC[0]) == RFC[1] and asked.user is None
    assert client.last(RFC[1]) == RFC[2]
    assert asked.respond(RFC[2]) == RFC[3] and asked.user == "user"
    client.check(RFC[3])


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(MECHANISMS)), NAMES, NAMES)
def test_both_sides_agree_of_any_name_and_password(mechanism: str, user: str, password: str) -> None:
    asked_for: list[str] = []

    def found(name: str) -> Credential:
        asked_for.append(name)
        return of_password(password, mechanism)

    asked, client = (
        ScramServer(MECHANISMS[mechanism], found, "s"),
        ScramClient(MECHANISMS[mechanism], user, password, "c"),
    )
    client.check(asked.respond(client.last(asked.respond(client.first()))))
    assert asked_for == [user] and asked.user == user


def test_a_wrong_password_and_an_unknown_user_are_told_the_same() -> None:
    said = []
    for credential in (of_password("pen"), decoy(SHA_256, b"secret", "user")):
        asked, client = server(credential), ScramClient(SHA_256, "user", "pencil", CLIENT_NONCE)
        proof = client.last(asked.respond(client.first()))
        with pytest.raises(AuthenticationError) as refused:
            asked.respond(proof)
        said.append(str(refused.value))
        assert asked.user is None
    assert said[0] == said[1] and "pencil" not in said[0]
    assert decoy(SHA_256, b"secret", "user") == decoy(SHA_256, b"secret", "user") != decoy(SHA_256, b"secret", "other")


@pytest.mark.parametrize(
    "first",
    [b"", b"n,,", b"n,,n=user", b"n,,r=x", b"n,,n=user,r=", b"n,,n=us=er,r=x", b"p=tls-unique,,n=user,r=x",
     b"\xff,,n=a,r=x", b"n,a=other,n=user,r=x", b"n,,m=x,n=user,r=x", b"n,,n=user,r=x,tokenauth=true",
     b"n,,n=user,n=user,r=x"],
)  # fmt: skip
def test_first_messages_that_are_refused(first: bytes) -> None:
    asked = server()
    with pytest.raises(AuthenticationError):
        asked.respond(first)
    with pytest.raises(AuthenticationError, match="has ended"):
        asked.respond(RFC[0])


@pytest.mark.parametrize(
    "last",
    [b"", RFC[2].replace(b"biws", b"eSws"), RFC[2].replace(b"%hvY", b"%hvZ"), RFC[2].replace(b",p=d", b",p=e"),
     RFC[2].replace(b"dHzb", b""), RFC[2].replace(b",p=", b",q="), b"c=biws,r=x,p=!"],
)  # fmt: skip
def test_last_messages_that_are_refused(last: bytes) -> None:
    asked = server()
    asked.respond(RFC[0])
    with pytest.raises(AuthenticationError):
        asked.respond(last)
    assert asked.user is None


@pytest.mark.parametrize(
    "answer", [b"", b"r=x,s=,i=4096", RFC[1].replace(b"4096", b"4095"), RFC[1].replace(b"s=", b"t=")]
)
def test_a_client_refuses_what_no_server_says(answer: bytes) -> None:
    client = ScramClient(SHA_256, "user", "pencil", CLIENT_NONCE)
    with pytest.raises(AuthenticationError):
        client.last(answer)


def test_a_client_sees_a_server_that_does_not_know_the_password() -> None:
    client = ScramClient(SHA_256, "user", "pencil", CLIENT_NONCE)
    client.last(RFC[1])
    with pytest.raises(AuthenticationError, match="does not know"):
        client.check(b"v=AAAA")


def test_secrets_are_not_shown() -> None:
    assert repr(PENCIL) == "Credential(iterations=4096)"
