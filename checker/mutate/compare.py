"""The steps of two variants of a model out of the same states, compared exactly: by their packed successors.

Variants have the same state, so that their kernels pack it alike; ordinals are numbered by rank in both. A step that
is cut by a bound, or breaks down, is a step of its own kind, distinct from one that is not enabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.explicit.diff import look_up
from checker.explicit.kernel import abi
from checker.explicit.kernel.build import passing_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Context, Shard
from checker.lang.ir import EventKind
from checker.lang.liveness import WEAK, Liveness, StepGroup
from checker.lang.program import Program
from checker.running.arrays import Longs, Words

Rows = Longs  # a step each: words after it, meta (source and instance), how it ends
FIRED, OUTSIDE, ERROR, CUT = 0, 1, 2, 3
_RECORDS = 1 << 18  # steps looked at together


class Stepper:
    """Steps of some actions of a program, out of states stored by a search.

    numbers[i]: the instance of the whole program that instance i of the kernel is.
    """

    def __init__(self, program: Program, actions: Sequence[int]) -> None:
        self.numbers = [n for n, i in enumerate(program.instances) if i.action in actions]
        chosen = [replace(program.instances[n], breaks=()) for n in self.numbers]
        fair = Liveness((), (StepGroup(WEAK, tuple(range(len(chosen)))),), {})  # what is cut leaves an edge, too
        bare = replace(program, instances=chosen, properties=[], liveness=fair)
        self.kernel: Kernel = passing_kernel(bare, quick=True)
        self.batch = max(1, _RECORDS // max(1, len(chosen)))  # states
        self._context = Context(self.kernel, 1, self.batch * len(chosen), edges=self.batch * (len(chosen) + 1))

    def steps(self, states: int, first: int, limit: int) -> Rows:
        """The steps out of the states first..limit-1 (at most `batch`) at an address, in order of their metas."""
        done = self.kernel.calls["expand"](self._context.address, states, first, limit)
        assert done == limit, "a box was too small"
        self._context.close()
        fired, edges = self._context.records(0), self._context.edges()
        other = edges[edges[:, -1] != abi.DEADLOCK].copy()
        other[:, -1] = [self._kind(code) for code in other[:, -1].tolist()]
        rows = np.concatenate([np.column_stack([fired, np.full(len(fired), FIRED)]), other])
        return rows[np.argsort(rows[:, -2], kind="stable")]

    def _kind(self, code: int) -> int:
        if code >= 0:
            return OUTSIDE
        return CUT if self.kernel.sites[-1 - code].kind is EventKind.CUT else ERROR


@dataclass(frozen=True)
class Difference:
    """The first difference of two variants. level: of the states whose steps differ; states: those, packed."""

    level: int
    states: Words


def first_difference(result: SearchResult, ours: Stepper, theirs: Stepper) -> Difference | None:
    """The first level of a finished search in which the variants' steps differ; None: they are the same everywhere."""
    bounds = result.exploration.bounds
    for level in range(1, len(bounds)):
        states = [
            _sources(shard, np.concatenate(differing(*[s.steps(shard.store_address, *part) for s in (ours, theirs)])))
            for shard, first, limit in zip(result.exploration.shards, bounds[level - 1], bounds[level], strict=True)
            for part in _parts(first, limit, min(ours.batch, theirs.batch))
        ]
        if any(len(part) for part in states):
            return Difference(level, np.concatenate(states))
    return None


def differing(ours: Rows, theirs: Rows) -> tuple[Rows, Rows]:
    """The steps that only one of two variants takes, both in order of their metas."""
    if np.array_equal(ours, theirs):
        return ours[:0], theirs[:0]
    _, at_ours, at_theirs = np.intersect1d(ours[:, -2], theirs[:, -2], assume_unique=True, return_indices=True)
    same = np.all(ours[at_ours] == theirs[at_theirs], axis=1)
    return np.delete(ours, at_ours[same], axis=0), np.delete(theirs, at_theirs[same], axis=0)


def _parts(first: int, limit: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, limit)) for start in range(first, limit, size))


def _sources(shard: Shard, rows: Rows) -> Words:
    """The states out of which steps lead, each once."""
    return shard.states(0, shard.count)[np.unique(rows[:, -2] >> abi.META_SHIFT)]


@dataclass(frozen=True)
class Extent:
    """The extent to which two finished searches differ.

    states: how many only ours, only theirs has; steps: out of states that both have, how many only the one takes;
    stutters: whether all of these leave the state as it is.
    """

    states: tuple[int, int]
    steps: tuple[int, int]
    stutters: bool


def extent(ours: SearchResult, theirs: SearchResult, our_steps: Stepper, their_steps: Stepper) -> Extent:
    """Compare two explorations state by state. `theirs` must be of one thread."""
    [known] = theirs.exploration.shards
    common, only_ours, only_theirs, stutters = 0, 0, 0, True
    for shard in ours.exploration.shards:
        for first, limit in _parts(0, shard.count, min(our_steps.batch, their_steps.batch)):
            both = np.not_equal(look_up(their_steps.kernel, known, shard.states(first, limit)), 0)
            common += int(np.count_nonzero(both))
            steps = [s.steps(shard.store_address, first, limit) for s in (our_steps, their_steps)]
            a, b = differing(*[rows[both[(rows[:, -2] >> abi.META_SHIFT) - first]] for rows in steps])
            only_ours, only_theirs = only_ours + len(a), only_theirs + len(b)
            stutters = stutters and _all_stutter(shard, np.concatenate([a, b]))
    return Extent((ours.distinct - common, theirs.distinct - common), (only_ours, only_theirs), stutters)


def _all_stutter(shard: Shard, rows: Rows) -> bool:
    """True if these steps lead to the states that they start from."""
    before = shard.states(0, shard.count)[rows[:, -2] >> abi.META_SHIFT]
    return bool(np.all(rows[:, -1] == FIRED) and np.array_equal(rows[:, :-2].view(np.uint64), before))
