"""Validation of recorded traces against a model: all traces of a batch at once, an event of each per round.

A trace is cut where a state was observed in full: what comes after depends on nothing before, so the pieces are
looked at side by side. Each piece is an item with a set of candidates; a round takes the next event of every item,
asks the kernel for the successors that look as observed, and keeps the candidates whose ordinals agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from checker.explicit.kernel.observed_steps import ANY, ObservedSteps, Successors, observed_steps_of
from checker.lang.loader import BoundModel
from checker.running.arrays import Bits, Longs
from checker.validate.candidates import Candidates, Numbers
from checker.validate.coverage import Coverage
from checker.validate.reader import ANYWHERE, Reader, Recorded

AT_ONCE = 1 << 12  # items that are looked at side by side
LOOKED_AT = 20  # candidates of a trace that has ended, to say why
ACCEPTED, REJECTED, UNDECIDED, UNREADABLE = "accepted", "rejected", "undecided", "unreadable"
CUT = "a step that may be this one exceeds a bound of the model"


@dataclass
class Rejection:
    """The place where a trace is not a behaviour: no candidate is left after event `event` (a position in the trace).

    before: the candidates before it (some of them, where there are many). undecided: why it may be one all the same.
    others: of a run of several processes, the other events that could have come next there, and do not fit either.
    """

    event: int
    before: Candidates
    undecided: str = ""
    others: tuple[int, ...] = ()


@dataclass
class Batch:
    """The events of some traces, one after the other. kinds, numbers, whole: per event; first, silent: per trace."""

    traces: Sequence[Recorded]
    kinds: Longs
    numbers: Longs
    whole: Bits
    first: Longs
    silent: Longs


@dataclass
class Items:
    """Pieces of traces. trace: whose; first, limit: their events; start: the event before, -1 for the initial states.

    rejected: where an item has no candidate left; cut: whether a step that might have matched exceeded a bound.
    is_counted: its steps count as covered.
    """

    trace: Longs
    first: Longs
    limit: Longs
    start: Longs
    cut: Bits
    rejected: dict[int, Rejection] = field(default_factory=dict)
    is_counted: bool = True


@dataclass(frozen=True)
class _Round:
    """The events of a round. items: whose; row[item]: its row in what follows; codes, known: what was observed."""

    items: Longs
    row: Longs
    events: Longs
    kinds: Longs
    actions: Longs
    codes: Longs
    known: Bits
    whole: Bits

    def of(self, candidates: Candidates) -> Longs:
        """The row of each candidate's item."""
        found: Longs = self.row[candidates.item]
        return found


class Validator:
    """Validates traces of one model. silent: unobserved steps before each event, where a trace declares none.

    max_candidates: of one trace at one time; beyond it the trace is undecided.
    """

    def __init__(self, model: BoundModel, *, silent: int = 0, max_candidates: int = 10_000) -> None:
        self.model = model
        self.reader = Reader(model, silent)
        self.observed_steps: ObservedSteps = observed_steps_of(model)
        self.numbers = Numbers(self.observed_steps)
        self.coverage = Coverage(model)
        self.max_candidates = max_candidates
        initial = [model.state_type.encode(state) for state in model.initial_states()]
        packed = np.array([self.observed_steps.layout.pack(codes) for codes in initial], np.uint64)
        self.initial = np.unique(packed.reshape(-1, self.observed_steps.layout.words), axis=0)
        self._leaves = len(self.observed_steps.layout.leaves)

    def rejections(self, traces: Sequence[Recorded]) -> list[Rejection | None]:
        """Per trace where it stops being a behaviour, None where it does not."""
        batch = self.batch(traces)
        found: list[Rejection | None] = [None] * len(traces)
        for items in self._items(batch):
            self._run(batch, items)
            for item, rejection in items.rejected.items():
                trace = int(items.trace[item])
                rejection.event -= int(batch.first[trace])
                before = found[trace]
                rank = (bool(rejection.undecided), rejection.event)
                if before is None or rank < (bool(before.undecided), before.event):
                    found[trace] = rejection
        return found

    def batch(self, traces: Sequence[Recorded]) -> Batch:
        """The events of some traces as arrays."""
        lengths = np.array([len(trace.events) for trace in traces], dtype=np.int64)
        every = [event for trace in traces for event in trace.events]
        kinds = np.array([kind for kind, _ in every], dtype=np.int64)
        width = len(self.reader.states.nothing)
        numbers = np.array([numbers for _, numbers in every], dtype=np.int64).reshape(len(every), width)
        first = np.concatenate([[0], np.cumsum(lengths)])
        silent = np.array([trace.silent[0] for trace in traces], dtype=np.int64)
        return Batch(traces, kinds, numbers, self.reader.states.whole(numbers), first, silent)

    def _items(self, batch: Batch) -> Iterator[Items]:
        """The pieces of all traces, some at a time."""
        count = len(batch.kinds)
        starts = np.zeros(count, dtype=bool)
        opening = batch.first[:-1][np.diff(batch.first) > 0]
        starts[opening] = True
        starts[1:] |= batch.whole[:-1]
        first = np.flatnonzero(starts)
        limit = np.append(first[1:], count)[: len(first)]
        trace = np.searchsorted(batch.first, first, side="right") - 1
        start = np.where(np.isin(first, opening), -1, first - 1)
        trusted = np.array([t.starts == ANYWHERE for t in batch.traces], dtype=bool)[trace]
        keep = ~((start == -1) & trusted)
        first, limit, trace, start = first[keep], limit[keep], trace[keep], start[keep]
        for at in range(0, len(first), AT_ONCE):
            some = slice(at, at + AT_ONCE)
            yield Items(trace[some], first[some], limit[some], start[some], np.zeros(len(first[some]), dtype=bool))

    def _run(self, batch: Batch, items: Items) -> None:
        """Take all events of the items."""
        candidates = self.started(batch, items)
        for position in range(int((items.limit - items.first).max(initial=0))):
            going = items.first + position < items.limit
            candidates = candidates.take(going[candidates.item])
            if not len(candidates):
                break
            candidates = self.taken(batch, items, candidates, position)

    def started(self, batch: Batch, items: Items) -> Candidates:
        """The candidates before the first event of each item."""
        known = np.flatnonzero(items.start >= 0)
        codes, _ = self.reader.states.rows(batch.numbers[items.start[known]])
        observed = self.numbers.complete(known, codes)
        others = np.flatnonzero(items.start < 0)
        item = np.repeat(others, len(self.initial))
        initial = self.numbers.unbound(item, np.tile(self.initial, (len(others), 1)))
        joined = observed.joined(initial)
        return joined.take(np.argsort(joined.item, kind="stable"))

    def taken(self, batch: Batch, items: Items, before: Candidates, position: int) -> Candidates:
        """The candidates after the event at `position` of each item."""
        before = self._silent(batch, items, before, position)
        now = self._events(batch, items, before, position)
        looks = now.actions[now.of(before)] < ANY
        looked, stepping = before.take(looks), before.take(~looks)
        after = self._stepped(items, stepping, now) if len(stepping) else stepping
        if len(looked):
            at = now.of(looked)
            found, agree = self.numbers.observed(looked, now.codes[at], now.known[at], plain=True)
            after = found.take(agree).joined(after)
        after = self._not_too_many(items, after.distinct(), items.first + position)
        alive = np.zeros(len(items.trace), dtype=bool)
        alive[after.item] = True
        for item in now.items[~alive[now.items]].tolist():
            if item not in items.rejected:
                mine = before.take(np.flatnonzero(before.item == item)[:LOOKED_AT])
                items.rejected[item] = Rejection(int(now.events[now.row[item]]), mine, CUT if items.cut[item] else "")
        return after

    def _events(self, batch: Batch, items: Items, before: Candidates, position: int) -> _Round:
        present = np.unique(before.item)
        row = np.zeros(len(items.trace), dtype=np.int64)
        row[present] = np.arange(len(present))
        events = items.first[present] + position
        kinds = batch.kinds[events]
        codes, known = self.reader.states.rows(batch.numbers[events])
        actions = np.array(self.reader.kinds.actions, dtype=np.int64)[kinds]
        return _Round(present, row, events, kinds, actions, codes, known, batch.whole[events])

    def _stepped(self, items: Items, before: Candidates, now: _Round) -> Candidates:
        """The candidates after one step."""
        at = now.of(before)
        wanted = np.ascontiguousarray(self.numbers.wanted(now.codes, now.known)[at])
        found = self.observed_steps.follow(before.words, np.ascontiguousarray(now.actions[at]), wanted)
        self._note_cuts(items, before, found, now)
        fitting = self.reader.kinds.fits(now.kinds[at[found.sources]], found.instances)
        instances, words, survivors = found.instances[fitting], found.words[fitting], found.survivors[fitting]
        origin = before.take(found.sources[fitting])
        asked = self.reader.kinds.members(now.kinds[now.of(origin)], instances, self._leaves)
        if asked is not None:
            origin, agree = self._with_members(origin, *asked)
            origin, instances, words, survivors = origin.take(agree), instances[agree], words[agree], survivors[agree]
        after = self.numbers.after(origin, np.ascontiguousarray(words), survivors)
        at = now.of(after)
        after, agree = self.numbers.observed(after, now.codes[at], now.known[at], plain=False)
        if items.is_counted:
            self.coverage.note(origin.item[agree], origin.words[agree], instances[agree])
        return after.take(agree)

    def _with_members(self, origin: Candidates, rows: Longs, codes: Longs, known: Bits) -> tuple[Candidates, Bits]:
        """The candidates that agree with a recorded parameter that is a member of the state."""
        narrowed, fits = self.numbers.observed(origin.take(rows), codes, known, plain=True)
        agree = np.ones(len(origin), dtype=bool)
        agree[rows] = fits
        low, high = origin.low.copy(), origin.high.copy()
        low[rows], high[rows] = narrowed.low, narrowed.high
        return Candidates(origin.item, origin.words, low, high), agree

    def _note_cuts(self, items: Items, before: Candidates, found: Successors, now: _Round) -> None:
        """Remember whose candidates a bound took away. A state that was observed in full exceeds none."""
        cut = before.take(found.cut_sources)
        at = now.of(cut)
        maybe = self.reader.kinds.fits(now.kinds[at], found.cut_instances) & ~now.whole[at]
        items.cut[cut.item[maybe]] = True

    def _silent(self, batch: Batch, items: Items, candidates: Candidates, position: int) -> Candidates:
        """The candidates and what up to the declared number of unobserved steps makes of them, from the start on."""
        starting = batch.kinds[np.minimum(items.first + position, items.limit - 1)] == self.reader.kinds.start
        most = np.where(starting, 0, batch.silent[items.trace])
        frontier = candidates
        for taken in range(int(most[candidates.item].max(initial=0))):
            frontier = frontier.take(most[frontier.item] > taken)
            anything = np.zeros((len(frontier), 2 * self.observed_steps.layout.words), np.uint64)
            found = self.observed_steps.follow(frontier.words, np.full(len(frontier), ANY, np.int64), anything)
            cut = frontier.item[found.cut_sources]
            items.cut[cut[self._unobserved(batch, items.trace[cut], found.cut_instances)]] = True
            unobserved = self._unobserved(batch, items.trace[frontier.item[found.sources]], found.instances)
            if items.is_counted:
                self.coverage.note_possible(found.instances[unobserved])
            words = np.ascontiguousarray(found.words[unobserved])
            after = self.numbers.after(frontier.take(found.sources[unobserved]), words, found.survivors[unobserved])
            further = after.beyond(candidates)
            if not len(further):
                break
            candidates = self._not_too_many(items, candidates.joined(further).in_order(), items.first + position)
            frontier = further.take(np.isin(further.item, candidates.item))
        return candidates

    def _unobserved(self, batch: Batch, traces: Longs, instances: Longs) -> Bits:
        """The steps that are by actions that their trace declares as silent."""
        result = np.ones(len(traces), dtype=bool)
        action = np.array([a for a, _ in self.observed_steps.instances], dtype=np.int64)[instances]
        for trace in np.unique(traces).tolist():
            names = batch.traces[trace].silent[1]
            if names is not None:
                mine = traces == trace
                named = [name in names for name in self.observed_steps.actions]
                result[mine] = np.array(named, dtype=bool)[action[mine]]
        return result

    def _not_too_many(self, items: Items, candidates: Candidates, events: Longs) -> Candidates:
        """Give up items that have more candidates than are followed."""
        counts = np.bincount(candidates.item, minlength=len(items.trace))
        over = counts > self.max_candidates
        for item in np.flatnonzero(over).tolist():
            why = f"more than {self.max_candidates:,} candidates (--max-candidates follows more)"
            mine = np.flatnonzero(candidates.item == item)
            items.rejected[item] = Rejection(int(events[item]), candidates.take(mine[:LOOKED_AT]), why)
        return candidates.take(~over[candidates.item]) if over.any() else candidates
