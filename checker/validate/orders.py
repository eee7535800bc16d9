"""Runs of several processes: is there an order of the events, of those that causes allow, in which it is a behaviour?

The orders are not tried one by one. What matters of an order so far is which events it has taken: a *prefix* of the
run, so many of the first events of each process. All candidates of a prefix go on together, whatever the order that led
to it, and a level of the search is the prefixes with so many events. A run that is rejected was tried in every order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checker.running.arrays import Longs
from checker.validate.candidates import Candidates
from checker.validate.reader import Recorded
from checker.validate.validator import CUT, LOOKED_AT, Items, Rejection, Validator

Prefix = tuple[int, ...]


class Orders:
    """The events of one run by process, and those that may come next after a prefix."""

    def __init__(self, processes: Sequence[str], after: Sequence[tuple[int, ...]]) -> None:
        """processes, after: per event its process, and the events that it comes after."""
        names = list(dict.fromkeys(processes))
        self.events: list[list[int]] = [[] for _ in names]
        place: list[tuple[int, int]] = []
        for event, name in enumerate(processes):
            process = names.index(name)
            place.append((process, len(self.events[process])))
            self.events[process].append(event)
        self._needs = [[place[earlier] for earlier in before] for before in after]

    @property
    def start(self) -> Prefix:
        return (0,) * len(self.events)

    def next(self, prefix: Prefix) -> list[tuple[int, Prefix]]:
        """The events that may come next, and the prefixes with them."""
        found = []
        for process, events in enumerate(self.events):
            if prefix[process] == len(events):
                continue
            event = events[prefix[process]]
            if all(prefix[other] > position for other, position in self._needs[event]):
                found.append((event, (*prefix[:process], prefix[process] + 1, *prefix[process + 1 :])))
        return found


def in_any_order(validator: Validator, run: Recorded) -> Rejection | None:
    """The place where a run stops being a behaviour, whatever the order; None where it is one in some order."""
    orders = Orders([stamp.process for stamp in run.stamps], run.after)
    batch = validator.batch([run])
    prefixes, candidates = [orders.start], validator.started(batch, _items([-1]))
    undecided = ""
    for _ in run.events:
        steps = [(at, event, longer) for at, prefix in enumerate(prefixes) for event, longer in orders.next(prefix)]
        items = _items([event for _, event, _ in steps])
        found = validator.taken(batch, items, _tried(candidates, [at for at, _, _ in steps]), 0)
        undecided = undecided or _undecided(items, len(found), validator.max_candidates)
        if not len(found) or len(found) > validator.max_candidates:
            return _rejection(items, candidates, undecided)
        reached = [longer for _, _, longer in steps]
        prefixes = list(dict.fromkeys(reached[item] for item in np.unique(found.item).tolist()))
        numbers = {prefix: number for number, prefix in enumerate(prefixes)}
        item: Longs = np.array([numbers.get(longer, -1) for longer in reached])[found.item]
        joined = Candidates(item, found.words, found.low, found.high)
        candidates = joined.take(np.argsort(item, kind="stable")).distinct()
    return None


def _items(events: list[int]) -> Items:
    """Items of one event each, all of trace 0; -1: the start of the run."""
    first = np.array(events, dtype=np.int64)
    nothing = np.zeros(len(first), dtype=np.int64)
    return Items(nothing, first, first + 1, nothing - 1, nothing.astype(np.bool_), is_counted=False)


def _tried(candidates: Candidates, sources: list[int]) -> Candidates:
    """For each step the candidates of the prefix that it goes on from. sources: per step the number of that prefix."""
    rows = [np.flatnonzero(candidates.item == source) for source in sources]
    tried = candidates.take(np.concatenate(rows))
    item: Longs = np.repeat(np.arange(len(rows)), [len(mine) for mine in rows])
    return Candidates(item, tried.words, tried.low, tried.high)


def _undecided(items: Items, count: int, most: int) -> str:
    """The reason for which a step that was not followed may be the one recorded; "" where there is none."""
    if count > most:
        return f"in all orders together more than {most:,} candidates (--max-candidates follows more)"
    given_up = next((rejection.undecided for rejection in items.rejected.values() if rejection.undecided), "")
    return given_up or (CUT if items.cut.any() else "")


def _rejection(items: Items, before: Candidates, undecided: str) -> Rejection:
    """All that could come next is refused. It is reported of the first of these events."""
    events = sorted(set(items.first.tolist()))
    refused = [r for r in items.rejected.values() if r.event == events[0]]
    shown = refused[0].before if refused else before.take(np.arange(min(len(before), LOOKED_AT)))
    return Rejection(events[0], shown, undecided, tuple(events[1:]))
