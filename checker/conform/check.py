"""The conformance of an implementation to a model: the exploration of their product, and what it means."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.conform.checkpoint import Checkpoint
from checker.conform.divergence import Divergence, reproduce
from checker.conform.product import Product, Progress
from checker.conform.spec_side import kernel_of
from checker.conform.system import System
from checker.conform.worker import BEGIN, Counts, Worker
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.breadth_first import search
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Budget
from checker.lang.errors import SpecError
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.running.interrupts import interrupts
from checker.running.limits import Limits
from checker.running.limits import Progress as SearchProgress
from checker.running.memory import default_memory, without_collection
from checker.running.pool import Work, team
from checker.verdicts import CONFORMS, DIVERGES, INCOMPLETE, INTERRUPTED, VACUOUS, exit_code
from traces import Trace

UNPROBED = "without messages that are not under way"
SHARE_ALONE = 0.1  # of the time limit: what the search of the spec may take


@dataclass(frozen=True)
class ConformOptions:
    """Options of an exploration. jobs: processes. memory_bytes: of all together; None: 80 % of what is available.

    checkpoint: a directory to which every whole level is saved; resume: one from which to go on, and to save to.
    probes: messages that are not under way are tried, too.
    """

    jobs: int = 1
    max_depth: int | None = None
    time_limit_s: float | None = None
    memory_bytes: int | None = None
    checkpoint: Path | None = None
    resume: Path | None = None
    probes: bool = True


@dataclass
class Report:
    """Results of an exploration. name: of the implementation. before: steps driven before it was resumed.

    states, transitions: of the spec alone, None where its search was not finished. pairs, depth, receivers, probes: as
    in `Product`. peak_memory_bytes: most that the exploration was seen to hold, in all processes. seconds: spec
    (compile and search), product, total. probed: messages that are not under way were tried.
    """

    model: BoundModel
    name: str
    counts: Counts
    before: int
    pairs: int
    depth: int
    receivers: int
    probes: int
    states: int | None
    transitions: int | None
    stopped: str | None
    divergence: Divergence | None
    peak_memory_bytes: int
    seconds: dict[str, float]
    probed: bool

    @property
    def never(self) -> list[str]:
        """Actions that the spec never takes."""
        names = [action.name for action in self.model.model.actions]
        return [name for name, driven in zip(names, self.counts.driven, strict=True) if not driven]

    @property
    def verdict(self) -> str:
        """Precedence: diverges, incomplete, vacuous, conforms."""
        if self.divergence is not None:
            return DIVERGES
        if self.stopped is not None:
            return INCOMPLETE
        return VACUOUS if self._missed else CONFORMS

    @property
    def reason(self) -> str:
        """The reason for the verdict."""
        if self.divergence is not None:
            return self.divergence.reason
        if self.stopped is not None:
            return self.stopped
        return "; ".join([*self._missed, *[UNPROBED] * (not self.probed)])

    @property
    def _missed(self) -> list[str]:
        """What of the spec never happened."""
        covered = (self.counts.states, self.counts.transitions)
        missed = self.states is not None and covered != (self.states, self.transitions)
        never = [f"the spec never takes {', '.join(self.never)}"] * bool(self.never)
        return [*never, *["not all of the spec was covered"] * missed]

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    @property
    def traces(self) -> list[Trace]:
        return [self.divergence.trace] if self.divergence is not None else []

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        counts = self.counts
        names = [action.name for action in self.model.model.actions]
        columns = zip(names, counts.driven, counts.tried, counts.nothing, strict=True)
        return {
            "model": self.model.name,
            "implementation": self.name,
            "constants": {name: to_itf(value) for name, value in self.model.constants.items()},
            "verdict": self.verdict,
            "reason": self.reason,
            "pairs": self.pairs,
            "depth": self.depth,
            "driven": sum(counts.driven),
            "driven_before": self.before,
            "refusals": sum(counts.tried),
            "receivers": self.receivers,
            "probes": self.probes if self.probed else None,
            "cut": counts.cut,
            "outside": counts.outside,
            "spec": {
                "states": self.states, "states_covered": counts.states,
                "transitions": self.transitions, "transitions_covered": counts.transitions,
            },
            "actions": [
                {"name": name, "driven": driven, "refusals": tried, "nothing_to_try": nothing}
                for name, driven, tried, nothing in columns
            ],
            "divergence": None if self.divergence is None else [
                {"place": row.path, "spec": row.spec, "implementation": row.system}
                for row in self.divergence.rows if row.differs
            ],
            "peak_memory_bytes": self.peak_memory_bytes,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }  # fmt: skip


def conform(
    model: BoundModel, system: System[Any], name: str, options: ConformOptions, *,
    searching: Callable[[SearchProgress], None] | None = None, exploring: Callable[[Progress], None] | None = None,
) -> Report:  # fmt: skip
    """Explore the product of a model and a system under test, called `name`.

    The spec alone is searched first: its size is what the product is to cover. Raises SpecError for a spec that breaks
    down and for a model that the system cannot be driven through, WorkerError where a process of the exploration is
    gone, CheckpointError for a directory that cannot be saved to or resumed from.
    """
    why = _mismatch(model, system)
    if why:
        hint = "take a model that the adapter of the implementation is for"
        raise SpecError(f"{name} cannot be driven through {model.name}: {why}", hint=hint)
    bare = _bare(model)
    with _saving(bare, name, options) as saved:
        return _explored(bare, system, name, options, saved, searching, exploring)


def _explored(
    model: BoundModel, system: System[Any], name: str, options: ConformOptions, saved: Checkpoint | None,
    searching: Callable[[SearchProgress], None] | None, exploring: Callable[[Progress], None] | None,
) -> Report:  # fmt: skip
    started = time.monotonic()
    before = sum(saved.counts.driven) if saved is not None and saved.counts is not None else 0
    kernel = kernel_of(model, Limits(time_limit_s=options.time_limit_s))
    alone = _alone(model, kernel, options, searching)
    searched = time.monotonic()
    deadline = None if options.time_limit_s is None else started + options.time_limit_s
    budget = Budget(default_memory() if options.memory_bytes is None else options.memory_bytes)

    def make(number: int) -> Work:
        return Worker(model, kernel, system, number, options.jobs, probes=options.probes).do

    with without_collection(), team(make, options.jobs) as workers:
        product = Product(
            workers, len(model.model.actions), deadline=deadline,
            limit=f"time limit of {options.time_limit_s or 0:g} s", budget=budget, progress=exploring, saved=saved,
        )  # fmt: skip
        with interrupts(product):
            if alone.stopped == INTERRUPTED:
                product.stop(INTERRUPTED)
            product.explore(options.max_depth)
    explored = time.monotonic()
    divergence = _told(model, system, name, product)
    finished = alone.stopped is None
    return Report(
        model, name, product.counts, before, product.pairs, product.depth, product.receivers, product.probes,
        alone.distinct if finished else None, sum(a.fired for a in alone.actions) if finished else None,
        product.stopped, divergence, budget.peak,
        {"spec": searched - started, "product": explored - searched, "total": time.monotonic() - started},
        options.probes,
    )  # fmt: skip


def _mismatch(model: BoundModel, system: System[Any]) -> str:
    """The reason that a system cannot be driven through a model; "" where it can, as far as its first state shows."""
    try:
        why = system.lacks(model.constants, [action.name for action in model.model.actions])
        for state in [] if why else model.initial_states()[:1]:
            system.expect(state)
    except KeyError as error:
        known = ", ".join(model.constants) or "none"
        return f"its adapter asks for {error}; the constants of the model are: {known}"
    except AttributeError as error:
        fields = ", ".join(model.state_type.fields)
        return f"its adapter asks for {error.name or error}; the fields of the model's state are: {fields}"
    return why


def _bare(model: BoundModel) -> BoundModel:
    """The model without properties, which do not matter here, and without a view: whole states are compared."""
    bare = dataclasses.replace(model.model, properties=[], hide=[])
    return dataclasses.replace(model, model=bare)


@contextmanager
def _saving(model: BoundModel, name: str, options: ConformOptions) -> Iterator[Checkpoint | None]:
    """The checkpoint that was asked for, with what is in it."""
    directory = options.resume or options.checkpoint
    if directory is None:
        yield None
        return
    enter = Checkpoint.create if options.resume is None else Checkpoint.open
    with closing(enter(directory, model.key(), name if options.probes else f"{name}, {UNPROBED}")) as checkpoint:
        yield checkpoint


def _alone(
    model: BoundModel, kernel: Kernel, options: ConformOptions, progress: Callable[[SearchProgress], None] | None
) -> SearchResult:
    """The search of the spec alone, for a share of the time. Raises SpecError where the spec breaks down."""
    initial = [model.state_type.encode(state) for state in model.initial_states()]
    time_limit_s = None if options.time_limit_s is None else options.time_limit_s * SHARE_ALONE
    limits = Limits(max_depth=options.max_depth, time_limit_s=time_limit_s, memory_bytes=options.memory_bytes)
    found = search(kernel, initial, threads=options.jobs, limits=limits, progress=progress)
    if found.errors:
        site = kernel.sites[min(found.errors)]
        raise SpecError(
            f"the spec itself breaks down: {site.reason}: {site.text}",
            hint=f"fencepost check {model.name} shows the behaviour that leads there",
        )
    return found


def _told(model: BoundModel, system: System[Any], name: str, product: Product) -> Divergence | None:
    place = product.divergence
    if place is None:
        return None
    first, instances = (place.number, []) if place.pair == BEGIN else product.way_to(place.pair)
    return reproduce(model, system, name, first, instances, place, product.seen)
