"""Labels of edges: which instance is taken, and which groups of steps (see `Liveness`) the edge is a step of.

An edge is a step of a group that has its instance, where the group's condition holds in the source; but of none if it
changes nothing. It changes nothing where it leads back to its source, unless it left an ordinal there that is new.
Of n instances the first n labels are for steps of all their groups, the next n for steps of none; others are numbered
as they are met.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.predicates import CONDITIONS_PER_WORD, condition_words, obligation_words
from checker.running.arrays import Bits, Ints, Longs


@dataclass(frozen=True)
class LabelTable:
    """Per label its instance, and its groups: groups[first[label] : first[label + 1]]."""

    instances: Ints
    first: Longs
    groups: Ints

    def of_group(self, group: int) -> Bits:
        """The labels that are steps of a group."""
        owners = np.repeat(np.arange(len(self.instances)), np.diff(self.first))
        found = np.zeros(len(self.instances), dtype=bool)
        found[owners[self.groups == group]] = True
        return found

    def up_to(self, limit: int) -> LabelTable:
        """The same labels with the groups below `limit` only."""
        kept = self.groups < limit
        first = np.concatenate([[0], np.cumsum(kept)])[self.first]
        return LabelTable(self.instances, first, self.groups[kept])


class Labels:
    """Gives edges their labels, in the order in which they come."""

    def __init__(self, kernel: Kernel) -> None:
        count = len(kernel.instances)
        self._kernel = kernel
        self._groups: list[list[int]] = [[] for _ in range(count)]
        for number, group in enumerate(kernel.groups):
            for instance in group.instances:
                self._groups[instance].append(number)
        self._offset = obligation_words(len(kernel.obligations))
        groups, fair = kernel.groups, [group for group in kernel.groups if group.kind]
        self._relevant = self._masks((i, group.condition) for group in groups for i in group.instances)
        self._renewals = self._masks(kernel.renewing.items())
        self._fair_conditions = self._masks((i, group.condition) for group in fair for i in group.instances)
        self._always_fair = np.zeros(count, dtype=bool)  # of a fair group that has no condition
        self._always_fair[[i for group in fair if group.condition is None for i in group.instances]] = True
        renewing = kernel.renewing
        stutters = [bool(groups) and i not in renewing for i, groups in enumerate(self._groups)]
        self._stutters = np.array(stutters, dtype=bool)  # where they lead back to their source
        self._asks: Bits = np.asarray(self._relevant.any(axis=1))
        self._asks_back: Bits = np.asarray(self._renewals.any(axis=1))
        self._instances: list[int] = [*range(count), *range(count)]
        self._of: list[tuple[int, ...]] = [*map(tuple, self._groups), *[()] * count]
        self._labels: dict[tuple[int, tuple[int, ...]], int] = {}
        for label, key in enumerate(zip(self._instances, self._of, strict=True)):
            self._labels.setdefault(key, label)

    def _masks(self, asked: Iterable[tuple[int, int | None]]) -> Longs:
        """Per instance the words with the bits of its conditions."""
        masks = np.zeros((len(self._kernel.instances), condition_words(self._kernel.conditions)), dtype=np.uint64)
        for instance, condition in asked:
            if condition is not None:
                word, bit = divmod(condition, CONDITIONS_PER_WORD)
                masks[instance, word] |= np.uint64(1 << bit)
        return masks.view(np.int64)

    def of(self, instances: Longs, sources: Longs, targets: Ints, watched: Longs) -> Ints:
        """The labels of edges, in order. watched: per state the words that `watch` gives for it."""
        loops: Bits = targets == sources
        labels: Ints = (instances + len(self._stutters) * (loops & self._stutters[instances])).astype(np.int32)
        special = np.flatnonzero(self._asks[instances] | (loops & self._asks_back[instances]))
        if len(special):
            own, back = instances[special], loops[special]
            asked = self._relevant[own] | np.where(back.reshape(-1, 1), self._renewals[own], 0)
            keys = np.column_stack([own, back, watched[sources[special], self._offset :] & asked])
            rows, at, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            found = np.empty(len(rows), dtype=np.int32)
            for row in np.argsort(at):  # in the order of the edges, whatever is looked at together
                found[row] = self._label(int(rows[row, 0]), bool(rows[row, 1]), rows[row, 2:])
            labels[special] = found[place.reshape(-1)]
        return labels

    def withheld(self, instances: Longs, sources: Longs, watched: Longs) -> Bits:
        """The fair steps among those that have no edge."""
        asked = watched[sources, self._offset :] & self._fair_conditions[instances]
        found: Bits = self._always_fair[instances] | asked.any(axis=1)
        return found

    def are_fair(self) -> Bits:
        """The labels so far that are steps of a fair group."""
        kinds = [group.kind for group in self._kernel.groups]
        return np.array([any(kinds[g] for g in groups) for groups in self._of], dtype=bool)

    def table(self) -> LabelTable:
        """The labels so far."""
        lengths = [len(groups) for groups in self._of]
        flat = [group for groups in self._of for group in groups]
        first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return LabelTable(np.array(self._instances, dtype=np.int32), first, np.array(flat, dtype=np.int32))

    def _label(self, instance: int, back: bool, conditions: Longs) -> int:
        """The label of an edge. back: it leads to its source; conditions: the conditions that it asks for."""

        def holds(condition: int | None) -> bool:
            word, bit = divmod(condition or 0, CONDITIONS_PER_WORD)
            return condition is None or bool(int(conditions[word]) >> bit & 1)

        renewing = self._kernel.renewing
        changes = not back or (instance in renewing and holds(renewing[instance]))
        groups = self._groups[instance] if changes else []
        key = instance, tuple(number for number in groups if holds(self._kernel.groups[number].condition))
        if key not in self._labels:
            self._labels[key] = len(self._of)
            self._instances.append(instance)
            self._of.append(key[1])
        return self._labels[key]
