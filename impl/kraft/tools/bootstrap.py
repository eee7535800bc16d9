"""The records that a formatted directory begins with: levels of features, and SCRAM credentials."""

from __future__ import annotations

import re
import secrets
from base64 import b64decode
from collections.abc import Mapping, Sequence

from impl.kraft.image import METADATA_VERSION
from impl.kraft.levels import RELEASES
from impl.kraft.metadata.core_records import to_metadata
from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.security import stored
from impl.kraft.security.scram import LEAST_ITERATIONS, MECHANISMS, MOST_ITERATIONS, credential_of, salted

DEFAULT_RELEASE = "3.3-IV3"
_OTHER_FEATURES = (
    *("kraft.version", "transaction.version", "group.version"),
    *("eligible.leader.replicas.version", "share.version", "streams.version"),
)
_SCRAM_LEVEL = 11
_SALT_BYTES = 20
_CREDENTIAL = re.compile(r"([A-Z0-9-]+)=\[(.*)\]")
_FIELDS = {"name", "password", "saltedpassword", "salt", "iterations"}


class BootstrapError(ValueError):
    """What was asked for cannot be written. The message says what can."""


def level_of(release: str | None, features: Sequence[str]) -> int:
    """The level of metadata.version that a release, or `metadata.version=LEVEL`, names. Raises BootstrapError."""
    given = dict(map(_feature, features))
    level = given.pop(METADATA_VERSION, None)
    for name, other in given.items():
        if name not in _OTHER_FEATURES:
            raise BootstrapError(f"{name} is no feature; features are {METADATA_VERSION}, {', '.join(_OTHER_FEATURES)}")
        if other != 0:
            raise BootstrapError(f"{name}={other}: only level 0 is supported")
    if level is not None and release is not None:
        raise BootstrapError(f"say the release, or the level of {METADATA_VERSION}, not both")
    if level is not None:
        if level not in RELEASES.values():
            raise BootstrapError(f"{METADATA_VERSION}={level}: {min(RELEASES.values())} to {max(RELEASES.values())}")
        return level
    return RELEASES[_release(release or DEFAULT_RELEASE)]


def name_of(level: int) -> str:
    return next(release for release, its_level in RELEASES.items() if its_level == level)


def bootstrap_records(level: int, credentials: Sequence[str]) -> list[MetadataRecord]:
    """Raises BootstrapError."""
    if credentials and level < _SCRAM_LEVEL:
        raise BootstrapError(f"SCRAM is only supported in {METADATA_VERSION} {name_of(_SCRAM_LEVEL)} or later")
    feature = MetadataRecord("FEATURE_LEVEL_RECORD", 0, {"name": METADATA_VERSION, "featureLevel": level})
    return [feature, *map(scram_record, credentials)]


def scram_record(text: str) -> MetadataRecord:
    """`MECHANISM=[name=...,password=...]`, as RFC 5802 keeps it. Raises BootstrapError."""
    match = _CREDENTIAL.fullmatch(text)
    if match is None or match[1] not in MECHANISMS:
        raise BootstrapError(f"a credential is {' or '.join(MECHANISMS)}=[name=...,password=...]")
    mechanism = MECHANISMS[match[1]]
    values = _credential_values(match[2])
    iterations = int(values.get("iterations", LEAST_ITERATIONS))
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise BootstrapError(f"iterations={iterations}: {LEAST_ITERATIONS} to {MOST_ITERATIONS} are allowed")
    salt = _bytes(values, "salt") if "salt" in values else secrets.token_bytes(_SALT_BYTES)
    if "password" in values:
        password = salted(mechanism, values["password"], salt, iterations)
    else:
        password = _bytes(values, "saltedpassword")
    credential = credential_of(mechanism, password, salt, iterations)
    return to_metadata(stored.scram_record(values["name"], mechanism.number, credential))


def _credential_values(text: str) -> dict[str, str]:
    """No message repeats a value: it may be a password."""
    values = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        values[name.strip()] = value.removeprefix('"').removesuffix('"')
    if not values.get("name") or not values.keys() <= _FIELDS:
        raise BootstrapError(f"a credential has a name, and of {', '.join(sorted(_FIELDS))} nothing else")
    if ("password" in values) == ("saltedpassword" in values):
        raise BootstrapError("a credential has either a password or a saltedpassword")
    if "saltedpassword" in values and "salt" not in values:
        raise BootstrapError("a saltedpassword needs its salt")
    if not values.get("iterations", "0").isdecimal():
        raise BootstrapError("iterations is a number")
    return values


def _bytes(values: Mapping[str, str], name: str) -> bytes:
    try:
        return b64decode(values[name], validate=True)
    except ValueError:
        raise BootstrapError(f"{name} is not base64") from None


def _feature(text: str) -> tuple[str, int]:
    name, separator, level = text.partition("=")
    if not separator or not level.isdecimal():
        raise BootstrapError(f"{text}: FEATURE=LEVEL is expected")
    return name, int(level)


def _release(text: str) -> str:
    """A release, or the last of those that begin so: 3.5 is 3.5-IV2."""
    of_it = [release for release in RELEASES if release == text or release.startswith(f"{text}-")]
    if not of_it:
        raise BootstrapError(f"{text} is no release from {DEFAULT_RELEASE} to {max(RELEASES)}")
    return of_it[-1]
