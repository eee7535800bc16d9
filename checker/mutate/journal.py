"""Verdicts in a file, a line of JSON each, appended as they are found: a run that was killed continues from there.

The first line says of which models, by digests of all that they are made from.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from checker.errors import cannot_write
from checker.lang.errors import SpecError
from checker.mutate.judge import KILLED, UNDECIDED, Verdict

_FORMAT = "fencepost mutate 1"
_ANEW = "--checkpoint FILE starts a new one"


class Journal:
    """Verdicts by model and key; `path` None: kept in memory only."""

    def __init__(self, path: Path | None, models: Mapping[str, str], *, resume: bool) -> None:
        """models: name -> `BoundModel.key()`. resume: continue from what `path` holds, else overwrite it.

        Raises SpecError for a file that cannot be resumed from, or is of other models.
        """
        self.found: dict[tuple[str, str], Verdict] = {}
        self._path = path
        self._models = dict(models)
        if path is None:
            return
        lines = self._resumed(path) if resume else []
        for number, line in enumerate(lines, start=2):
            model, verdict = _entry(path, number, line)
            if verdict.verdict != UNDECIDED:  # those are tried again: another limit may decide them
                self.found[model, verdict.key] = verdict
        if not lines:
            path.write_text(json.dumps({"format": _FORMAT, "models": self._models}) + "\n", encoding="utf-8")

    def _resumed(self, path: Path) -> list[str]:
        """The lines after the head. What a killed run left of its last line is cut off."""
        known, lines, size_bytes = _read(path)
        if known.keys() != self._models.keys():
            raise SpecError(f"{path} holds verdicts on other models: {', '.join(known)}", hint=_ANEW)
        changed = [name for name, key in self._models.items() if known[name] != key]
        if changed:
            hint = f"{_ANEW}; --killers {path} has it try first the models that killed before"
            raise SpecError(f"{', '.join(changed)} changed since {path} was written", hint=hint)
        with path.open("r+b") as file:
            file.truncate(size_bytes)
        return lines

    def add(self, model: str, verdict: Verdict) -> None:
        """Keep a verdict. Raises FencepostError for a file that cannot be written."""
        self.found[model, verdict.key] = verdict
        if self._path is not None:
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"model": model, **verdict.to_json()}) + "\n")
            except OSError as error:
                raise cannot_write(self._path, error, f"continue with --resume {self._path}") from None


def killers(path: Path) -> dict[str, set[str]]:
    """Model -> keys of the mutants that it killed in the run that wrote `path`, of whichever version of the spec.

    Raises SpecError for a file that holds no verdicts.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    _, lines, _ = _read(path)
    for number, line in enumerate(lines, start=2):
        model, verdict = _entry(path, number, line)
        if verdict.verdict == KILLED:
            found[model].add(verdict.key)
    return found


def _read(path: Path) -> tuple[dict[str, str], list[str], int]:
    """(digests of the models, the lines after the head, bytes of all that is whole). Raises SpecError."""
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    try:
        head, *lines = whole.decode("utf-8").splitlines()
        known = json.loads(head)
    except (ValueError, RecursionError):
        raise SpecError(f"{path} holds no verdicts on mutants", hint=_ANEW) from None
    if not isinstance(known, dict) or known.get("format") != _FORMAT or not isinstance(known.get("models"), dict):
        raise SpecError(f"{path} holds no verdicts on mutants", hint=_ANEW)
    return known["models"], lines, len(whole)


def _entry(path: Path, number: int, line: str) -> tuple[str, Verdict]:
    """The model and the verdict of a line. Raises SpecError."""
    try:
        entry = json.loads(line)
        return entry["model"], Verdict.from_json({name: value for name, value in entry.items() if name != "model"})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        hint = "cut the file off before that line, or start over with --checkpoint FILE"
        raise SpecError(f"line {number} of {path} is damaged: it is not a verdict", hint=hint) from None
