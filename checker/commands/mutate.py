"""mutate: changes to a model's actions, one at a time, that no property or witness objects to."""

from __future__ import annotations

import sys
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.lang.errors import SpecError
from checker.options import SET, SETTING, cores, finite, load_model, new_file, show

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel
    from checker.mutate.judge import Verdict
    from checker.mutate.mutants import Mutant
    from checker.mutate.summary import Outcome, Summary
    from checker.report import ProgressLine

EXPLAINED = "survivors.toml"  # beside the file that lists the models


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@SET
@SETTING
@click.option("--only", multiple=True, metavar="TEXT",
              help="Only mutants whose key holds TEXT, or that change the action TEXT (repeatable).")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Mutants judged at a time (default: all cores).")
@click.option("--max-states", type=click.IntRange(1),
              help="A mutant with more is undecided (default: 4 times those of the model).")
@click.option("--time-limit-s", type=click.FloatRange(0), callback=finite, help="Stop after this many seconds in all.")
@click.option("--checkpoint", type=click.Path(path_type=Path), callback=new_file, metavar="FILE",
              help="Append each verdict to FILE, which is started anew.")
@click.option("--resume", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help="Go on from a FILE that --checkpoint wrote, and append to it.")
@click.option("--explained", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help=f"Survivors that are explained (default: {EXPLAINED} beside the models, if it is there).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress.")
def mutate(models: tuple[str, ...], changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Change MODEL's actions, one place at a time, and see whether a property or witness objects.

    Of several models of one spec, what one of them kills is not tried on the next. Where a single mutant is
    asked for, its trace is shown.

    Exit codes: 0 all killed, equivalent or explained, 1 a survivor is not explained, 3 stopped before the end, or
    a mutant is undecided.
    """
    from checker.mutate.summary import read_explained
    from checker.report import ProgressLine, print_json

    started = time.monotonic()
    bound = [load_model(model, changes, setting) for model in models]
    if len({model.spec.name for model in bound}) > 1:
        raise SpecError("these are models of several specs", mend="name models of one spec at a time")
    path = options["explained"] or Path(bound[0].spec.module.__file__ or "").with_name(EXPLAINED)
    explained = read_explained(path) if path.is_file() else {}
    with ProgressLine(quiet=options["quiet"]) as line:
        summary, trace = _Session(bound, explained, options, started, line).run()
    if options["as_json"]:
        print_json(summary.to_json())
        return summary.exit_code
    if trace is not None:
        show(trace)
    click.echo(summary_text(summary, path))
    return summary.exit_code


class _Session:
    """One run over some models."""

    def __init__(
        self, models: Sequence[BoundModel], explained: dict[str, str], options: dict[str, Any], started: float,
        line: ProgressLine,
    ) -> None:
        from checker.mutate.journal import Journal
        from checker.mutate.mutants import mutants_of

        self.models, self.explained, self.options, self.started, self.line = models, explained, options, started, line
        limit = options["time_limit_s"]
        self.deadline = None if limit is None else started + limit
        self.mutants: dict[str, list[Mutant]] = {}
        for model in models:
            model.bind()
            self.mutants[model.name] = [m for m in mutants_of(model) if self._wanted(model, m)]
        self.keys = list(dict.fromkeys(m.key for found in self.mutants.values() for m in found))
        if not self.keys:
            raise SpecError(f"no mutant of {models[0].name} is like {' or '.join(options['only'])}",
                            mend="name an action, or a part of a mutant's key")  # fmt: skip
        path = options["resume"] or options["checkpoint"]
        keys = {model.name: model.key() for model in models}
        self.journal = Journal(path, keys, resume=options["resume"] is not None)
        self.earlier = set(self.journal.found)
        self.trace: Any = None

    def _wanted(self, model: BoundModel, mutant: Mutant) -> bool:
        names = [model.model.actions[n].name for n in mutant.actions]
        return not self.options["only"] or any(text in mutant.key or text in names for text in self.options["only"])

    def run(self) -> tuple[Summary, Any]:
        """(what the verdicts come to, the trace of a single mutant)."""
        from checker.mutate.summary import Summary

        stopped = None
        for model in self.models:
            stopped = stopped or self._model(model)
        seconds = time.monotonic() - self.started
        names = [model.name for model in self.models]
        new = {k: v for k, v in self.journal.found.items() if k not in self.earlier}
        return Summary(names, self.keys, self.journal.found, self.explained, stopped, len(new), seconds), self.trace

    def _model(self, model: BoundModel) -> str | None:
        """Judge the mutants that no model before has killed. Gives what stopped it, or None."""
        from checker.explicit.check import Options, check
        from checker.explicit.results import Limits, default_memory
        from checker.mutate.judge import KILLED, Original
        from checker.mutate.run import run

        killed = {key for (_, key), found in self.journal.found.items() if found.verdict == KILLED}
        mutants = [
            m for m in self.mutants[model.name]
            if m.key not in killed and (model.name, m.key) not in self.journal.found
        ]  # fmt: skip
        if not mutants:
            return None
        model.bind()
        jobs = min(self.options["jobs"] or cores(), len(mutants))
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        report = check(model, Options(threads=cores(), limits=Limits(time_limit_s=left)), started=time.perf_counter(),
                       progress=self.line.search)  # fmt: skip
        if report.result.stopped is not None:
            return report.result.stopped
        original = Original(report, self.options["max_states"], default_memory() // jobs)
        counts: Counter[str] = Counter()
        begun = time.monotonic()

        def found(verdict: Verdict) -> None:
            counts[verdict.verdict] += 1
            self.trace = verdict.trace or self.trace
            self.journal.add(model.name, verdict)

        def progress() -> None:
            self.line.mutants(model.name, counts.total(), len(mutants), counts, time.monotonic() - begun)

        return run(original, mutants, jobs=jobs, deadline=self.deadline, traced=len(self.keys) == 1, found=found,
                   progress=progress)  # fmt: skip


# What is printed.


def summary_text(summary: Summary, explained: Path) -> str:
    """Survivors in full, then how many mutants each property kills, counts, and the verdict as the last line."""
    from checker.mutate.judge import INVALID, NOT_EXERCISED, SURVIVED, UNDECIDED
    from checker.report import table
    from traces.values import plural

    lines = [", ".join(summary.models)]
    groups = {
        "survived": summary.unexplained,
        "undecided": [o for o in summary.of(UNDECIDED) if not o.explained],
        "explained": [o for v in (SURVIVED, UNDECIDED) for o in summary.of(v) if o.explained],
        "not exercised": summary.of(NOT_EXERCISED),
        "invalid (cannot be compiled)": summary.of(INVALID),
    }
    if len(summary.outcomes) == 1:
        groups[summary.outcomes[0].verdict] = summary.outcomes
    for title, outcomes in groups.items():
        if outcomes:
            lines += ["", f"{title}:", *[line for o in outcomes for line in _told(o, len(summary.models) > 1)]]
    kills = sorted(summary.kills().items(), key=lambda item: -item[1])
    if kills:
        lines += ["", *table([("what objects", "mutants"), *[(name, f"{n:,}") for name, n in kills]], (False, True))]
    lines += [f"note: {key} is explained in {explained}, and needs not be" for key in summary.stale]
    counts = ", ".join(f"{n:,} {verdict}" for verdict, n in summary.counts.items() if n)
    lines += ["", f"{plural(len(summary.expected), 'mutant')}: {counts or 'none judged'}",
              f"{summary.judged:,} judged in {summary.seconds:.1f} s, {summary.rate:.1f} mutants/s"]  # fmt: skip
    return "\n".join([*lines, "", _last(summary)])


def _told(outcome: Outcome, several: bool) -> list[str]:
    found = outcome.found
    model = f" ({outcome.model})" if several else ""
    width = click.get_terminal_size()[0] if sys.stdout.isatty() else 10_000
    texts = [f"{found.place}{model}  {found.key}", f"    {found.reason}", f"    {outcome.explained}"]
    return [line for text in texts if text.strip()
            for line in textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="      ")]  # fmt: skip


def _last(summary: Summary) -> str:
    from traces.values import plural

    missing = len(summary.expected) - len(summary.outcomes)
    if summary.unexplained:
        verdict, color = f"survived: {plural(len(summary.unexplained), 'mutant')} that nothing objects to", "red"
    elif summary.exit_code:
        verdict, color = f"incomplete: {summary.stopped or 'some mutants are undecided'}", "yellow"
    else:
        verdict, color = "no mutant survives unexplained", "green"
    rest = f" ({summary.stopped}: {plural(missing, 'mutant')} not judged)" if summary.stopped else ""
    return click.style(verdict, fg=color, bold=True) + rest
