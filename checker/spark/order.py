"""Sorted arrays of packed states: sort, and as native code merge, mark what was seen, locate.

States are ordered as unsigned integers, word 0 least significant, of the bits that count for their identity.
A record is a candidate as the kernel makes it (`abi`): words, then a meta, of which the least is kept where two
records are of the same state. Of states that differ only in what a view hides the one with the least words is kept.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.explicit.kernel.assembler import DECLARATIONS, Function, Variable
from checker.explicit.kernel.native import compile_ir, link
from checker.running.arrays import Longs, Words

Records = Words  # shape (n, words + 1)

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "merge_records": (_LONG, _POINTER, _LONG, _POINTER, _LONG, _POINTER),
    "merge_states": (_LONG, _POINTER, _LONG, _POINTER, _LONG, _POINTER),
    "mark_seen": (_LONG, _POINTER, _LONG, _LONG, _POINTER, _LONG, _POINTER),
    "locate": (None, _POINTER, _LONG, _POINTER, _LONG, _LONG, _POINTER),
    "shards": (None, _POINTER, _LONG, _LONG, _POINTER),
}
_KEY = 0x9E3779B97F4A7C15  # odd, and without a pattern: 2^64 by the golden ratio
_COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"


class Order:
    """The order of states whose identity is the bits in `view`, a mask per word (as in `Layout`)."""

    def __init__(self, view: Sequence[int]) -> None:
        self.words = len(view)
        self._view = tuple(view)
        text = DECLARATIONS + _COPY + _Code(view).text()
        self._engine, addresses = link(compile_ir(text), list(_SIGNATURES))
        self._calls = {
            name: ctypes.CFUNCTYPE(*signature)(address)
            for (name, signature), address in zip(_SIGNATURES.items(), addresses, strict=True)
        }

    def sort(self, states: Words) -> npt.NDArray[np.intp]:
        """The indices that bring states into order."""
        return np.lexsort([states[:, k] & np.uint64(mask) for k, mask in enumerate(self._view)])

    def key(self, state: Words) -> int:
        """The number that a single state (shape (words,)) is ordered by."""
        return sum((int(word) & mask) << 64 * k for k, (word, mask) in enumerate(zip(state, self._view, strict=True)))

    def merge(self, parts: Iterable[Records]) -> Records:
        """Sorted records, or sorted states without metas, as one sorted array in which each state stands once.

        Parts are merged with others of about their size as they come.
        """
        stack: list[Records] = []
        for part in parts:
            stack.append(part)
            while len(stack) > 1 and len(stack[-2]) <= 2 * len(stack[-1]):
                stack.append(self._merged(stack.pop(), stack.pop()))
        while len(stack) > 1:
            stack.append(self._merged(stack.pop(), stack.pop()))
        return stack[0] if stack else np.empty((0, self.words + 1), np.uint64)

    def _merged(self, a: Records, b: Records) -> Records:
        out = np.empty((len(a) + len(b), a.shape[1]), np.uint64)
        call = self._calls["merge_records" if a.shape[1] > self.words else "merge_states"]
        return out[: call(a.ctypes.data, len(a), b.ctypes.data, len(b), out.ctypes.data)]

    def mark_seen(self, records: Records, first: int, states: Words, is_seen: npt.NDArray[np.uint8]) -> int:
        """Set is_seen[i] for those of the sorted records from `first` on that are among the sorted `states`.

        Returns the first record that is not less than all of them: where to continue with the states after these.
        """
        arguments = records.ctypes.data, len(records), first, states.ctypes.data, len(states), is_seen.ctypes.data
        return int(self._calls["mark_seen"](*arguments))

    def locate(self, wanted: Words, among: Words | Records) -> Longs:
        """For each of the states `wanted`, how many of the sorted states or records are less than it."""
        out = np.empty(len(wanted), np.int64)
        arguments = wanted.ctypes.data, len(wanted), among.ctypes.data, len(among), among.shape[1], out.ctypes.data
        self._calls["locate"](*arguments)
        return out

    def shards(self, states: Words, count: int) -> npt.NDArray[np.uint16]:
        """The shards that states belong to, 0 to count - 1."""
        out = np.empty(len(states), np.uint16)
        self._calls["shards"](states.ctypes.data, len(states), count, out.ctypes.data)
        return out


@functools.cache
def order_of(view: tuple[int, ...]) -> Order:
    """The order for a layout's view, compiled once in a process."""
    return Order(view)


class _Code:
    """Emits the functions. A state is loaded as one wide integer, which the processor compares without branches."""

    def __init__(self, view: Sequence[int]) -> None:
        self._words = len(view)
        self._wide = f"i{64 * self._words}"
        self._mask = sum(mask << 64 * k for k, mask in enumerate(view))
        self._has_view = self._mask != (1 << 64 * self._words) - 1

    def text(self) -> str:
        return "\n".join([
            self._merge("merge_records", meta=True), self._merge("merge_states", meta=False),
            self._mark_seen(), self._locate(), self._shards(),
        ])  # fmt: skip

    def _load(self, f: Function, address: str) -> tuple[str, str]:
        """The state at an address (an i64): all of it, and its identity."""
        pointer = f.op(f"inttoptr i64 {address} to ptr")
        value = f.op(f"load {self._wide}, ptr {pointer}, align 8")
        return value, f.op(f"and {self._wide} {value}, {self._mask}") if self._has_view else value

    def _load_at(self, f: Function, pointer: str) -> str:
        """The identity of the state that `pointer` points to."""
        return self._load(f, f.op(f"ptrtoint ptr {pointer} to i64"))[1]

    @staticmethod
    def _start(f: Function, *pointers: str) -> list[Variable]:
        """Cursors at the start of these arrays."""
        return [f.variable(f.op(f"ptrtoint ptr {pointer} to i64")) for pointer in pointers]

    @staticmethod
    def _end(f: Function, pointer: str, n: str, size: int) -> str:
        return f.op(f"add i64 {f.op(f'ptrtoint ptr {pointer} to i64')}, {f.op(f'mul i64 {n}, {size}')}")

    @staticmethod
    def _advance(f: Function, cursor: Variable, size: int, condition: str = "true") -> None:
        cursor.set(f.op(f"add i64 {cursor.get()}, {f.op(f'select i1 {condition}, i64 {size}, i64 0')}"))

    def _merge(self, name: str, *, meta: bool) -> str:
        """merge(a, n, b, m, out) -> how many there are."""
        size = 8 * (self._words + meta)
        f = Function(name, "i64", {"a": "ptr", "n": "i64", "b": "ptr", "m": "i64", "out": "ptr"})
        a, b, out = self._start(f, "%a", "%b", "%out")
        ends = {a: self._end(f, "%a", "%n", size), b: self._end(f, "%b", "%m", size)}
        with f.loop() as after:
            for cursor, end in ends.items():
                f.leave_when(f.op(f"icmp eq i64 {cursor.get()}, {end}"), after)
            at = a.get(), b.get()
            (x, of_x), (y, of_y) = (self._load(f, cursor) for cursor in at)
            first = f.op(f"icmp ule {self._wide} {of_x}, {of_y}")
            second = f.op(f"icmp ule {self._wide} {of_y}, {of_x}")
            takes = f.op(f"icmp ule {self._wide} {x}, {y}") if self._has_view else first
            if self._has_view:  # the same but for what is hidden: the lesser words
                equal = f.op(f"and i1 {first}, {second}")
                takes = f.op(f"select i1 {equal}, i1 {takes}, i1 {first}")
            place = f.op(f"inttoptr i64 {out.get()} to ptr")
            chosen = f.op(f"select i1 {takes}, {self._wide} {x}, {self._wide} {y}")
            f.line(f"store {self._wide} {chosen}, ptr {place}, align 8")
            if meta:
                f.store(self._least_meta(f, at, first, second), place, self._words)
            self._advance(f, a, size, first)
            self._advance(f, b, size, second)
            self._advance(f, out, size)
        for cursor, end in ends.items():
            rest = f.op(f"sub i64 {end}, {cursor.get()}")
            source, target = (f.op(f"inttoptr i64 {c.get()} to ptr") for c in (cursor, out))
            f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {rest}, i1 false)")
            out.set(f.op(f"add i64 {out.get()}, {rest}"))
        length = f.op(f"sub i64 {out.get()}, {self._end(f, '%out', '0', size)}")
        f.line(f"ret i64 {f.op(f'udiv i64 {length}, {size}')}")
        return f.text()

    def _least_meta(self, f: Function, at: tuple[str, str], first: str, second: str) -> str:
        """The meta of the record that comes first, or the lesser one of two records of one state."""
        metas = [f.load(f.op(f"inttoptr i64 {cursor} to ptr"), self._words) for cursor in at]
        least = f.op(f"call i64 @llvm.umin.i64(i64 {metas[0]}, i64 {metas[1]})")
        only = f.op(f"select i1 {first}, i64 {metas[0]}, i64 {metas[1]}")
        return f.op(f"select i1 {f.op(f'and i1 {first}, {second}')}, i64 {least}, i64 {only}")

    def _mark_seen(self) -> str:
        """mark_seen(records, n, first, states, m, is_seen) -> the first record that is not less than all the states."""
        parameters = {"records": "ptr", "n": "i64", "first": "i64", "states": "ptr", "m": "i64", "is_seen": "ptr"}
        f = Function("mark_seen", "i64", parameters)
        size = 8 * self._words
        index = f.variable("%first")
        (cursor,) = self._start(f, "%states")
        end = self._end(f, "%states", "%m", size)
        with f.loop() as after:
            i, at = index.get(), cursor.get()
            f.leave_when(f.op(f"icmp uge i64 {i}, %n"), after)
            f.leave_when(f.op(f"icmp eq i64 {at}, {end}"), after)
            record = f.at("%records", f.op(f"mul i64 {i}, {self._words + 1}"))
            mine, other = self._load_at(f, record), self._load(f, at)[1]
            no_later = f.op(f"icmp ule {self._wide} {mine}, {other}")
            no_earlier = f.op(f"icmp ule {self._wide} {other}, {mine}")
            place = f.at("%is_seen", i, "i8")
            found = f.op(f"zext i1 {f.op(f'and i1 {no_later}, {no_earlier}')} to i8")
            before = f.op(f"load i8, ptr {place}")
            f.line(f"store i8 {f.op(f'or i8 {before}, {found}')}, ptr {place}")
            index.set(f.op(f"add i64 {i}, {f.op(f'zext i1 {no_later} to i64')}"))
            self._advance(f, cursor, size, no_earlier)
        f.line(f"ret i64 {index.get()}")
        return f.text()

    def _locate(self) -> str:
        """locate(wanted, m, among, n, width, out): by bisection; width: words from one of `among` to the next."""
        parameters = {"wanted": "ptr", "m": "i64", "among": "ptr", "n": "i64", "width": "i64", "out": "ptr"}
        f = Function("locate", "void", parameters)
        with f.count("0", "%m") as i:
            wanted = self._load_at(f, f.at("%wanted", f.op(f"mul i64 {i}, {self._words}")))
            low, high = f.variable("0"), f.variable("%n")
            with f.loop() as after:
                a, b = low.get(), high.get()
                f.leave_when(f.op(f"icmp uge i64 {a}, {b}"), after)
                middle = f.op(f"lshr i64 {f.op(f'add i64 {a}, {b}')}, 1")
                other = self._load_at(f, f.at("%among", f.op(f"mul i64 {middle}, %width")))
                less = f.op(f"icmp ult {self._wide} {other}, {wanted}")
                low.set(f.op(f"select i1 {less}, i64 {f.op(f'add i64 {middle}, 1')}, i64 {a}"))
                high.set(f.op(f"select i1 {less}, i64 {b}, i64 {middle}"))
            f.store(low.get(), "%out", i)
        f.line("ret void")
        return f.text()

    def _shards(self) -> str:
        """shards(states, n, count, out): by a cheap hash of what counts for the identity."""
        f = Function("shards", "void", {"states": "ptr", "n": "i64", "count": "i64", "out": "ptr"})
        with f.count("0", "%n") as i:
            identity = self._load_at(f, f.at("%states", f.op(f"mul i64 {i}, {self._words}")))
            mixed = "0"
            for k in range(self._words):
                word = f.op(f"lshr {self._wide} {identity}, {64 * k}")
                word = word if self._words == 1 else f.op(f"trunc {self._wide} {word} to i64")
                turned = f.op(f"call i64 @llvm.fshl.i64(i64 {word}, i64 {word}, i64 {21 * k % 64})")
                mixed = f.op(f"xor i64 {mixed}, {turned}")
            factors = f.op(f"mul i64 {mixed}, {_KEY}"), "%count"
            wide = [f.op(f"zext i64 {factor} to i128") for factor in factors]
            product = f.op(f"mul i128 {wide[0]}, {wide[1]}")
            shard = f.op(f"trunc i128 {f.op(f'lshr i128 {product}, 64')} to i16")
            f.line(f"store i16 {shard}, ptr {f.at('%out', i, 'i16')}")
        f.line("ret void")
        return f.text()
