"""Verdicts in a file, a line of JSON each, appended as they are found: a run that was killed continues from there.

The first line says of which models, by digests of all that they are made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from checker.errors import cannot_write
from checker.lang.errors import SpecError
from checker.mutate.judge import UNDECIDED, Verdict

_FORMAT = "fencepost mutate 1"


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
        lines = self._read(path) if resume else []
        for number, line in enumerate(lines, start=2):
            try:
                entry = json.loads(line)
                verdict = Verdict.from_json({name: value for name, value in entry.items() if name != "model"})
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                hint = "cut the file off before that line, or start over with --checkpoint FILE"
                raise SpecError(f"line {number} of {path} is damaged: it is not a verdict", hint=hint) from None
            if verdict.verdict != UNDECIDED:  # those are tried again: another limit may decide them
                self.found[entry["model"], verdict.key] = verdict
        if not lines:
            path.write_text(json.dumps({"format": _FORMAT, "models": self._models}) + "\n", encoding="utf-8")

    def _read(self, path: Path) -> list[str]:
        """The lines after the head. What a killed run left of its last line is cut off."""
        hint = "--checkpoint FILE starts a new one"
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        try:
            head, *lines = whole.decode("utf-8").splitlines()
            known = json.loads(head)
        except (ValueError, RecursionError):
            raise SpecError(f"{path} holds no verdicts on mutants", hint=hint) from None
        if not isinstance(known, dict) or known.get("format") != _FORMAT or not isinstance(known.get("models"), dict):
            raise SpecError(f"{path} holds no verdicts on mutants", hint=hint)
        if known["models"].keys() != self._models.keys():
            raise SpecError(f"{path} holds verdicts on other models: {', '.join(known['models'])}", hint=hint)
        changed = [name for name, key in self._models.items() if known["models"][name] != key]
        if changed:
            raise SpecError(f"{', '.join(changed)} changed since {path} was written", hint=hint)
        if len(whole) < len(text):
            with path.open("r+b") as file:
                file.truncate(len(whole))
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
