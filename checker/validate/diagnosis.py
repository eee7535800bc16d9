"""The reason for a rejection: the nearest candidate, and the `require` that refused it or where it leads elsewhere."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.explicit.kernel.columns import codes_of
from checker.explicit.kernel.observed_steps import ANY
from checker.lang.ir import EventKind
from checker.reference.replay import difference
from checker.reference.step import Reference, StepResult
from checker.reference.trace import line_of, location
from checker.running.arrays import Bits, Longs
from checker.validate.candidates import HIGH, LOW, Candidates
from checker.validate.events import LOOK, START

if TYPE_CHECKING:
    from checker.validate.reader import Recorded
    from checker.validate.validator import Rejection, Validator

_ENDED = {EventKind.REQUIRE: "is refused by", EventKind.CUT: "is cut by", EventKind.ERROR: "breaks down in"}


@dataclass(frozen=True)
class Refusal:
    """A text on what is nearest to the event, and the candidate that it describes, as ITF (None: an initial state)."""

    reason: str
    nearest: dict[str, Any] | None


class Diagnosis:
    """Explains rejections of one validator's traces. Slow: only for what is reported."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._numbers = validator.numbers
        self._model = validator.model
        self._type = validator.model.state_type
        self._reference = Reference(validator.model)

    def refusal(self, trace: Recorded, rejection: Rejection) -> Refusal:
        """The reason that `trace` cannot continue at its event `rejection.event`."""
        kind, numbers = trace.events[rejection.event]
        codes, known = self._validator.reader.states.rows(np.array([numbers]))
        action = self._validator.reader.kinds.actions[kind]
        if action in (LOOK, START):
            candidate, other = self._nearest(rejection.before, codes, known)
            what = "this is not an initial state" if action == START else "the state is not what was seen"
            shown = None if action == START else self._itf(rejection.before, candidate)
            return Refusal(f"{what}: {other}", shown)
        before = rejection.before
        return self._elsewhere(before, kind, action, codes, known) or self._refused(before, kind, action)

    def _itf(self, candidates: Candidates, row: int) -> dict[str, Any]:
        found: dict[str, Any] = self._type.itf(self._type.decode(self._shown(candidates, row).tolist()))
        return found

    def _shown(self, candidates: Candidates, row: int, codes: Longs | None = None, known: Bits | None = None) -> Longs:
        """The codes of a candidate with ordinals as they were recorded: as `codes` where these agree, else next to."""
        layout = self._numbers.layout
        found: Longs = codes_of(layout, candidates.words[row : row + 1])[0]
        for sort in self._numbers.sorts:
            for leaf in sort.leaves:
                if not found[leaf]:
                    continue
                column = sort.first + int(found[leaf]) - 1
                low, high = int(candidates.low[row, column]), int(candidates.high[row, column])
                wish = found[leaf] - 1 if low == LOW else (low + 1) // 2
                if codes is not None and known is not None and known[leaf] and codes[leaf]:
                    wish = codes[leaf] - 1
                least = (low + 1) // 2 if low != LOW else int(wish)
                most = high // 2 if high != HIGH else int(wish)
                found[leaf] = 1 + max(least, min(int(wish), max(least, most)))
        return found

    def _nearest(self, candidates: Candidates, codes: Longs, known: Bits) -> tuple[int, str]:
        """(the candidate that differs least from what was observed, where it differs)."""
        best: tuple[int, int, str] | None = None
        for row in range(len(candidates)):
            shown = self._shown(candidates, row, codes[0], known[0])
            other = np.where(known[0], codes[0], shown)
            count = int((shown != other).sum())
            if best is None or count < best[0]:
                best = count, row, self._difference(shown, other)
        assert best is not None, "a trace dies out of some candidate"
        return best[1], best[2]

    def _difference(self, one: Longs, other: Longs) -> str:
        try:
            return difference(self._model, self._type.decode(one.tolist()), self._type.decode(other.tolist()))
        except (ValueError, IndexError, KeyError, TypeError):  # what was observed is part of no value
            leaves = self._numbers.layout.leaves
            return ", ".join(leaves[i].path.lstrip(".") for i in np.flatnonzero(one != other).tolist())

    def _elsewhere(self, before: Candidates, kind: int, action: int, codes: Longs, known: Bits) -> Refusal | None:
        """The event can be taken, and leads elsewhere; None where it cannot be taken."""
        validator = self._validator
        anything = np.zeros((len(before), 2 * self._numbers.layout.words), np.uint64)
        found = validator.observed_steps.follow(before.words, np.full(len(before), action, np.int64), anything)
        kinds = np.full(len(found.sources), kind)
        rows = np.flatnonzero(validator.reader.kinds.fits(kinds, found.instances))
        origin = before.take(found.sources[rows])
        asked = validator.reader.kinds.members(kinds[rows], found.instances[rows], codes.shape[1])
        if asked is not None:
            narrowed, agree = self._numbers.observed(origin.take(asked[0]), asked[1], asked[2], plain=True)
            rows, origin = rows[agree], narrowed.take(agree)
        if not len(rows):
            return None
        after = self._numbers.after(origin, np.ascontiguousarray(found.words[rows]), found.survivors[rows])
        nearest, where = self._nearest(after, codes, known)
        taken = self._instance(int(found.instances[rows[nearest]]))
        what = f"no action leads to this state; the nearest, {taken}, " if action == ANY else ""
        return Refusal(f"{what}leads elsewhere: {where}", self._itf(before, int(found.sources[rows[nearest]])))

    def _instance(self, instance: int) -> str:
        return self._reference.actions[self._reference.instances[instance][0]].name

    def _refused(self, before: Candidates, kind: int, action: int) -> Refusal:
        """The event cannot be taken: the guard furthest down its text that refused a candidate."""
        best: tuple[int, int, str] = (-1, 0, "")
        for row in range(len(before)):
            rank, reason = self._guard(before, row, kind, action)
            if rank > best[0]:
                best = rank, row, reason
        return Refusal(best[2], self._itf(before, best[1]))

    def _guard(self, before: Candidates, row: int, kind: int, action: int) -> tuple[int, str]:
        """(how far the event gets in one candidate, what ends it there)."""
        codes = codes_of(self._numbers.layout, before.words[row : row + 1])
        state = self._type.decode(codes[0].tolist())
        best = (0, self._absent(action))
        for instance in self._possible(before.take(np.array([row])), kind, action).tolist():
            result = self._reference.step(state, instance)
            if result.ended in _ENDED:
                best = max(best, (result.line, self._said(result, instance, action)), key=lambda found: found[0])
        return best

    def _said(self, result: StepResult, instance: int, action: int) -> str:
        assert result.ended is not None
        who = f"{self._instance(instance)} " if action == ANY else ""
        return f"{who}{_ENDED[result.ended]} {line_of(result)} ({location(result.file, result.line)})"

    def _absent(self, action: int) -> str:
        parameters = [] if action == ANY else self._reference.parameters[action]
        paths = [(p.name, ast.unparse(p.path)) for p in parameters if p.path is not None]
        members = "; ".join(f"{name} is not a member of {path} there" for name, path in paths)
        return members or "no action can be taken there"

    def _possible(self, before: Candidates, kind: int, action: int) -> Longs:
        """The instances that the event may be in a candidate."""
        kinds = self._validator.reader.kinds
        every = np.array([i for i, (a, _) in enumerate(self._reference.instances) if action in (ANY, a)], np.int64)
        every = every[kinds.fits(np.full(len(every), kind), every)]
        asked = kinds.members(np.full(len(every), kind), every, len(self._numbers.layout.leaves))
        if asked is None:
            return every
        repeated = before.take(np.zeros(len(every), np.int64))
        _, agree = self._numbers.observed(repeated.take(asked[0]), asked[1], asked[2], plain=True)
        return every[agree]
