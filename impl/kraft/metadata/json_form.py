"""Metadata records as JSON, character for character as Kafka's tools print them (Jackson, without spaces)."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.storage.directories import encode_id

_ESCAPE = re.compile(r"\\\\|\\u00[0-9a-f]{2}")
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
"""Java writes doubles of this size without an exponent."""


def payload_json(record: MetadataRecord) -> str:
    """What follows `payload: ` in a dump (KIP-631, Changes to kafka-dump-log-segments.sh)."""
    return to_json({"type": record.type, "version": record.version, "data": record.fields})


def to_json(value: Any) -> str:
    """A value of a field, or a struct of them."""
    match value:
        case UUID():
            return f'"{encode_id(value)}"'
        case bytes():
            return f'"{b64encode(value).decode()}"'
        case float():
            return _double(value)
        case str():
            return _ESCAPE.sub(lambda found: found[0][:2] + found[0][2:].upper(), json.dumps(value, ensure_ascii=False))
        case tuple():
            return f"[{','.join(map(to_json, value))}]"
        case Mapping():
            return f"{{{','.join(f'{to_json(name)}:{to_json(one)}' for name, one in value.items())}}}"
    return json.dumps(value)


def _double(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    digits, _, exponent = _shortest(value).partition("e")
    return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"


def _shortest(value: float) -> str:
    """In scientific notation, with no more digits than tell it from its neighbours."""
    return next(text for text in (f"{value:.{digits}e}" for digits in range(17)) if float(text) == value)
