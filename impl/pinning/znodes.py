"""The znodes of pinning: paths, and what is in them. Whatever somebody else wrote into them is read or refused.

`/admin/next_controller` holds the target in decimal ASCII (KIP-39, Proposed Change, b: "data x"); the document has
three names for the ephemeral znode of the target, of which one is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.zookeeper.office import CONTROLLER_EPOCH
from impl.zookeeper.znodes import ZnodeError, read_decimal, read_int, read_json, write_decimal, write_json

ADMIN = "/admin"
"""Its version changes with each `next` and each `ready` that is created. An absent znode cannot be checked, nor can one
be told from another of the same name and version: this can."""
NEXT = "/admin/next_controller"
READY = "/admin/ready_to_serve_as_controller"
BROKER_IDS = "/brokers/ids"
STATE = "/brokers/controller_state"
"""Stands for what a controller writes while it is in office: whatever is fenced by its epoch."""

PERSISTENT = ((ADMIN, b""), ("/brokers", b""), (BROKER_IDS, b""), (STATE, b""), (CONTROLLER_EPOCH, b"0"))
"""The znodes that are there before any broker is, parents first, and their data."""

NOBODY = -1
"""As the target of a request: it was taken back. The znode stays, so that its version tells requests apart."""

_MAX_CZXID = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Ready:
    """The contents of `ready`: who is ready, and the request it answers (None: as the document has it)."""

    broker: int
    request: int | None = None


def id_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def read_next(data: bytes) -> int:
    """The target, or NOBODY. Raises ZnodeError."""
    return read_decimal(NEXT, data, least=NOBODY)


def registration_bytes(host: str, port: int) -> bytes:
    """The address of a broker in the znode of its id, by the fields that Kafka's version 4 has for it."""
    shown = f"[{host}]" if ":" in host else host
    return write_json({"version": 4, "host": host, "port": port, "endpoints": [f"PLAINTEXT://{shown}:{port}"]})


def read_registration(path: str, data: bytes) -> tuple[str, int]:
    """Host and port. Raises ZnodeError."""
    fields = read_json(path, data, versions=(4, 5))
    host = fields.get("host")
    if not isinstance(host, str):
        raise ZnodeError(path, data, "'host' in it")
    return host, read_int(path, data, fields, "port", most=65_535)


def ready_bytes(ready: Ready) -> bytes:
    """Decimal ASCII without a request, else JSON."""
    if ready.request is None:
        return write_decimal(ready.broker)
    return write_json({"version": 1, "brokerid": ready.broker, "request": ready.request})


def read_ready(data: bytes) -> Ready:
    """Both forms. Raises ZnodeError."""
    if data.isdigit():
        return Ready(read_decimal(READY, data))
    fields = read_json(READY, data)
    request = read_int(READY, data, fields, "request", most=_MAX_CZXID)
    return Ready(read_int(READY, data, fields, "brokerid"), request)


__all__ = ["ZnodeError", "read_next", "read_ready", "ready_bytes"]
