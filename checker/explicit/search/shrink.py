"""Shrinking of a behaviour that violates something: steps are left out as long as what remains is a behaviour, too."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial

from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Packed, Path, Target
from checker.explicit.search.walk import Expansion, Walker

PAIRS_UP_TO = 64  # steps: a longer path is not tried without every pair of steps


def shrink(
    kernel: Kernel, start: Packed, instances: Sequence[int], is_over: Callable[[], bool] = lambda: False
) -> tuple[Target, Path, Path]:
    """(what the behaviour along `instances` violates, the behaviour, a shorter one that does the same).

    is_over: asked repeatedly; the shortest behaviour so far is good enough once it says so.
    Raises ValueError for instances that violate nothing.
    """
    shrinker = _Shrinker(kernel, is_over)
    path, target = shrinker.replay(Path([], [start]), instances)
    if path is None or target is None:
        raise ValueError("these steps violate nothing")
    return target, path, shrinker.shortest(path, target)


def _neighbours(size: int, first: int, length: int) -> list[range]:
    return [range(first, min(first + size, length))]


def _pairs(first: int, length: int) -> list[tuple[int, int]]:
    return [(first, second) for second in range(first, length)]


class _Shrinker:
    """Follows behaviours and says where they violate something."""

    def __init__(self, kernel: Kernel, is_over: Callable[[], bool]) -> None:
        self._walker = Walker(kernel)
        self._invariants = kernel.mask_of("invariant")
        self._no_deadlock = bool(kernel.mask_of("deadlock"))
        self._is_over = is_over

    def _violation(self, words: Packed, broken: int) -> tuple[Target | None, int | None, Expansion]:
        """What a state, just reached by a step that breaks `broken`, violates; the instance of an error; what follows.

        Nothing follows outside the constraint.
        """
        found, outside = self._walker.classify(words)
        broken |= found & self._invariants
        expansion = Expansion() if outside else self._walker.expand(words)
        if broken:
            return Target(property=(broken & -broken).bit_length() - 1), None, expansion
        if expansion.errors:
            instance, site = expansion.errors[0]
            return Target(site=site), instance, expansion
        if expansion.deadlocked and self._no_deadlock:
            return Target(deadlock=True), None, expansion
        return None, None, expansion

    def replay(
        self, before: Path, instances: Sequence[int], wanted: Target | None = None
    ) -> tuple[Path | None, Target | None]:
        """Go on from the end of `before` along `instances`, up to the first violation, and say which it is.

        There is no path where a step is not enabled, and where there is no violation, or not the one wanted.
        """
        path = Path(list(before.instances), list(before.words))
        broken = 0
        remaining = iter(instances)
        while True:
            target, ending, expansion = self._violation(path.words[-1], broken)
            if target is not None and wanted in (None, target):
                ends = [] if ending is None else [ending]
                return Path([*path.instances, *ends], path.words, target.site), target
            instance = next(remaining, None)
            step = next((s for s in expansion.steps if s.instance == instance), None)
            if target is not None or step is None:
                return None, None
            path.instances.append(step.instance)
            path.words.append(step.words)
            broken = step.broken

    def shortest(self, path: Path, target: Target) -> Path:
        """Leave out many neighbours at once, then ever fewer; at last pairs: what undoes a step may come much later."""
        size = len(path.instances)
        while size > 1:
            size //= 2
            path = self._without(path, target, partial(_neighbours, size))
        return self._without(path, target, _pairs) if len(path.instances) <= PAIRS_UP_TO else path

    def _without(self, path: Path, target: Target, groups: Callable[[int, int], Sequence[Container[int]]]) -> Path:
        """Leave out groups of steps until none can go; at each position, those groups are tried that start there."""
        first = 0
        while first < len(path.instances):
            before = Path(path.instances[:first], path.words[: first + 1])
            for group in groups(first, len(path.instances)):
                if self._is_over():
                    return path
                rest = [i for at, i in enumerate(path.instances) if at >= first and at not in group]
                shorter, _ = self.replay(before, rest, target)
                if shorter is not None and len(shorter.instances) < len(path.instances):
                    path, first = shorter, -1
                    break
            first += 1
        return path
