"""Verdicts on mutants, a line of JSON each, appended as they are found: an interrupted run continues from there.

What was said while implementation, tests or models were others is not a verdict any more, but a hint: who objected to a
mutant then is asked first.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.conftest import ROOT

RESTS_ON = (
    "impl/kraft", "impl/adapters", "spec/kraft", "checker/lang", "checker/conform", "tests/impl", "tests/conform",
)  # fmt: skip
"""Directories. The tool itself is none of them: what it asks next rests on what it was told."""


def digest() -> str:
    """Of all that a verdict rests on."""
    found = hashlib.sha256()
    for directory in RESTS_ON:
        for path in sorted((ROOT / directory).rglob("*.py")):
            found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


class Verdicts:
    """found: mutant's key -> judge -> objection, or None where it has none. hints: key -> (judge, objection)."""

    def __init__(self, path: Path) -> None:
        self.found: dict[str, dict[str, str | None]] = {}
        self.hints: dict[str, tuple[str, str]] = {}
        self._path, self._digest = path, digest()
        for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
            if not line.endswith("\n"):  # a run was killed while it wrote
                continue
            entry = json.loads(line)
            if entry["digest"] == self._digest:
                self.found.setdefault(entry["key"], {})[entry["judge"]] = entry["objection"]
            elif entry["objection"] is not None:
                self.hints[entry["key"]] = (entry["judge"], entry["objection"])

    def add(self, key: str, judge: str, objection: str | None) -> None:
        self.found.setdefault(key, {})[judge] = objection
        entry = {"digest": self._digest, "key": key, "judge": judge, "objection": objection}
        with self._path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def killer(self, key: str) -> tuple[str, str] | None:
        """(judge, objection) of a mutant that is killed."""
        told = self.found.get(key, {}).items()
        return next(((judge, objection) for judge, objection in told if objection is not None), None)
