"""Summary of the verdicts on a spec's mutants, over one or several of its models; and survivors that are explained.

The file of explained survivors is TOML: `"KEY" = "why nothing objects, or which property would be needed"`, and where
several share a reason a table `[[shared]]` with `why` and the `mutants`' keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.lang.errors import SpecError
from checker.mutate.judge import KILLED, PRECEDENCE, SURVIVED, UNDECIDED, UNREACHED, Verdict
from checker.mutate.mutants import function_of
from checker.verdicts import ExitCode

SHARED = "shared"  # the name of the tables with a reason for several mutants
_HINT = f'write "KEY" = "why", or [[{SHARED}]] with why = "..." and mutants = ["KEY", ...]'


def read_explained(path: Path) -> dict[str, str]:
    """Key -> why, of a file. Raises SpecError for one that is not written so."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"{path} is not TOML: {str(error)[:200]}", hint=_HINT) from None
    groups = found.pop(SHARED, [])
    reasons = list(found.items())
    for group in groups if isinstance(groups, list) else [groups]:
        if not isinstance(group, dict) or group.keys() != {"why", "mutants"} or not isinstance(group["mutants"], list):
            raise SpecError(f"{path}: a [[{SHARED}]] is not written as it should be", hint=_HINT)
        reasons += [(key, group["why"]) for key in group["mutants"]]
    explained: dict[str, str] = {}
    for key, why in reasons:
        if not isinstance(key, str) or not isinstance(why, str) or not why.strip():
            raise SpecError(f"{path}: {key} is not explained", hint=_HINT)
        if key in explained:
            raise SpecError(f"{path}: {key} is explained twice", hint="one reason is enough")
        explained[key] = why
    return explained


@dataclass(frozen=True)
class Outcome:
    """A mutant's verdict over the models: killed where one of them kills it. model: the one whose verdict it is.

    explained: why it survives or is undecided, where somebody has said so.
    """

    model: str
    found: Verdict
    explained: str = ""

    @property
    def verdict(self) -> str:
        return self.found.verdict


def weightiest_of(found: Mapping[tuple[str, str], Verdict]) -> dict[str, tuple[str, Verdict]]:
    """Key -> (model, its verdict) that counts over all models: of equals that of the model that was tried first."""
    chosen: dict[str, tuple[str, Verdict]] = {}
    for (model, key), verdict in found.items():
        if key not in chosen or PRECEDENCE.index(verdict.verdict) < PRECEDENCE.index(chosen[key][1].verdict):
            chosen[key] = (model, verdict)
    return chosen


class Summary:
    """Outcomes in the order of the mutants; `expected`: keys of those asked for, judged or not.

    models: in the order in which they were tried. stopped: why the run is not whole. stale: what is explained and
    needs not be. judged: verdicts of this run, which took `seconds`; those of earlier ones count as known.
    """

    def __init__(
        self,
        models: Sequence[str],
        expected: Sequence[str],
        found: Mapping[tuple[str, str], Verdict],
        stopped: str | None,
        explained: Mapping[str, str],
        known: Sequence[str],
        judged: int,
        seconds: float,
    ) -> None:
        """known: keys of all mutants, asked for or not."""
        self.models, self.expected, self.stopped = list(models), list(expected), stopped
        self.judged, self.seconds = judged, seconds
        self.outcomes: list[Outcome] = []
        weightiest = weightiest_of(found)
        for key in expected:
            if key in weightiest:
                model, verdict = weightiest[key]
                why = explained.get(key, "") if verdict.verdict in (SURVIVED, UNDECIDED) else ""
                self.outcomes.append(Outcome(model, verdict, why))
        self.stale = self._stale(explained, known)

    def _stale(self, explained: Mapping[str, str], known: Sequence[str]) -> list[str]:
        """Explained mutants that are killed, or that are none of a function that has mutants."""
        killed = {o.found.key for o in self.outcomes if o.verdict == KILLED}
        functions = {function_of(key) for key in known}
        gone = {key for key in explained if function_of(key) in functions} - set(known)
        return [key for key in explained if key in killed | gone]

    def of(self, verdict: str) -> list[Outcome]:
        """The outcomes with that verdict."""
        return [o for o in self.outcomes if o.verdict == verdict]

    @property
    def unexplained(self) -> list[Outcome]:
        return [o for o in self.of(SURVIVED) if not o.explained]

    @property
    def counts(self) -> dict[str, int]:
        """Verdict -> number of mutants."""
        return {verdict: len(self.of(verdict)) for verdict in PRECEDENCE}

    @property
    def rate(self) -> float:
        """Verdicts a second, the exploration of the originals counted in."""
        return self.judged / max(1e-9, self.seconds)

    def kills(self) -> dict[str, int]:
        """Judge that objects -> number of mutants."""
        names = [name for o in self.of(KILLED) for name in o.found.by]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def silent(self, properties: Sequence[str]) -> list[str]:
        """Those of a model's properties that objected to no mutant: others did so first, or they cannot fail."""
        heard = {name.removesuffix(UNREACHED) for name in self.kills()}
        return [name for name in dict.fromkeys(properties) if name not in heard]

    @property
    def exit_code(self) -> int:
        """A run that was stopped is incomplete: what survived so far may be killed by a model that was not tried."""
        if self.stopped is not None:
            return ExitCode.INCOMPLETE
        if self.unexplained:
            return ExitCode.VIOLATED
        undecided = any(not o.explained for o in self.of(UNDECIDED))
        return ExitCode.INCOMPLETE if undecided else ExitCode.HOLDS

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "models": self.models,
            "mutants": len(self.expected),
            **{verdict.replace(" ", "_"): count for verdict, count in self.counts.items()},
            "unexplained": [o.found.key for o in self.unexplained],
            "stale": self.stale,
            "kills": self.kills(),
            "stopped": self.stopped,
            "seconds": round(self.seconds, 2),
            "outcomes": [{"model": o.model, **o.found.to_json(), "explained": o.explained} for o in self.outcomes],
        }
