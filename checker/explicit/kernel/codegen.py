"""A model's transitions as LLVM IR: one function for a run of instances, values emitted at first use.

Every instance is a chain of blocks: its events are tested in order, each ends the chain in one counter
increment; what passes them all is a step. Neighbouring instances whose chains start alike share that
start (a prefix tree), and neighbours that each ask for another member of one set are reached through
tests of ever smaller parts of the set, so that sparse sets cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import Function, u64
from checker.explicit.kernel.canonical import Canonicalizer
from checker.explicit.kernel.coverage import NONE, CounterPlan
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.lowering import Values, word_arguments, word_names, word_parameters
from checker.lang.ir import Event, EventKind, Instance, Node, Op
from checker.lang.program import Program

FUNCTION_LINES = 1500  # a longer function is split: LLVM takes more than linear time (40 s for one of 40,000 lines)
FIRED = 0xFFFF  # in the record of outcomes: the instance's step was taken


class Transitions:
    """Emits the step functions `step0`, `step1`, ... (context, meta base, words).

    record_outcomes: every chain also writes its end (a site, or FIRED) to its place in the array of u16 at
    `context[OUTCOMES]`. follows: successors are offered to `follow`, and every step that is cut leaves an edge.
    """

    def __init__(
        self, program: Program, layout: Layout, plan: CounterPlan, record_outcomes: bool, follows: bool = False
    ) -> None:
        self._program = program
        self._layout = layout
        self._plan = plan
        self._record = record_outcomes
        self._follows = follows
        self._fair = program.liveness.fair_instances if program.liveness else ()  # a cut of these leaves an edge too
        self._canonicalizer = Canonicalizer(layout)
        self._fresh_base = {sort: len(members) + 1 for sort, members in layout.sorts.items()}
        self.functions: list[str] = []
        self.names: list[str] = []
        self.actions: list[int] = []  # per function the action that it takes
        self._f: Function
        self._values: Values

    def text(self) -> str:
        """All functions, with what they call of canonicalization."""
        for _, group in groupby(range(len(self._program.instances)), lambda i: self._program.instances[i].action):
            self._function(list(group))
        return "\n".join([*self.functions, self._canonicalizer.text()])

    def state_function(self, name: str, result: str, conditions: Sequence[tuple[int, Node]]) -> str:
        """`name(words)`: an i64 with bit b set where its condition holds, or (result i1) the one condition."""
        f = Function(name, result, word_parameters(self._layout.words), "internal fastcc", "noinline")
        values = Values(f, self._layout, word_names(self._layout.words), self._fresh_base)
        if result == "i1":
            f.line(f"ret i1 {values.of(conditions[0][1])}")
            return f.text()
        bits = [f.op(f"shl i64 {values.integer(node)}, {bit}") for bit, node in conditions]
        f.line(f"ret i64 {f.any_of(bits)}")
        return f.text()

    def _function(self, instances: list[int]) -> None:
        """One function for these instances, or several where it would grow too long."""
        name = f"step{len(self.names)}"
        parameters = {"c": "ptr", "m": "i64", **word_parameters(self._layout.words)}
        self._f = Function(name, "void", parameters, "internal fastcc", "noinline")
        self._values = Values(self._f, self._layout, word_names(self._layout.words), self._fresh_base)
        self._alternatives(instances, 0)
        self._f.line("ret void")
        parts = min(len(instances), -(-len(self._f) // FUNCTION_LINES))
        if parts > 1:
            for k in range(parts):
                self._function(instances[k * len(instances) // parts : (k + 1) * len(instances) // parts])
            return
        self.functions.append(self._f.text())
        self.names.append(name)
        self.actions.append(self._program.instances[instances[0]].action)

    # The prefix tree.

    def _event(self, instance: int, position: int) -> Event | None:
        events = self._program.instances[instance].events
        return events[position] if position < len(events) else None

    def _alternatives(self, instances: Sequence[int], position: int) -> None:
        """Code for instances that have their first `position` events in common."""
        runs = [list(run) for _, run in groupby(instances, lambda i: self._start(i, position))]
        for members, group in groupby(runs, lambda run: self._membership(run[0], position)):
            alike = list(group)
            if members is not None and len(alike) > 1:
                self._by_member(alike, position)
            else:
                for run in alike:
                    self._chain(run, position)

    def _start(self, instance: int, position: int) -> tuple[int, ...]:
        event = self._event(instance, position)
        if event is None:
            return (-1, instance)
        return (event.condition.serial, event.site, event.reached.serial)

    def _membership(self, instance: int, position: int) -> int | None:
        """The serial of set S where the event is ABSENT with the condition `not has(S, constant)`."""
        event = self._event(instance, position)
        if self._record or event is None or self._program.sites[event.site].kind is not EventKind.ABSENT:
            return None
        condition = event.condition
        if condition.op is not Op.NOT or condition.args[0].op is not Op.HAS:
            return None
        members, index = condition.args[0].args
        return members.serial if index.op is Op.CONST else None

    def _by_member(self, runs: Sequence[list[int]], position: int) -> None:
        """Test whether any of the runs' members is there, then each half of them."""
        has = [self._program.instances[run[0]].events[position].condition.args[0] for run in runs]
        mask = 0
        for node in has:
            mask |= 1 << node.args[1].data
        f = self._f
        found = f.op(f"and i64 {self._values.of(has[0].args[0])}, {u64(mask)}")
        with f.when(f.op(f"icmp ne i64 {found}, 0")), self._values.scope():
            if len(runs) == 1:
                self._alternatives(runs[0], position + 1)
            else:
                half = len(runs) // 2
                self._by_member(runs[:half], position)
                self._by_member(runs[half:], position)

    def _chain(self, run: Sequence[int], position: int) -> None:
        event = self._event(run[0], position)
        if event is None:
            self._step(run[0])
            return
        f = self._f
        self._count(run, position, reached=True)
        if event.condition.op is Op.CONST and event.condition.data:  # ends here in every state
            self._end(run, position, self._program.sites[event.site].kind, event.site)
            return
        condition = self._values.of(event.condition)
        ends, onwards, after = f.label(), f.label(), f.label()
        f.branch(condition, ends, onwards)
        f.open(ends)
        self._end(run, position, self._program.sites[event.site].kind, event.site)
        f.jump(after)
        f.open(onwards)
        with self._values.scope():
            self._alternatives(run, position + 1)
        f.jump(after)
        f.open(after)

    # How a chain ends.

    def _count(self, run: Sequence[int], position: int, reached: bool) -> None:
        """Add the run's instances to their counters of this event, ended or (reached) got to."""
        by_counter: dict[int, int] = {}
        for instance in run:
            ending = self._plan.signatures[self._plan.of_instance[instance]].exits[position]
            counter = ending.reached if reached else ending.counter
            by_counter[counter] = by_counter.get(counter, 0) + 1
        for counter, times in by_counter.items():
            if counter == NONE:
                continue
            by: str | int = times
            if reached:
                event = self._program.instances[run[0]].events[position]
                by = self._f.op(f"mul i64 {self._values.integer(event.reached)}, {times}")
            self._f.increment("%c", abi.COUNTERS + counter, by)

    def _end(self, run: Sequence[int], position: int, kind: EventKind, site: int) -> None:
        f = self._f
        self._count(run, position, reached=False)
        self._outcome(run, site)
        if kind in (EventKind.CUT, EventKind.ERROR):
            f.store("1", "%c", abi.ENABLED)
        for instance in run:
            if kind is EventKind.ERROR or (kind is EventKind.CUT and (self._follows or instance in self._fair)):
                self._edge(word_names(self._layout.words), instance, str(-1 - site))

    def _outcome(self, run: Sequence[int], outcome: int) -> None:
        if self._record:
            f = self._f
            base = f.op(f"inttoptr i64 {f.load('%c', abi.OUTCOMES)} to ptr")
            for instance in run:
                f.line(f"store i16 {outcome}, ptr {f.at(base, instance, 'i16')}")

    def _meta(self, instance: int) -> str:
        return self._f.op(f"or i64 %m, {instance}")

    def _edge(self, words: Sequence[str], instance: int, code: str) -> None:
        arguments = word_arguments([*words, self._meta(instance), code])
        self._f.line(f"call fastcc void @edge(ptr %c, {arguments})")

    def _step(self, index: int) -> None:
        """The step is taken: count it, make the successor, send it where it belongs."""
        f = self._f
        instance = self._program.instances[index]
        f.increment("%c", abi.COUNTERS + self._plan.signatures[self._plan.of_instance[index]].fired)
        f.store("1", "%c", abi.ENABLED)
        self._outcome([index], FIRED)
        with self._values.scope():
            broken = "" if self._follows else self._broken(instance)
            outside = "" if self._follows else self._values.of(instance.outside)
            updates = {i: self._values.integer(node) for i, node in instance.updates.items()}
            words, left = self._canonicalizer.successor(f, word_names(self._layout.words), updates)
            if self._follows:
                survivors = [left.get(sort, "-1") for sort in self._layout.sorts]
                arguments = word_arguments([*words, *survivors, self._meta(index)])
                f.line(f"call fastcc void @offer(ptr %c, {arguments})")
            else:
                self._send(index, words, broken, outside)

    def _broken(self, instance: Instance) -> str:
        values = self._values
        return self._f.any_of([self._f.op(f"shl i64 {values.integer(n)}, {p}") for p, n in instance.breaks])

    def _send(self, index: int, words: Sequence[str], broken: str, outside: str) -> None:
        f = self._f
        meta = self._meta(index)
        out, inside, after = f.label(), f.label(), f.label()
        f.branch(outside, out, inside)
        f.open(out)
        f.line(f"call fastcc void @outside(ptr %c, {word_arguments([*words, meta, broken])})")
        f.jump(after)
        f.open(inside)
        if broken != "0":
            with f.when(f.op(f"icmp ne i64 {broken}, 0")):
                f.store(f.op(f"or i64 {f.load('%c', abi.BROKEN)}, {broken}"), "%c", abi.BROKEN)
                self._edge(words, index, broken)
        f.line(f"call fastcc void @push(ptr %c, {word_arguments([*words, meta])})")
        f.jump(after)
        f.open(after)
