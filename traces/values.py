"""Looking into values, and printing them compactly."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.trace import Value, printable

NOTHING = "–"
"""How an absent option is printed."""

NOWHERE = "?"
"""How a place is printed that the state does not have."""


def case(value: Value) -> tuple[str, Value] | None:
    """Tag and payload of a case of a tagged union (an option is one); None for any other value."""
    if isinstance(value, dict) and value.keys() == {"tag", "value"} and isinstance(value["tag"], str):
        return value["tag"], value["value"]
    return None


def entries(value: Value) -> list[tuple[Value, Value]] | None:
    """The (key, value) pairs of a map or bag, in a stable order; None for any other value."""
    pairs = _pairs(value)
    return None if pairs is None else sorted(pairs, key=lambda pair: _order(show(pair[0])))


def look_up(value: Value, path: Iterable[Value]) -> Value | None:
    """The value at `path` in `value` (see `Column`); an absent option on the way is the answer.

    None where there is no such place.
    """
    for part in path:
        while (found := case(value)) is not None:
            tag, value = found
            if tag == "None":
                return {"tag": tag, "value": value}
        inner = _inside(value, part)
        if inner is None:
            return None
        value = inner
    return value


def named_parts(value: Value) -> tuple[str, dict[str, Value]] | None:
    """A value taken apart by one level: the tag ("" if it is not a case of a union), and its parts by name.

    Records, maps with plain keys, and cases and options of such have named parts; None for any other value.
    """
    found = case(value)
    if found is not None:
        tag, payload = found
        if tag == "Some" and not _is_option(payload):
            return named_parts(payload)
        fields = _fields(payload)
        return (printable(tag), fields) if fields else None
    fields = _fields(value)
    return ("", fields) if fields else None


def show(value: Value) -> str:
    """`value` on one line: set {0, 1}, map {k→v}, bag {x ×2}, record (field=value), case Tag(field=value)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return printable(value) if value else '""'
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    found = case(value)
    if found is not None:
        return _show_case(*found)
    if (pairs := entries(value)) is not None:
        sign = " ×" if _is_bag(pairs) else "→"
        return "{" + ", ".join(f"{show(key)}{sign}{show(item)}" for key, item in pairs) + "}"
    if (members := _elements(value, "#set")) is not None:
        return "{" + ", ".join(sorted(map(show, members), key=_order)) + "}"
    if (parts := _elements(value, "#tup")) is not None:
        return f"({', '.join(map(show, parts))})"
    return f"({show_fields(value)})"


def show_fields(record: dict[str, Value]) -> str:
    """field=value, field=value"""
    return ", ".join(f"{printable(name)}={show(value)}" for name, value in record.items())


def _show_case(tag: str, payload: Value) -> str:
    if tag == "None":
        return NOTHING
    if tag == "Some" and not _is_option(payload):
        return show(payload)
    if payload in ({"#tup": []}, {}):
        return printable(tag)
    shown = show(payload)
    bracketed = isinstance(payload, dict) and shown.startswith("(")
    return printable(tag) + (shown if bracketed else f"({shown})")


def _is_option(value: Value) -> bool:
    found = case(value)
    return found is not None and found[0] in ("Some", "None")


def _inside(value: Value, part: Value) -> Value | None:
    pairs = _pairs(value)
    if pairs is not None:
        for key, item in pairs:  # a map of a thousand keys is looked into for each: printing them all is a last resort
            if key == part and type(key) is type(part):
                return item
        text = show(part)
        return next((item for key, item in pairs if show(key) == text), None)
    if isinstance(value, list):
        return value[part] if isinstance(part, int) and 0 <= part < len(value) else None
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    return None


def _pairs(value: Value) -> list[tuple[Value, Value]] | None:
    pairs = _elements(value, "#map")
    return None if pairs is None else [(pair[0], pair[1]) for pair in pairs if isinstance(pair, list)]


def _fields(value: Value) -> dict[str, Value]:
    """The named parts of a record or of a map with plain keys; nothing for any other value."""
    pairs = entries(value)
    if pairs is not None:
        plain = all(isinstance(key, (str, int)) for key, _ in pairs)
        return {show(key): item for key, item in pairs} if plain else {}
    if isinstance(value, dict) and not any(name.startswith("#") for name in value):
        return {printable(name): item for name, item in value.items()}
    return {}


def _elements(value: Value, kind: str) -> list[Value] | None:
    found = value.get(kind) if isinstance(value, dict) else None
    return found if isinstance(found, list) else None


def _is_bag(pairs: list[tuple[Value, Value]]) -> bool:
    """Messages with how many there are of each; a map from records to numbers reads well so too."""
    counts = all(isinstance(count, int) and not isinstance(count, bool) and count > 0 for _, count in pairs)
    return counts and all(isinstance(key, dict) for key, _ in pairs)


def _order(text: str) -> list[tuple[int, str]]:
    """A sort key that puts broker2 before broker10."""
    parts = re.split("([0-9]+)", text)
    return [(len(part), part) if position % 2 else (0, part) for position, part in enumerate(parts)]


def plural(count: int, word: str) -> str:
    """A number of things, for people: "1 state", "12,345 states"."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def shortened(text: str, most: int) -> str:
    """`text`, and of a longer one its beginning and end with how much was left out between them."""
    if len(text) <= most:
        return text
    first = most * 2 // 3
    return f"{text[:first]} ... ({len(text) - most:,} characters left out) ... {text[first - most :]}"
