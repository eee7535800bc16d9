"""One state at a time: successors, and the outcome of every instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checker.explicit.kernel import abi
from checker.explicit.kernel.codegen import FIRED
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Packed, packed
from checker.explicit.search.store import Context
from checker.lang.ir import EventKind


class Step(NamedTuple):
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
        self._source = np.zeros(kernel.layout.words, dtype=np.uint64)
        self._address = self._source.ctypes.data

    def expand(self, words: Sequence[int]) -> Expansion:
        """Expand a packed state."""
        self._source[:] = words
        self._kernel.calls["expand"](self._context.address, self._address, 0, 1)
        self._context.close()
        result = Expansion()
        broken: dict[int, int] = {}
        for *state, tag, code in self._context.edges().tolist():
            instance = tag & abi.NO_INSTANCE
            if code == abi.DEADLOCK:
                result.deadlocked = True
            elif code < 0:
                if self._kernel.sites[-1 - code].kind is EventKind.ERROR:
                    result.errors.append((instance, -1 - code))
            elif code & abi.OUTSIDE:
                result.steps.append(Step(instance, packed(state), True, code & ~abi.OUTSIDE))
            else:
                broken[instance] = code
        for *state, tag in self._context.records(0).tolist():
            instance = tag & abi.NO_INSTANCE
            result.steps.append(Step(instance, packed(state), False, broken.get(instance, 0)))
        result.steps.sort(key=lambda step: step.instance)
        result.errors.sort()
        return result

    def properties(self, words: Sequence[int]) -> int:
        """Mask of the invariants that a packed state breaks and of the witnesses it is."""
        return self.classify(words)[0]

    def classify(self, words: Sequence[int]) -> tuple[int, bool]:
        """The `properties` of a packed state, and whether it breaks a state constraint."""
        state, bits = np.array(words, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        self._kernel.calls["classify"](state.ctypes.data, 1, bits.ctypes.data)
        return int(bits[0]) & ~abi.OUTSIDE, bool(int(bits[0]) & abi.OUTSIDE)

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
