"""What is common to all responses, as kio's schemas have it."""

from __future__ import annotations

import datetime

from kio.schema.errors import ErrorCode as WireErrorCode
from kio.static.primitive import i32Timedelta

from impl.kraft.errors import ErrorCode

NO_TIME = i32Timedelta.parse(datetime.timedelta(0))
"""For which a request was throttled."""


def wire_code(error: ErrorCode) -> WireErrorCode:
    return WireErrorCode(int(error))
