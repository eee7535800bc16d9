"""What liveness asks of single states, as LLVM IR: per obligation, whether its condition and its goal hold."""

from __future__ import annotations

from collections.abc import Sequence

from checker.explicit.kernel.assembler import Function
from checker.explicit.kernel.codegen import Transitions
from checker.explicit.kernel.lowering import word_arguments
from checker.lang.ir import Node
from checker.lang.liveness import Obligation

PER_WORD = 32
"""Obligations of which a word holds the bits: 2k the condition, 2k + 1 the goal of the k-th."""


def watch_functions(transitions: Transitions, words: int, obligations: Sequence[Obligation]) -> str:
    """watch(states, n, out): per state one i64 for every PER_WORD obligations. words: of a state."""
    names: list[str] = []
    parts: list[str] = []
    for first in range(0, len(obligations), PER_WORD):
        bits: list[tuple[int, Node]] = []
        for k, obligation in enumerate(obligations[first : first + PER_WORD]):
            bits += [] if obligation.condition is None else [(2 * k, obligation.condition)]
            bits.append((2 * k + 1, obligation.goal))
        names.append(f"watch{len(names)}")
        parts.append(transitions.state_function(names[-1], "i64", bits))
    f = Function("watch", "void", {"states": "ptr", "n": "i64", "out": "ptr"})
    with f.count("0", "%n") as i:
        state = f.at("%states", f.op(f"mul i64 {i}, {words}"))
        arguments = word_arguments([f.load(state, k) for k in range(words)])
        row = f.at("%out", f.op(f"mul i64 {i}, {len(names)}"))
        for k, name in enumerate(names):
            f.store(f.op(f"call fastcc i64 @{name}({arguments})"), row, k)
    f.line("ret void")
    return "\n".join([*parts, f.text()])
