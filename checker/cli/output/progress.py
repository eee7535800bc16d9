"""Progress of long work, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from checker.cli.output.printing import count
from traces.values import plural

if TYPE_CHECKING:
    from checker.conform.product import Progress as ProductProgress
    from checker.explicit.diff import Compared
    from checker.explicit.export import Written
    from checker.explicit.search.random_walks import WalkProgress
    from checker.running.deadline import Stage
    from checker.running.limits import Progress
    from checker.symbolic.induction import Progress as ProofProgress
    from checker.validate.corpus import Summary

FIRST_LINE_S, LONGEST_GAP_S, TERMINAL_S = 1.0, 60.0, 0.1


class ProgressLine:
    """Work under way, on standard error: one line updated on a terminal, else plain lines at growing gaps."""

    def __init__(self, *, quiet: bool = False, label: str = "") -> None:
        """quiet: show nothing. label: names the work where a command does several things, first on every line."""
        self._quiet = quiet
        self._label = [label] * bool(label)
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = FIRST_LINE_S
        self._gap = FIRST_LINE_S
        self._shown = False
        self._before: tuple[float, int] | None = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._shown and self._terminal:
            click.echo("\r\033[K", nl=False, err=True)

    def search(self, progress: Progress) -> None:
        """Show how far a search is."""
        self._show(progress.seconds, progress.generated, lambda rate: [
            f"level {progress.depth}", f"{count(progress.generated)} generated", f"{count(progress.distinct)} distinct",
            f"{rate}/s", f"{progress.seconds:.0f} s", f"frontier {count(progress.frontier)}",
            *_memory_or_tasks(progress),
        ])  # fmt: skip

    def walks(self, made: WalkProgress) -> None:
        """Show how far random walks are."""
        self._show(made.seconds, made.steps, lambda rate: [
            f"{made.walks:,} walks", f"{made.steps:,} steps", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def proof(self, made: ProofProgress) -> None:
        """Show how far a proof is."""
        self._show(made.seconds, made.done, lambda rate: [
            f"{made.done:,} of {made.total:,} queries", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def unrolling(self, made: ProofProgress) -> None:
        """Show how far an unrolling is."""
        self._show(made.seconds, made.done, lambda _: [f"{made.done} of {made.total} steps", f"{made.seconds:.0f} s"])

    def comparison(self, made: Compared) -> None:
        """Show how far the comparison of two searches is."""
        self._show(made.seconds, made.done, lambda rate: [
            f"{count(made.done)} of {count(made.total)} states compared", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def mutants(self, model: str, judged: int, total: int, counts: Mapping[str, int], seconds: float) -> None:
        """Show how far a model's mutants are. counts: by verdict."""
        self._show(seconds, judged, lambda _: [
            f"{model}: {judged:,} of {total:,} mutants", *[f"{n:,} {verdict}" for verdict, n in counts.items() if n],
            f"{judged / max(1e-9, seconds):.1f}/s", f"{seconds:.0f} s",
        ])  # fmt: skip

    def stage(self, made: Stage) -> None:
        """Show how far work before or after a search is."""
        of = "" if made.total is None else f" of {count(made.total)}"
        self._show(made.seconds, made.done, lambda rate: [
            f"{made.name}: {count(made.done)}{of} {made.what}", f"{made.seconds:.0f} s",
            f"{made.memory_bytes / 2**30:.2f} GiB",
        ])  # fmt: skip

    def written(self, done: Written) -> None:
        """Show how far an export is."""
        self._show(done.seconds, done.rows, lambda rate: [
            f"{done.table}: {count(done.rows)} rows", f"{rate}/s", f"{done.seconds:.0f} s",
        ])  # fmt: skip

    def product(self, made: ProductProgress) -> None:
        """Show how far the exploration of a spec and an implementation is."""
        if made.retraced:
            self._show(made.seconds, made.driven, lambda _: [
                f"going back to level {made.depth}", f"{count(made.retraced)} pairs reached", f"{made.seconds:.0f} s",
            ])  # fmt: skip
            return
        self._show(made.seconds, made.driven, lambda rate: [
            f"level {made.depth}", f"{count(made.driven)} transitions driven", f"{count(made.pairs)} pairs",
            f"{rate}/s", f"{made.seconds:.0f} s", f"{count(made.left)} of the level to go",
        ])  # fmt: skip

    def corpus(self, found: Summary) -> None:
        """Show how far the validation of a corpus is."""
        self._show(found.seconds, found.events, lambda rate: [
            f"{found.traces:,} traces", f"{count(found.events)} events", f"{rate}/s", f"{found.seconds:.0f} s",
            f"{found.counts['rejected']:,} rejected",
        ])  # fmt: skip

    def tasks(self, done: int, every: int, seconds: float) -> None:
        """Show how far a job of a cluster is."""
        self._show(seconds, done, lambda _: [f"{done} of {plural(every, 'task')}", f"{seconds:.0f} s"])

    def _show(self, seconds: float, done: int, parts: Callable[[str], list[str]]) -> None:
        since, before = self._before = self._before or (seconds, done)
        if self._quiet or seconds < self._next:
            return
        shown = self._label + parts(count(int((done - before) / max(1e-9, seconds - since))))
        self._before = (seconds, done)
        self._shown = True
        if self._terminal:
            self._next = seconds + TERMINAL_S
            while len(", ".join(shown)) >= _columns_of_stderr():  # a line that wraps could not be updated
                shown.pop()
            click.echo(f"\r\033[K{', '.join(shown)}", nl=False, err=True)
        else:
            self._gap = min(LONGEST_GAP_S, self._gap * 1.5)
            self._next = seconds + self._gap
            click.echo(", ".join(shown), err=True)


def _memory_or_tasks(progress: Progress) -> list[str]:
    if progress.tasks is None:
        return [f"{progress.memory_bytes / 2**30:.2f} GiB", f"{count(progress.queue)} of the frontier to go"]
    done, tasks = progress.tasks
    return [f"{progress.sent_bytes / 2**20:,.1f} MiB shuffled", f"{done} of {tasks} tasks done"]


def _columns_of_stderr() -> int:
    with suppress(OSError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
        if columns:
            return max(20, columns)
    return 80
