"""The modules that a spec is made from, and their text: a model's key is a digest of them."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.lang.declare import Declared, InstanceInfo
from checker.lang.marks import INSTANCE

STDLIB = sys.stdlib_module_names


def spec_modules(*starts: ModuleType) -> Iterator[ModuleType]:
    """The modules that a spec is made from: what `starts` see, leaving out the standard library and the checker."""
    queue, seen = list(starts), {m.__name__ for m in starts}
    while queue:
        module = queue.pop()
        yield module
        for value in vars(module).values():
            name = value.__name__ if isinstance(value, ModuleType) else _home(value)
            if name in seen or name not in sys.modules or name.startswith("checker.") or name.split(".")[0] in STDLIB:
                continue
            seen.add(name)
            queue.append(sys.modules[name])


def sources_of(*starts: ModuleType) -> dict[str, str]:
    """The text of every module a spec is made from, and its modules' plain values, which may come from elsewhere."""
    texts: dict[str, str] = {}
    for module in spec_modules(*starts):
        file = getattr(module, "__file__", None)
        if file is not None:
            plain = [
                (n, _plain(v)) for n, v in vars(module).items() if _plain(v) is not None and not n.startswith("__")
            ]
            text = Path(file).read_text(encoding="utf-8", errors="replace")
            texts[file] = texts.get(file, text) + repr(sorted(plain)) + _given(module)
    return texts


def _given(module: ModuleType) -> str:
    """The arguments of an instance; functions are identified by the text of the module that they stand in."""
    info = vars(module).get(INSTANCE)
    if not isinstance(info, InstanceInfo):
        return ""
    return repr(sorted((name, _plain(v) or getattr(v, "__qualname__", "")) for name, v in info.given.items()))


def _plain(value: Any) -> str | None:
    """A plain value as text, the same in every run; None for others, such as a tuple of actions."""
    if isinstance(value, tuple | frozenset):
        parts = [_plain(part) for part in value]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return f"{type(value).__name__}{known if isinstance(value, tuple) else sorted(known)}"
    return repr(value) if isinstance(value, int | str | enum.Enum) else None


def _home(value: Any) -> str | None:
    value = value.function if isinstance(value, Declared) else value
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else None
