"""What is common to all requests and responses: the tags of a header, and fields as kio's schemas have them."""

from __future__ import annotations

import datetime

from kio.schema.errors import ErrorCode as WireErrorCode
from kio.static.primitive import i32Timedelta

from impl.kraft.errors import ErrorCode
from impl.kraft.storage.batches import Reader
from impl.runtime.wire import WireError

NO_TIME = i32Timedelta.parse(datetime.timedelta(0))
"""For which a request was throttled."""
NO_TAGS = b"\x00"
"""The end of a flexible header, as all of ours are."""


def without_tags(data: bytes) -> bytes:
    """What stands behind the tags of a flexible header; none of them is known here (KIP-482). Raises WireError."""
    reader = Reader(memoryview(data))
    try:
        for _ in range(reader.uvarint()):
            reader.uvarint()
            reader.take(reader.uvarint())
        return reader.take(reader.left())
    except (IndexError, ValueError) as error:
        raise WireError(f"the tags of a header: {error}") from None


def wire_code(error: ErrorCode) -> WireErrorCode:
    return WireErrorCode(int(error))
