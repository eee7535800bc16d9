"""Steps that were observed: which successors of given states are by a given action and look as they should.

A kernel of its own, compiled from the same transitions as that of a search. It looks at no property and at no
state constraint, which bounds a search and not a behaviour; and with each successor it gives the survivors of
each sort of ordinals, from which one can see what became of a number when the ranks were assigned again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import DECLARATIONS, Function
from checker.explicit.kernel.cache import load_entry, store_entry
from checker.explicit.kernel.codegen import Transitions
from checker.explicit.kernel.coverage import plan_counters
from checker.explicit.kernel.description import describe, layout_of, sites_of
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.lowering import word_arguments, word_names, word_parameters
from checker.explicit.kernel.native import compile_ir, link
from checker.explicit.kernel.runtime import Runtime
from checker.lang.frontend import compile_model
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.running.arrays import Longs, Words

ANY = -1  # for an action: steps of all of them
ALL_SURVIVE = -1  # survivors of a sort that was not renumbered
_BATCH = 1 << 14  # successors that are taken from native code at once
_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_FOLLOW = ctypes.CFUNCTYPE(_LONG, _POINTER, _POINTER, _POINTER, _POINTER, _LONG, _LONG)


@dataclass(frozen=True)
class Successors:
    """Successors, row by row: the state it is a successor of (an index), by which instance, its words.

    survivors: shape (rows, sorts), a mask of the codes before the step that are left: bit 0 always, bit c for the
    live code c, the bits above all codes of the sort for those that were issued; or ALL_SURVIVE.
    cut_sources, cut_instances: steps that were asked for and would exceed a bound of the model.
    """

    sources: Longs
    instances: Longs
    words: Words
    survivors: Longs
    cut_sources: Longs
    cut_instances: Longs


class ObservedSteps:
    """The steps of one model. Not for several threads at once."""

    def __init__(self, metadata: dict[str, Any], code: bytes) -> None:
        self.layout: Layout = layout_of(metadata)
        self.actions: list[str] = list(metadata["actions"])
        self.instances: list[tuple[int, int]] = [(a, n) for a, n in metadata["instances"]]
        self.sorts = list(self.layout.sorts)
        self._is_cut = np.array([site.kind is EventKind.CUT for site in sites_of(metadata)], dtype=bool)
        self._engine, (address,) = link(code, ["follow"])  # the engine keeps the code loaded
        self._follow: Callable[..., int] = _FOLLOW(address)
        margin = len(self.instances) + 1
        self._edges = np.empty((_BATCH + margin, self.layout.words + 2), np.int64)
        self._found = np.empty((_BATCH + margin, self.layout.words + len(self.sorts) + 1), np.int64)
        self._record = np.zeros(abi.COUNTERS + metadata["counters"], np.int64)
        self._record[abi.SHARDS] = 1

    def follow(self, states: Words, actions: Longs, wanted: Words) -> Successors:
        """The successors of `states[i]` by `actions[i]` (or ANY) whose words w have w & mask == value.

        wanted[i]: the mask's words, then the value's. All arrays contiguous.
        """
        done, found, cut = 0, [], []
        while done < len(states):
            for box, memory in enumerate((self._edges, self._found)):
                at = abi.BOXES + 2 * box
                self._record[at] = memory.ctypes.data
                self._record[at + 1] = memory.ctypes.data + _BATCH * memory.strides[0]
            done = self._follow(
                self._record.ctypes.data, states.ctypes.data, actions.ctypes.data, wanted.ctypes.data, done, len(states)
            )
            found.append(self._taken(1, self._found).copy())
            edges = self._taken(0, self._edges)
            cut.append(edges[self._is_cut[-1 - edges[:, -1]], -2].copy())
        rows = np.concatenate([self._found[:0], *found])
        cuts = np.concatenate([np.zeros(0, np.int64), *cut])
        words = self.layout.words
        return Successors(
            rows[:, -1] >> abi.META_SHIFT, rows[:, -1] & abi.NO_INSTANCE,
            np.ascontiguousarray(rows[:, :words]).view(np.uint64), rows[:, words:-1],
            cuts >> abi.META_SHIFT, cuts & abi.NO_INSTANCE,
        )  # fmt: skip

    def _taken(self, box: int, memory: Longs) -> Longs:
        used = int(self._record[abi.BOXES + 2 * box]) - memory.ctypes.data
        return memory[: used // memory.strides[0]]


def observed_steps_of(model: BoundModel) -> ObservedSteps:
    """The compiled steps of a bound model, from the cache where they are there. Its properties are left out."""
    model = model.with_properties([])
    key = f"{model.key()}-follow"
    found = load_entry(key)
    if found is None:
        found = _compiled(compile_model(model, for_kernel=True))
        store_entry(key, *found)
    return ObservedSteps(*found)


def _compiled(program: Program) -> tuple[dict[str, Any], bytes]:
    layout = Layout(program.leaves, program.bags, program.fresh_per_step)
    plan = plan_counters(program.instances, program.sites)
    transitions = Transitions(program, layout, plan, record_outcomes=False, follows=True)
    text = transitions.text()
    functions = _Functions(layout, transitions.names, 0, transitions.actions)
    return describe(program, plan, False), compile_ir("\n".join([DECLARATIONS, text, functions.text()]))


class _Functions(Runtime):
    """The loop, and what becomes of a successor. `actions`: of each step function."""

    def text(self) -> str:
        return "\n".join([self._edge(), self._offer(), self._follow()])

    def _offer(self) -> str:
        """Put a successor that matches into box 1."""
        survivors = [f"left{k}" for k in range(len(self._layout.sorts))]
        parameters = {"c": "ptr", **word_parameters(self._words), **dict.fromkeys(survivors, "i64"), "meta": "i64"}
        f = Function("offer", "void", parameters, "internal fastcc", "noinline")
        words = word_names(self._words)
        wanted = f.op(f"inttoptr i64 {f.load('%c', abi.WANTED)} to ptr")
        others = []
        for k, word in enumerate(words):
            differing = f.op(f"xor i64 {word}, {f.load(wanted, self._words + k)}")
            others.append(f.op(f"and i64 {differing}, {f.load(wanted, k)}"))
        with f.when(f.op(f"icmp eq i64 {f.any_of(others)}, 0")):
            self._append(f, str(abi.BOXES + 2), [*words, *[f"%{name}" for name in survivors], "%meta"])
        f.line("ret void")
        return f.text()

    def _follow(self) -> str:
        """follow(context, states, actions, wanted, first, limit) -> index of the first state not followed."""
        parameters = {"c": "ptr", "states": "ptr", "actions": "ptr", "wanted": "ptr", "first": "i64", "limit": "i64"}
        f = Function("follow", "i64", parameters)
        index = f.variable("%first")
        with f.loop() as after:
            i = index.get()
            f.leave_when(f.op(f"icmp uge i64 {i}, %limit"), after)
            self._leave_when_full(f, after)
            words = self._state(f, "%states", i)
            place = f.at("%wanted", f.op(f"mul i64 {i}, {2 * self._words}"))
            f.store(f.op(f"ptrtoint ptr {place} to i64"), "%c", abi.WANTED)
            action = f.load("%actions", i)
            everything = f.op(f"icmp eq i64 {action}, {ANY}")
            base = f.op(f"shl i64 {i}, {abi.META_SHIFT}")
            for step, number in zip(self._steps, self._actions, strict=True):
                asked = f.op(f"icmp eq i64 {action}, {number}")
                with f.when(f.op(f"or i1 {asked}, {everything}")):
                    f.line(f"call fastcc void @{step}(ptr %c, {word_arguments([base, *words])})")
            index.set(f.op(f"add i64 {i}, 1"))
        f.line(f"ret i64 {index.get()}")
        return f.text()
