"""Requests and responses of Kafka's protocol as kio's schemas have them, and their bytes."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from kio.serial import entity_reader, entity_writer

from impl.runtime.lengths import Change, changed, end_of
from impl.runtime.wire import WireError


def entity_bytes(entity: Any) -> bytes:
    """The body of a request or response."""
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def read_entity(kind: type, body: bytes, what: str = "", *, ignores_rest: bool = False) -> Any:
    """The entity that a body is. what: the kind, for errors, if it is not its own name. Raises WireError.

    ignores_rest: bytes behind it are nothing to complain of.
    """
    named = what or kind.__name__
    try:
        changes: list[Change] = []
        end_of(kind, body, changes)
        body = changed(body, changes)
        read: Any = entity_reader(kind)
        entity, size_bytes = read(body, 0)
    except Exception as error:  # kio has errors of several kinds for bytes that are not what they should be
        raise WireError(f"{named} cannot be read: {error}") from None
    if size_bytes != len(body) and not ignores_rest:
        raise WireError(f"{len(body) - size_bytes} bytes after {named}")
    return entity
