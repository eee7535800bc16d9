"""Coverage of validated traces: actions, and transitions distinguished by state and instance."""

from __future__ import annotations

import numpy as np

from checker.lang.loader import BoundModel
from checker.lang.parameters import bindings
from checker.running.arrays import Longs, Words

_KEY = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


class Coverage:
    """Counts events whose step is known for certain: one transition explains them, and no other.

    actions: per action of the model how many such events; possible: whether any step that was tried is one of it,
    unobserved ones among them. `transitions()`: the distinct hashes of the certain ones.
    """

    def __init__(self, model: BoundModel) -> None:
        self.names = [action.name for action in model.model.actions]
        counts = [len(list(bindings(model.parameters(action)))) for action in model.model.actions]
        self._action_of = np.repeat(np.arange(len(counts)), counts)
        self.actions = np.zeros(len(counts), dtype=np.int64)
        self.possible = np.zeros(len(counts), dtype=bool)
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._new: list[Words] = []

    def note(self, item: Longs, words: Words, instances: Longs) -> None:
        """Take in the steps of one round: whose they are, the states before them, the instances."""
        if not len(item):
            return
        self.note_possible(instances)
        certain = (np.bincount(item) == 1)[item]
        words, instances = words[certain], instances[certain]
        self.actions += np.bincount(self._action_of[instances], minlength=len(self.actions))
        hashes = instances.astype(np.uint64) * _KEY
        for k in range(words.shape[1]):
            hashes = (hashes ^ words[:, k]) * _KEY
            hashes ^= hashes >> _SHIFT
        self._new.append(np.unique(hashes))
        if sum(map(len, self._new)) > max(1 << 16, len(self._hashes)):
            self.transitions()

    def note_possible(self, instances: Longs) -> None:
        """Take in steps of which it is not certain that they were taken."""
        self.possible[self._action_of[instances]] = True

    def transitions(self) -> Words:
        """A hash of each distinct transition (64 bits: of a billion, two may be taken for one)."""
        self._hashes = np.unique(np.concatenate([self._hashes, *self._new]))
        self._new = []
        return self._hashes
