"""SCRAM credentials as records and images have them."""

from __future__ import annotations

from impl.kraft.image import Image
from impl.kraft.records import UserScramCredentialRecord
from impl.kraft.security.scram import Credential


def scram_record(user: str, mechanism: int, credential: Credential) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        user, mechanism, credential.salt, credential.stored_key, credential.server_key, credential.iterations
    )


def scram_credential(record: UserScramCredentialRecord) -> Credential:
    return Credential(record.salt, record.stored_key, record.server_key, record.iterations)


def scram_credentials(image: Image) -> dict[str, dict[int, Credential]]:
    """By user and mechanism."""
    found: dict[str, dict[int, Credential]] = {}
    for (user, mechanism), record in sorted(image.credentials.items()):
        found.setdefault(user, {})[mechanism] = scram_credential(record)
    return found
