"""One state at a time: successors, the outcome of every instance, random walks and their shrinking."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from checker.explicit.kernel import abi
from checker.explicit.kernel.codegen import FIRED
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Packed, Path, Target, packed
from checker.explicit.search.store import Context
from checker.lang.ir import EventKind

PAIRS_UP_TO = 64  # steps: a longer path is not tried without every pair of steps


@dataclass(frozen=True)
class Step:
    """One enabled step. outside: its state breaks a state constraint; broken: mask of properties the step breaks."""

    instance: int
    words: Packed
    outside: bool
    broken: int


@dataclass
class Expansion:
    """All that can happen in a state. steps: in order of instances. errors: (instance, site)."""

    steps: list[Step] = field(default_factory=list)
    errors: list[tuple[int, int]] = field(default_factory=list)
    deadlocked: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of one instance in a state: at a site, or (site None) with the successor `words`."""

    instance: int
    site: int | None
    words: Packed | None


class Walker:
    """Looks at single states of a model. Not for several threads at once."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._context = Context(kernel, 1, 1, edges=1)

    def expand(self, words: Sequence[int]) -> Expansion:
        """Expand a packed state."""
        state = np.array(words, dtype=np.uint64)
        self._kernel.calls["expand"](self._context.address, state.ctypes.data, 0, 1)
        self._context.close()
        result = Expansion()
        broken: dict[int, int] = {}
        for row in self._context.edges():
            instance, code = int(row[-2]) & abi.NO_INSTANCE, int(row[-1])
            if code == abi.DEADLOCK:
                result.deadlocked = True
            elif code < 0:
                if self._kernel.sites[-1 - code].kind is EventKind.ERROR:
                    result.errors.append((instance, -1 - code))
            elif code & abi.OUTSIDE:
                result.steps.append(Step(instance, packed(row[:-2]), True, code & ~abi.OUTSIDE))
            else:
                broken[instance] = code
        for row in self._context.records(0):
            instance = int(row[-1]) & abi.NO_INSTANCE
            result.steps.append(Step(instance, packed(row[:-1]), False, broken.get(instance, 0)))
        result.steps.sort(key=lambda step: step.instance)
        result.errors.sort()
        return result

    def properties(self, words: Sequence[int]) -> int:
        """Mask of the invariants that a packed state breaks and of the witnesses it is."""
        state, bits = np.array(words, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        self._kernel.calls["classify"](state.ctypes.data, 1, bits.ctypes.data)
        return int(bits[0]) & ~abi.OUTSIDE

    def outcomes(self, words: Sequence[int]) -> list[Outcome]:
        """The outcomes of all instances, in order. Raises ValueError for a kernel that does not record them."""
        expansion, ends = self.expand_whole(words)
        successors = {step.instance: step.words for step in expansion.steps}
        return [
            Outcome(i, None, successors[i]) if end == FIRED else Outcome(i, end, None)
            for i, end in enumerate(ends.tolist())
        ]

    def expand_whole(self, words: Sequence[int]) -> tuple[Expansion, npt.NDArray[np.uint16]]:
        """Expand a packed state; also return, per instance, the site at which it ends, or FIRED.

        Raises ValueError for a kernel that does not record it.
        """
        if not self._kernel.records_outcomes:
            raise ValueError("this kernel was compiled without record_outcomes")
        return self.expand(words), self._context.ends[:-1]


def successors(kernel: Kernel, words: Sequence[int]) -> list[tuple[int, Packed, bool]]:
    """(instance, words, outside the constraint) of every step out of a packed state."""
    return [(step.instance, step.words, step.outside) for step in Walker(kernel).expand(words).steps]


def outcomes(kernel: Kernel, words: Sequence[int]) -> list[Outcome]:
    """The outcome of each instance in a packed state; see `Walker.outcomes`."""
    return Walker(kernel).outcomes(words)


@dataclass(frozen=True)
class SimulationResult:
    """walks, steps: how many were made. target, path: the first violation, shrunk; found_steps: before shrinking."""

    seed: int
    walks: int
    steps: int
    target: Target | None = None
    path: Path | None = None
    found_steps: int = 0


def simulate(
    kernel: Kernel, initial: Sequence[Sequence[int]], *, seed: int, walks: int, max_steps: int
) -> SimulationResult:
    """Random walks from the initial states (codes per leaf), uniform over enabled steps, up to the first violation."""
    if not initial:
        raise ValueError("there is no initial state")
    chance = random.Random(seed)
    walker = _Checker(kernel)
    starts = [kernel.layout.pack(codes) for codes in initial]
    steps = 0
    for walk in range(walks):
        start = chance.choice(starts)
        instances: list[int] = []
        state = start
        target, ending = walker.violation(state, 0)
        while target is None and len(instances) < max_steps:
            choices = walker.expansion.steps
            if not choices:
                break
            step = chance.choice(choices)
            instances.append(step.instance)
            state = step.words
            target, ending = walker.violation(state, step.broken, step.outside)
            if step.outside:
                break
        steps += len(instances)
        if target is not None:
            found = instances if ending is None else [*instances, ending]
            return SimulationResult(seed, walk + 1, steps, target, walker.shrink(start, found, target), len(found))
    return SimulationResult(seed, walks, steps)


def _neighbours(size: int, first: int, length: int) -> list[range]:
    return [range(first, min(first + size, length))]


def _pairs(first: int, length: int) -> list[tuple[int, int]]:
    return [(first, second) for second in range(first, length)]


class _Checker:
    """Follows behaviours and says where they violate something."""

    def __init__(self, kernel: Kernel) -> None:
        self._walker = Walker(kernel)
        self._invariants = kernel.mask_of("invariant")
        self._no_deadlock = bool(kernel.mask_of("deadlock"))
        self.expansion = Expansion()

    def violation(self, words: Packed, broken: int, outside: bool = False) -> tuple[Target | None, int | None]:
        """The target that a state, just reached by a step that breaks `broken`, violates; and the instance of an error.

        Leaves the state's expansion (none outside the constraint) in `expansion`.
        """
        broken |= self._walker.properties(words) & self._invariants
        self.expansion = Expansion() if outside else self._walker.expand(words)
        if broken:
            return Target(property=(broken & -broken).bit_length() - 1), None
        if self.expansion.errors:
            instance, site = self.expansion.errors[0]
            return Target(site=site), instance
        if self.expansion.deadlocked and self._no_deadlock:
            return Target(deadlock=True), None
        return None, None

    def replay(self, before: Path, instances: Sequence[int], target: Target) -> Path | None:
        """Go on from the end of `before` along `instances`, up to where the target is hit; None where it is not."""
        path = Path(list(before.instances), list(before.words), target.site)
        broken, outside = 0, False
        remaining = iter(instances)
        while True:
            found, ending = self.violation(path.words[-1], broken, outside)
            if found == target:
                if ending is not None:
                    path.instances.append(ending)
                return path
            instance = next(remaining, None)
            step = next((s for s in self.expansion.steps if s.instance == instance), None)
            if found is not None or step is None:
                return None
            path.instances.append(step.instance)
            path.words.append(step.words)
            broken, outside = step.broken, step.outside

    def shrink(self, start: Packed, instances: Sequence[int], target: Target) -> Path:
        """Leave out steps as long as what remains is a behaviour that hits the target.

        First many neighbours at once, then ever fewer; at last pairs, as what undoes a step may come much later.
        """
        best = self.replay(Path([], [start]), instances, target)
        assert best is not None, "a walk can be walked again"
        size = len(best.instances)
        while size > 1:
            size //= 2
            best = self._without(best, target, partial(_neighbours, size))
        return self._without(best, target, _pairs) if len(best.instances) <= PAIRS_UP_TO else best

    def _without(
        self, path: Path, target: Target, groups: Callable[[int, int], Sequence[Container[int]]]
    ) -> Path:
        """Leave out groups of steps, tried from every position on that is the first of theirs, until none can go."""
        first = 0
        while first < len(path.instances):
            before = Path(path.instances[:first], path.words[: first + 1])
            for group in groups(first, len(path.instances)):
                rest = [i for at, i in enumerate(path.instances) if at >= first and at not in group]
                shorter = self.replay(before, rest, target)
                if shorter is not None and len(shorter.instances) < len(path.instances):
                    path, first = shorter, -1
                    break
            first += 1
        return path
