"""One run of mutation over one or several models of a spec."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from checker.explicit.check import CheckOptions, check
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel
from checker.mutate.journal import Journal, killers
from checker.mutate.judge import KILLED, Original, Verdict
from checker.mutate.mutants import Mutant, function_of, mutants_of
from checker.mutate.run import run
from checker.mutate.summary import Summary, weightiest_of
from checker.running.limits import Limits, Progress
from checker.running.memory import default_memory
from traces import Trace

SCOUTS = 5
MANY_MODELS = 8
Judging = Callable[[str, int, int, Mapping[str, int], float], None]
"""Told while mutants are judged: model, how many are, of how many, how many by verdict, seconds."""


@dataclass(frozen=True)
class MutationOptions:
    """Options of a session.

    only: texts of which a mutant's key must hold one, or names of actions. jobs: mutants at a time; threads: to
    explore the models with. max_states: of a mutant (None: see `Original`). file: where verdicts are kept, with
    resume those that are there already. killers: such a file of an earlier version of the spec, or another run: what a
    model killed then it is tried on first. explained: key -> why a mutant may survive.
    """

    only: Sequence[str] = ()
    jobs: int = 1
    threads: int = 1
    max_states: int | None = None
    time_limit_s: float | None = None
    file: Path | None = None
    resume: bool = False
    killers: Path | None = None
    explained: Mapping[str, str] = field(default_factory=dict)


class Session:
    """Judges the mutants of all models. trace: that of the mutant, where there is a single one.

    Of many models the first half is tried in three passes, so that most mutants meet early what kills them: one mutant
    in `SCOUTS` of each function; then the others on the models that killed such a one of their function; then all.
    Before these, each is tried on the models that killed it in an earlier run, if one is named.
    """

    def __init__(
        self,
        models: Sequence[BoundModel],
        options: MutationOptions,
        searching: Callable[[Progress], None],
        judging: Judging,
    ) -> None:
        """Raises SpecError where there is nothing to judge, or for a file of verdicts that does not fit."""
        if len({model.spec.name for model in models}) > 1:
            raise SpecError("these are models of several specs", hint="name models of one spec at a time")
        self.models, self.options, self.searching, self.judging = models, options, searching, judging
        self.trace: Trace | None = None
        self._started = time.monotonic()
        self._deadline = None if options.time_limit_s is None else self._started + options.time_limit_s
        self._mutants = {model.name: self._all(model) for model in models}
        self._known = list(dict.fromkeys(m.key for found in self._mutants.values() for m in found))
        wanted = {m.key for model in models for m in self._mutants[model.name] if self._wanted(model, m)}
        self._keys = [key for key in self._known if key in wanted]
        if not self._keys:
            raise SpecError(f"no mutant of {models[0].name} is like {' or '.join(options.only)}",
                            hint="name an action, or a part of a mutant's key")  # fmt: skip
        digests = {model.name: model.key() for model in models}
        self._journal = Journal(options.file, digests, resume=options.resume)
        self._before = len(self._journal.found)
        self._killed = killers(options.killers) if options.killers is not None else {}

    @staticmethod
    def _all(model: BoundModel) -> list[Mutant]:
        model.bind()
        return mutants_of(model)

    def _wanted(self, model: BoundModel, mutant: Mutant) -> bool:
        names = [model.model.actions[n].name for n in mutant.actions]
        return not self.options.only or any(text in mutant.key or text in names for text in self.options.only)

    def run(self) -> Summary:
        """Judge what is not known yet."""
        stopped = None
        for model, chosen in self._passes():
            stopped = stopped or self._model(model, chosen)
        return Summary(
            [model.name for model in self.models], self._keys, self._journal.found, stopped,
            self.options.explained, self._known,
            len(self._journal.found) - self._before, time.monotonic() - self._started,
        )  # fmt: skip

    def _passes(self) -> Iterator[tuple[BoundModel, set[str]]]:
        """(a model, keys to be judged on it) in order: of each mutant and model once or more."""
        for model in self.models:
            yield model, self._killed.get(model.name, set()).intersection(self._keys)
        if len(self.models) >= MANY_MODELS:
            first = self.models[: len(self.models) // 2]
            functions = [list(group) for _, group in groupby(self._keys, function_of)]
            scouts = {key for keys in functions for key in keys[::SCOUTS]}
            yield from ((model, scouts) for model in first)
            yield from ((model, self._alike_killed(model)) for model in first)
        yield from ((model, set(self._keys)) for model in self.models)

    def _alike_killed(self, model: BoundModel) -> set[str]:
        """The keys of all mutants of the functions of which this model killed one."""
        found = self._journal.found.items()
        functions = {function_of(key) for (name, key), v in found if name == model.name and v.verdict == KILLED}
        return {key for key in self._keys if function_of(key) in functions}

    def _model(self, model: BoundModel, chosen: set[str]) -> str | None:
        """Judge those of the chosen mutants that no model has killed yet. Gives what stopped it, or None."""
        known = self._journal.found
        decided = {key for (name, key), v in known.items() if name == model.name or v.verdict == KILLED}
        mutants = [m for m in self._mutants[model.name] if m.key in chosen - decided]
        if not mutants:
            return None
        model.bind()
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        how = CheckOptions(threads=self.options.threads, limits=Limits(time_limit_s=left))
        report = check(model, how, started=time.perf_counter(), progress=self.searching)
        if report.stopped is not None:
            return report.stopped
        jobs = min(self.options.jobs, len(mutants))
        original = Original(report, mutants, self.options.max_states, default_memory() // jobs)
        counts: Counter[str] = Counter()
        begun = time.monotonic()

        def found(verdict: Verdict) -> None:
            counts[verdict.verdict] += 1
            self.trace = verdict.trace or self.trace
            self._journal.add(model.name, verdict)

        def progress() -> None:
            self.judging(model.name, counts.total(), len(mutants), counts, time.monotonic() - begun)

        so_far = {key: verdict.verdict for key, (_, verdict) in weightiest_of(known).items()}
        return run(original, mutants, jobs=jobs, deadline=self._deadline, traced=len(self._keys) == 1, so_far=so_far,
                   found=found, progress=progress)  # fmt: skip
