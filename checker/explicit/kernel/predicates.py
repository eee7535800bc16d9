"""Liveness predicates on single states, as LLVM IR: conditions and goals of obligations, and conditions on steps."""

from __future__ import annotations

from checker.explicit.kernel.assembler import Function
from checker.explicit.kernel.codegen import Transitions
from checker.explicit.kernel.lowering import word_arguments
from checker.lang.ir import Node
from checker.lang.liveness import Liveness

PER_WORD = 32
"""Obligations of which a word holds the bits: 2k the condition, 2k + 1 the goal of the k-th."""

CONDITIONS_PER_WORD = 64
"""Conditions on steps of which a word holds the bits. Their words follow those of the obligations."""


def obligation_words(obligations: int) -> int:
    """64-bit words that `watch` gives for so many obligations."""
    return -(-obligations // PER_WORD)


def condition_words(conditions: int) -> int:
    """64-bit words that `watch` gives for so many conditions."""
    return -(-conditions // CONDITIONS_PER_WORD)


def predicate_functions(transitions: Transitions, words: int, liveness: Liveness | None) -> str:
    """watch(states, n, out): per state the words of the obligations and those of the conditions. words: of a state."""
    rows = _rows(liveness) if liveness is not None else []
    names = [f"watch{k}" for k in range(len(rows))]
    parts = [transitions.state_function(name, "i64", bits) for name, bits in zip(names, rows, strict=True)]
    f = Function("watch", "void", {"states": "ptr", "n": "i64", "out": "ptr"})
    with f.count("0", "%n") as i:
        state = f.at("%states", f.op(f"mul i64 {i}, {words}"))
        arguments = word_arguments([f.load(state, k) for k in range(words)])
        row = f.at("%out", f.op(f"mul i64 {i}, {len(names)}"))
        for k, name in enumerate(names):
            f.store(f.op(f"call fastcc i64 @{name}({arguments})"), row, k)
    f.line("ret void")
    return "\n".join([*parts, f.text()])


def _rows(liveness: Liveness) -> list[list[tuple[int, Node]]]:
    """Per word the bits, and what each says."""
    rows: list[list[tuple[int, Node]]] = []
    for first in range(0, len(liveness.obligations), PER_WORD):
        bits: list[tuple[int, Node]] = []
        for k, obligation in enumerate(liveness.obligations[first : first + PER_WORD]):
            bits += [] if obligation.condition is None else [(2 * k, obligation.condition)]
            bits.append((2 * k + 1, obligation.goal))
        rows.append(bits)
    conditions = liveness.conditions
    for first in range(0, len(conditions), CONDITIONS_PER_WORD):
        rows.append(list(enumerate(conditions[first : first + CONDITIONS_PER_WORD])))
    return rows
