"""Recorded states as codes: JSON read by the types of the spec, each distinct text only once.

Values are those of ITF (`traces.trace`) or plain JSON, which the types distinguish:

    Option[T]   null, or the value itself         ITF: {"tag": "None", ...}, {"tag": "Some", "value": v}
    Set, Bag    [a, b]                            ITF: {"#set": [a, b]}, {"#map": [[a, 1], [b, 1]]}
    Map[K, V]   {"broker0": v}                    ITF: {"#map": [["broker0", v]]}

Of a record or map, any part may be missing: it was not observed. Ordinals are read as they were recorded: numbers
of which only order and equality count (code: number + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import call
from typing import Any

import msgspec
import numpy as np

from checker.lang.types import (
    BagType,
    BoundedSetType,
    MapType,
    OptionStyle,
    OptionType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.running.arrays import Bits, Longs

MAX_NUMBER = 1 << 60  # of a recorded ordinal
KEPT = 1 << 17  # texts of one type that are remembered; then it starts afresh
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_PAIRS = msgspec.json.Decoder(list[tuple[msgspec.Raw, msgspec.Raw]])
_ANY = msgspec.json.Decoder()


class DecodingError(Exception):
    """A recorded value that is not of its type. The message says which and why."""


@dataclass(frozen=True)
class Decoded:
    """A decoded value: a code for each leaf, and whether it was observed."""

    codes: tuple[int, ...]
    known: tuple[bool, ...]


Read = Callable[[bytes], Decoded]


def reader(type_: Type) -> Read:
    """A function that reads a JSON text as a value of `type_`, of which parts may be missing. It remembers texts."""
    read = _composite(type_)
    remembered: dict[bytes, Decoded] = {}

    def remembering(text: bytes) -> Decoded:
        found = remembered.get(text)
        if found is None:
            if len(remembered) >= KEPT:
                remembered.clear()
            try:
                found = remembered[text] = read(text)
            except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError) as error:
                raise DecodingError(_said(error, text, type_)) from None
        return found

    return remembering


def _said(error: Exception, text: bytes, type_: Type) -> str:
    shown = text[:80].decode("utf-8", "replace") + ("..." if len(text) > 80 else "")
    if isinstance(error, msgspec.DecodeError):
        return f"{shown} is not a value of {type_}"
    return f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)


def _composite(type_: Type) -> Read:
    match type_:
        case RecordType():
            return _record(type_)
        case MapType():
            return _map(type_)
        case OptionType():
            return _option(type_)
        case SeqType() | BagType():
            return _listed(type_)
    return lambda text: _whole(type_, parsed(type_, _ANY.decode(text)))


def _whole(type_: Type, value: Any) -> Decoded:
    codes = type_.encode(type_.store(value))
    return Decoded(tuple(c - (c >> 63 << 64) for c in codes), (True,) * type_.width)  # a set of 64: signed


def _record(type_: RecordType) -> Read:
    fields = {name: reader(field) for name, field in type_.fields.items()}
    unseen = {name: Decoded((0,) * field.width, (False,) * field.width) for name, field in type_.fields.items()}

    def read(text: bytes) -> Decoded:
        given = _OBJECT.decode(text)
        for name in given:
            if name not in fields:
                raise DecodingError(f"{type_} has no field {name}; it has {', '.join(fields)}")
        return _joined([fields[n](bytes(given[n])) if n in given else unseen[n] for n in fields])

    return read


def _map(type_: MapType) -> Read:
    read_value = reader(type_.value_type)
    names = {_name(type_.key_type, key): i for i, key in enumerate(type_.keys)}
    unseen = Decoded((0,) * type_.value_type.width, (False,) * type_.value_type.width)

    def read(text: bytes) -> Decoded:
        given = _OBJECT.decode(text)
        values = [unseen] * len(names)
        if set(given) == {"#map"}:
            pairs = [(_given_name(type_.key_type, _ANY.decode(k)), v) for k, v in _PAIRS.decode(given["#map"])]
            given = dict(pairs)
            if len(given) < len(pairs):
                raise DecodingError(f"a {type_} has a key twice")
        for name, value in given.items():
            if name not in names:
                raise DecodingError(f"{name} is not a value of {type_.key_type}")
            values[names[name]] = read_value(bytes(value))
        return _joined(values)

    return read


def _name(type_: Type, key: Any) -> str:
    return _name_of(type_.itf(key))


def _given_name(type_: Type, json: Any) -> str:
    """The name of a key in a trace: of a message or a set, whatever the order of its parts."""
    return _name_of(json) if isinstance(type_, Scalar) else _name(type_, parsed(type_, json))


def _name_of(itf: Any) -> str:
    return itf if isinstance(itf, str) else msgspec.json.encode(itf).decode()


def _option(type_: OptionType) -> Read:
    read_inner = reader(type_.inner)
    absent = Decoded((0,) * type_.width, (True,) * type_.width)

    def read(text: bytes) -> Decoded:
        if text == b"null":
            return absent
        if text.startswith(b"{"):
            given = _OBJECT.decode(text)
            tag = bytes(given.get("tag", b""))
            if tag == b'"None"':
                return absent
            if tag == b'"Some"':
                text = bytes(given.get("value", b"null"))
        inner = read_inner(text)
        if type_.style is OptionStyle.CODE:
            return Decoded((inner.codes[0] + 1, *inner.codes[1:]), inner.known)
        if type_.style is OptionStyle.TAG:
            return Decoded((1, *inner.codes), (True, *inner.known))
        return inner

    return read


def _listed(type_: SeqType | BagType) -> Read:
    """Sequences and bags: their elements are whole, and remembered one by one."""
    read_element = reader(type_.element if isinstance(type_, SeqType) else type_.slot)
    most = type_.length if isinstance(type_, SeqType) else type_.capacity

    def read(text: bytes) -> Decoded:
        if isinstance(type_, BoundedSetType):
            elements = _LIST.decode(_OBJECT.decode(text)["#set"] if text.startswith(b"{") else text)
        elif text.startswith(b"{"):
            pairs = _PAIRS.decode(_OBJECT.decode(text)["#map"])
            elements = [member for member, count in pairs for _ in range(int(bytes(count)))]
        else:
            elements = _LIST.decode(text)
        read = [read_element(bytes(element)) for element in elements]
        if len(read) > most:
            raise DecodingError(f"{len(read)} elements, and the model holds a {type_}")
        if isinstance(type_, BagType) and any(one.codes[0] == 0 for one in read):
            raise DecodingError(f"null is not a member of a {type_}")
        if not all(all(one.known) for one in read):
            raise DecodingError(f"an element of a {type_} is not given in full")
        if isinstance(type_, SeqType):
            codes = (len(read), *[code for one in read for code in one.codes])
        else:
            head = (1,) if type_.tagged else ()
            slots = sorted(head + one.codes for one in read)
            if isinstance(type_, BoundedSetType) and len(set(slots)) < len(slots):
                raise DecodingError(f"a {type_} has a member twice")
            codes = tuple(code for slot in slots for code in slot)
        return Decoded((*codes, *[0] * (type_.width - len(codes))), (True,) * type_.width)

    return read


def _joined(parts: list[Decoded]) -> Decoded:
    return Decoded(
        tuple(code for part in parts for code in part.codes), tuple(known for part in parts for known in part.known)
    )


def parsed(type_: Type, json: Any) -> Any:
    """The value that a JSON value, in ITF or plain, stands for. Raises ValueError if it is not of `type_`."""
    value = type_.parse(_itf(type_, json))
    for (_, leaf), code in zip(type_.leaves, type_.encode(value), strict=True):
        if leaf.sort and code > MAX_NUMBER:
            raise ValueError(f"an ordinal above {MAX_NUMBER}")
    return value


def _itf(type_: Type, json: Any) -> Any:
    """A JSON value as ITF."""
    match type_:
        case OptionType():
            if json is None:
                return {"tag": "None", "value": {"#tup": []}}
            if isinstance(json, dict) and json.get("tag") in ("None", "Some"):
                return {**json, "value": _itf(type_.inner, json.get("value"))} if json["tag"] == "Some" else json
            return {"tag": "Some", "value": _itf(type_.inner, json)}
        case SetType() | BoundedSetType():
            members = json["#set"] if isinstance(json, dict) and "#set" in json else json
            return {"#set": [_itf(type_.element, m) for m in members]} if isinstance(members, list) else json
        case SeqType() if isinstance(json, list):
            return [_itf(type_.element, element) for element in json]
        case BagType() if isinstance(json, list):
            return {"#map": [[_itf(type_.element, member), 1] for member in json]}
        case RecordType() if isinstance(json, dict):
            return {n: _itf(type_.fields[n], v) if n in type_.fields else v for n, v in json.items()}
        case UnionType() if isinstance(json, dict):
            variant = next((v for v in type_.variants if str(v) == json.get("tag")), None)
            return json if variant is None else {**json, "value": _itf(variant, json.get("value"))}
        case MapType() if isinstance(json, dict):
            keys = {_name(type_.key_type, key): type_.key_type.itf(key) for key in type_.keys}
            pairs = json["#map"] if set(json) == {"#map"} else [[keys.get(k, k), v] for k, v in json.items()]
            return {"#map": [[k, _itf(type_.value_type, v)] for k, v in pairs]}
    return json


class StateDecoder:
    """Reads states and keeps, for each field, every distinct value in a table. Number 0: nothing was observed."""

    def __init__(self, state: RecordType) -> None:
        self._fields = [(name, reader(field)) for name, field in state.fields.items()]
        self._decoded: list[list[Decoded]] = [
            [Decoded((0,) * field.width, (False,) * field.width)] for field in state.fields.values()
        ]
        self._numbers: list[dict[bytes, int]] = [{b"": 0} for _ in self._fields]
        self._look_up = [numbers.get for numbers in self._numbers]
        self._tables = [_Table(field.width) for field in state.fields.values()]
        self.nothing = (0,) * len(self._fields)

    def read(self, texts: tuple[msgspec.Raw, ...]) -> tuple[int, ...]:
        """The numbers of a state's fields in the tables. texts: of each field, b"" for none. Raises DecodingError."""
        row = tuple(map(call, self._look_up, map(bytes, texts)))
        if None in row:
            row = tuple(self._number(i, bytes(text)) for i, text in enumerate(texts))
        return row  # type: ignore[return-value]  # None is gone

    def _number(self, at: int, text: bytes) -> int:
        numbers, (name, read) = self._numbers[at], self._fields[at]
        found = numbers.get(text)
        if found is None:
            try:
                value = read(text)
            except DecodingError as error:
                raise DecodingError(f"{name}: {error}") from None
            found = numbers[text] = len(self._decoded[at])
            self._decoded[at].append(value)
        return found

    def rows(self, numbers: Longs) -> tuple[Longs, Bits]:
        """(codes, whether they are known) of states by their fields' numbers: shapes (states, leaves)."""
        parts = [t.rows(numbers[:, i]) for i, t in enumerate(self._sealed())]
        return np.concatenate([c for c, _ in parts], axis=1), np.concatenate([k for _, k in parts], axis=1)

    def whole(self, numbers: Longs) -> Bits:
        """The states that were observed in full."""
        found = np.ones(len(numbers), dtype=bool)
        for i, table in enumerate(self._sealed()):
            found &= table.whole[numbers[:, i]]
        return found

    def _sealed(self) -> list[_Table]:
        for table, values in zip(self._tables, self._decoded, strict=True):
            table.extend(values)
        return self._tables

    def forget(self) -> None:
        """Drop the values of fields that have many; all numbers given out so far are then void."""
        for at, values in enumerate(self._decoded):
            if len(values) > KEPT:
                self._numbers[at].clear()
                self._numbers[at][b""] = 0
                del values[1:]
                self._tables[at] = _Table(len(values[0].codes))


class _Table:
    """The values of one field as arrays, which grow."""

    def __init__(self, width: int) -> None:
        self._size = 0
        self._codes = np.zeros((64, width), np.int64)
        self._known = np.zeros((64, width), np.bool_)
        self.whole = np.zeros(64, np.bool_)

    def extend(self, values: list[Decoded]) -> None:
        """Take in the values that are not in the table yet."""
        new = values[self._size :]
        if not new:
            return
        limit = len(values)
        if limit > len(self._codes):
            more = max(limit, 2 * len(self._codes)) - len(self._codes)
            self._codes = np.pad(self._codes, ((0, more), (0, 0)))
            self._known = np.pad(self._known, ((0, more), (0, 0)))
            self.whole = np.pad(self.whole, (0, more))
        self._codes[self._size : limit] = [r.codes for r in new]
        self._known[self._size : limit] = [r.known for r in new]
        self.whole[self._size : limit] = self._known[self._size : limit].all(axis=1)
        self._size = limit

    def rows(self, numbers: Longs) -> tuple[Longs, Bits]:
        return self._codes[numbers], self._known[numbers]
