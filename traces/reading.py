"""Reading JSON that others wrote: a value together with the path to it, so that an error says where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from traces.trace import TraceError, Value

MAX_DEPTH = 100
"""Values nested deeper than this are refused; a real state nests less than 10 deep."""

_CONTAINERS = ("#tup", "#set", "#map")
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a bool",
    int: "an integer",
    float: "a decimal number",
    type(None): "null",
}
_SAFE_INTEGER = 2**53 - 1  # beyond it a JSON number loses digits in tools that read doubles


def parse(text: str) -> object:
    """The JSON value in `text`. Raises `TraceError`, with line and column where they are known."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        raise TraceError(
            "it ends in the middle of a value" if cut else f"this is not JSON: {error.msg}",
            where=f"line {error.lineno}, column {error.colno}",
            hint="The file was cut off: write it again" if cut else "",
        ) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; thousands of brackets
        what = "it is nested too deep" if isinstance(error, RecursionError) else "a number in it is not an integer"
        raise TraceError(what) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


@dataclass(frozen=True)
class Json:
    """A JSON value and the path that leads to it.

    Every method raises `TraceError` when the value is of another kind than the method reads.
    """

    value: object
    path: str = ""

    def fail(self, expected: str) -> NoReturn:
        raise TraceError(f"expected {expected}, found {_KINDS[type(self.value)]}", where=self.path)

    def fields(self) -> dict[str, Json]:
        if not isinstance(self.value, dict):
            self.fail("an object")
        return {name: Json(value, f"{self.path}.{name}".lstrip(".")) for name, value in self.value.items()}

    def field(self, name: str) -> Json:
        fields = self.fields()
        if name not in fields:
            raise TraceError(f'the field "{name}" is missing', where=self.path)
        return fields[name]

    def get(self, name: str, default: object) -> Json:
        """The field `name`; `default` where it is missing or null."""
        found = self.fields().get(name)
        return found if found is not None and found.value is not None else Json(default, f"{self.path}.{name}")

    def items(self) -> list[Json]:
        if not isinstance(self.value, list):
            self.fail("a list")
        return [Json(value, f"{self.path}[{position}]") for position, value in enumerate(self.value)]

    def text(self) -> str:
        return self.value if isinstance(self.value, str) else self.fail("a string")

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def integer(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail("an integer")
        return self.value

    def data(self, depth: int = 0) -> Value:
        """The ITF expression that stands here, with {"#bigint": ...} turned into an int."""
        if depth > MAX_DEPTH:
            raise TraceError(f"a value is nested more than {MAX_DEPTH} deep", where=self.path)
        if isinstance(self.value, (bool, int, str)):
            return self.value
        if isinstance(self.value, list):
            return [item.data(depth + 1) for item in self.items()]
        if not isinstance(self.value, dict):
            self.fail("an ITF value")
        special = next((name for name in self.value if name.startswith("#")), None)
        if special is not None:
            return self._special(special, depth)
        if self.value.keys() == {"tag", "value"} and self.value["value"] is None:
            # a bare case as itf-py writes it
            return {"tag": self.field("tag").text(), "value": {"#tup": []}}
        return {name: field.data(depth + 1) for name, field in self.fields().items()}

    def record(self) -> dict[str, Value]:
        """An object whose fields are ITF expressions."""
        return {name: field.data() for name, field in self.fields().items()}

    def _special(self, name: str, depth: int) -> Value:
        content = self.field(name)
        if len(self.fields()) > 1:
            raise TraceError(f'"{name}" stands beside other fields', where=self.path)
        if name == "#bigint":
            try:
                return int(content.text())
            except ValueError:
                raise TraceError("this is not an integer", where=content.path) from None
        if name == "#unserializable":
            return {name: content.text()}
        if name not in _CONTAINERS:
            raise TraceError(f'"{name}" is not of ITF', where=self.path)
        if name == "#map" and any(len(pair.items()) != 2 for pair in content.items()):
            raise TraceError("a map is a list of [key, value] pairs", where=content.path)
        return {name: content.data(depth + 1)}


def portable(value: Value) -> Value:
    """`value` with integers that JSON does not carry safely (beyond 2^53 - 1) as {"#bigint": "..."}."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return {"#bigint": str(value)}
    if isinstance(value, list):
        return [portable(item) for item in value]
    if isinstance(value, dict):
        return portable_record(value)
    return value


def portable_record(record: Mapping[str, Value]) -> dict[str, Value]:
    """`portable` of every field."""
    return {name: portable(value) for name, value in record.items()}
