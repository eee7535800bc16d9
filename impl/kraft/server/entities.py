"""Requests and responses as kio's schemas have them: their bytes, and what is common to all."""

from __future__ import annotations

import datetime
from io import BytesIO
from typing import Any

from kio.schema.errors import ErrorCode as WireErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta

from impl.kraft.errors import ErrorCode
from impl.runtime.wire import WireError

NO_TIME = i32Timedelta.parse(datetime.timedelta(0))
"""For which a request was throttled."""


def entity_bytes(entity: Any) -> bytes:
    """The body of a request or response."""
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def read_entity(kind: type, body: bytes) -> Any:
    """Raises WireError."""
    try:
        read: Any = entity_reader(kind)
        entity, size_bytes = read(body, 0)
    except Exception as error:  # kio has errors of several kinds for bytes that are not what they should be
        raise WireError(f"{kind.__name__} cannot be read: {error}") from None
    if size_bytes != len(body):
        raise WireError(f"{len(body) - size_bytes} bytes after {kind.__name__}")
    return entity


def wire_code(error: ErrorCode) -> WireErrorCode:
    return WireErrorCode(int(error))
