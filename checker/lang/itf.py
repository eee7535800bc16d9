"""Values of a spec as ITF (informal trace format) JSON, by what they are; `types.Type.itf` does it by type."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from checker.lang.marks import MARK, RecordInfo
from checker.lang.types import ABSENT_ITF
from checker.lang.values import Bag, Identity, Map, Ordinal


def to_itf(value: Any) -> Any:
    """ITF for a value whose type is not at hand: a local of a property, a parameter, a constant."""
    if value is None:
        return ABSENT_ITF
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Identity):
        return repr(value)
    if isinstance(value, Ordinal):
        return value.value
    if isinstance(value, frozenset | set):
        return {"#set": sorted((to_itf(v) for v in value), key=repr)}
    if isinstance(value, tuple):
        return [to_itf(v) for v in value]
    if isinstance(value, Map):
        return {"#map": [[to_itf(k), to_itf(v)] for k, v in value.items()]}
    if isinstance(value, Bag):
        return {"#map": [[to_itf(m), value.count(m)] for m in sorted(set(value), key=repr)]}
    info = getattr(type(value), MARK, None)
    if isinstance(info, RecordInfo):
        fields = {f.name: to_itf(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"tag": type(value).__name__, "value": fields} if info.frozen else fields
    return str(value)
