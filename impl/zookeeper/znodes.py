"""Data of znodes, read with suspicion: whatever an operator or another version wrote there, one clear error says so."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

MOST_INT32 = 2**31 - 1
_MOST_SHOWN = 60


class ZnodeError(ValueError):
    """The data of a znode cannot be used. The message names the path, what is there and what is expected."""

    def __init__(self, path: str, data: bytes, expected: str) -> None:
        shown = repr(data[:_MOST_SHOWN])[1:] + ("..." if len(data) > _MOST_SHOWN else "")
        super().__init__(f"{path} holds {shown}, expected {expected}")
        self.path = path


def read_decimal(path: str, data: bytes, *, least: int = 0, most: int = MOST_INT32) -> int:
    """A number in decimal ASCII. Raises ZnodeError unless it is one, and from `least` to `most`."""
    expected = f"a decimal number from {least} to {most}"
    digits = data[1:] if data.startswith(b"-") else data
    if not digits.isdigit() or len(digits) > 19:
        raise ZnodeError(path, data, expected)
    value = int(data)
    if not least <= value <= most:
        raise ZnodeError(path, data, expected)
    return value


def read_id(name: str) -> int | None:
    """The number of a broker or a partition, as the name of a znode or of a field; None: it is none."""
    is_decimal = name.isascii() and name.isdigit() and len(name) <= len(str(MOST_INT32))
    return int(name) if is_decimal and int(name) <= MOST_INT32 else None


def write_decimal(value: int) -> bytes:
    return b"%d" % value


def read_json(path: str, data: bytes, *, versions: Collection[int] = (1,)) -> dict[str, Any]:
    """A JSON object with a `version` that is known. Raises ZnodeError otherwise."""
    known = " or ".join(str(version) for version in sorted(versions))
    expected = f"a JSON object of version {known}"
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ZnodeError(path, data, expected) from None
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, bool) or version not in versions:
        raise ZnodeError(path, data, expected)
    found: dict[str, Any] = value
    return found


def read_int(
    path: str, data: bytes, value: dict[str, Any], name: str, *, least: int = 0, most: int = MOST_INT32
) -> int:
    """The number `name` of a JSON object that `data` holds. Raises ZnodeError unless it is one, `least` to `most`."""
    number = value.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise ZnodeError(path, data, f"{name!r} from {least} to {most} in it")
    return number


def write_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def read_controller(path: str, data: bytes) -> int:
    """The broker that /controller names. Raises ZnodeError."""
    return read_int(path, data, read_json(path, data), "brokerid")


def write_controller(broker: int, now_ms: int) -> bytes:
    """/controller as Kafka writes it: {"version":1,"brokerid":0,"timestamp":"1700000000000"}."""
    return write_json({"version": 1, "brokerid": broker, "timestamp": str(now_ms)})
