"""The fixed part of a kernel as LLVM IR: boxes, expansion loop, survey of new states.

All of it is specialized for the number of words a state takes. Layouts of records: see `abi`.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import Function, u64
from checker.explicit.kernel.hashset import HashSet
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.lowering import word_arguments, word_names, word_parameters

LANES = 8  # states the survey takes at once
BITMAP_BITS = 6  # leaves up to this width are surveyed by a bitmap of codes, wider ones by the OR of values
_KEYS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8BB84B93962EACC9, 0x2D358DCCAA6C78A5)
_INTERNAL = "internal fastcc"


class Runtime:
    """Emits the run time for one layout. `steps`: names of the step functions; `invariants`: mask of properties."""

    def __init__(self, layout: Layout, steps: Sequence[str], invariants: int, actions: Sequence[int]) -> None:
        self._layout = layout
        self._words = layout.words
        self._steps = steps
        self._invariants = invariants
        self._actions = actions

    def text(self) -> str:
        """All functions and constants."""
        parts = [
            self._action_table(),
            self._hash(),
            self._push(),
            self._edge(),
            self._outside(),
            self._expand(),
            self._route(),
            *HashSet(self._layout).functions(),
            self._survey(),
            self._tally(),
            self._classify(),
        ]
        return "\n".join(parts)

    def _action_table(self) -> str:
        values = ", ".join(f"i16 {action}" for action in self._actions)
        return f"@action_of = internal constant [{len(self._actions)} x i16] [{values}]\n"

    def _hash(self) -> str:
        """Multiply pairs of words and fold the 128-bit products."""
        f = Function("hash", "i64", word_parameters(self._words), _INTERNAL, "alwaysinline")
        words = self._identity(f)
        state = u64(_KEYS[0])
        for k in range(0, self._words, 2):
            a = f.op(f"xor i64 {words[k]}, {state}")
            b = f.op(f"xor i64 {words[k + 1]}, {u64(_KEYS[1])}") if k + 1 < self._words else u64(_KEYS[2])
            product = f.op(f"mul i128 {f.op(f'zext i64 {a} to i128')}, {self._wide(f, b)}")
            low = f.op(f"trunc i128 {product} to i64")
            high = f.op(f"trunc i128 {f.op(f'lshr i128 {product}, 64')} to i64")
            state = f.op(f"xor i64 {low}, {high}")
        f.line(f"ret i64 {state}")
        return f.text()

    def _identity(self, f: Function) -> list[str]:
        """The words without what a view leaves out."""
        return [
            word if mask == (1 << 64) - 1 else f.op(f"and i64 {word}, {u64(mask)}")
            for word, mask in zip(word_names(self._words), self._layout.view, strict=True)
        ]

    def _shard(self, f: Function, words: Sequence[str], shards: str) -> str:
        """The shard of a state: cheaper than the hash, which is only worked out where it is looked up."""
        mixed = words[0]
        for k, word in enumerate(words[1:], start=1):
            turned = f.op(f"call i64 @llvm.fshl.i64(i64 {word}, i64 {word}, i64 {21 * k % 64})")
            mixed = f.op(f"xor i64 {mixed}, {turned}")
        mixed = f.op(f"mul i64 {mixed}, {u64(_KEYS[0])}")
        product = f.op(f"mul i128 {self._wide(f, mixed)}, {self._wide(f, shards)}")
        return f.op(f"trunc i128 {f.op(f'lshr i128 {product}, 64')} to i64")

    @staticmethod
    def _wide(f: Function, value: str) -> str:
        return f.op(f"zext i64 {value} to i128")

    def _push(self) -> str:
        """Put a candidate into the box of its shard; the caller made sure that there is room."""
        parameters = {"c": "ptr", **word_parameters(self._words), "meta": "i64"}
        f = Function("push", "void", parameters, _INTERNAL, "noinline")
        words = word_names(self._words)
        box = f.variable(str(abi.BOXES + 2))
        shards = f.load("%c", abi.SHARDS)
        with f.when(f.op(f"icmp ne i64 {shards}, 1")):
            shard = self._shard(f, self._identity(f), shards)
            box.set(f.op(f"add i64 {f.op(f'shl i64 {shard}, 1')}, {abi.BOXES + 2}"))
        self._append(f, box.get(), [*words, "%meta"])
        f.line("ret void")
        return f.text()

    @staticmethod
    def _append(f: Function, box: str, values: Sequence[str]) -> None:
        place = f.at("%c", box)
        cursor = f.op(f"load i64, ptr {place}")
        record = f.op(f"inttoptr i64 {cursor} to ptr")
        for k, value in enumerate(values):
            f.store(value, record, k)
        f.line(f"store i64 {f.op(f'add i64 {cursor}, {8 * len(values)}')}, ptr {place}")

    def _edge(self) -> str:
        """Put an edge into box 0 where that is open."""
        parameters = {"c": "ptr", **word_parameters(self._words), "meta": "i64", "code": "i64"}
        f = Function("edge", "void", parameters, _INTERNAL, "noinline cold")
        with f.when(f.op(f"icmp ne i64 {f.load('%c', abi.BOXES)}, 0")):
            self._append(f, str(abi.BOXES), [*word_names(self._words), "%meta", "%code"])
        f.line("ret void")
        return f.text()

    def _outside(self) -> str:
        """A successor that breaks the state constraint: properties hold it too, then it is dropped."""
        parameters = {"c": "ptr", **word_parameters(self._words), "meta": "i64", "broken": "i64"}
        f = Function("outside", "void", parameters, _INTERNAL, "noinline")
        words = word_names(self._words)
        broken = "%broken"
        f.increment("%c", abi.COUNTERS + abi.OUTSIDE_COUNTER)
        if self._invariants:
            bits = f.op(f"call fastcc i64 @check({word_arguments(words)})")
            bits = f.op(f"and i64 {bits}, {u64(self._invariants)}")
            broken = f.op(f"or i64 {broken}, {bits}")
        with f.when(f.op(f"icmp ne i64 {broken}, 0")):
            f.store(f.op(f"or i64 {f.load('%c', abi.BROKEN)}, {broken}"), "%c", abi.BROKEN)
        with f.when(f.op(f"icmp ne i64 {f.load('%c', abi.BOXES)}, 0")):
            code = f.op(f"or i64 {broken}, {abi.OUTSIDE}")
            f.line(f"call fastcc void @edge(ptr %c, {word_arguments([*words, '%meta', code])})")
        f.line("ret void")
        return f.text()

    def _state(self, f: Function, base: str, index: str) -> list[str]:
        """The words of state `index` of an array of states."""
        address = f.at(base, f.op(f"mul i64 {index}, {self._words}"))
        return [f.load(address, k) for k in range(self._words)]

    def _leave_when_full(self, f: Function, after: str) -> None:
        """Leave the loop when some box could not take all successors of one more state."""
        boxes = f.op(f"add i64 {f.load('%c', abi.SHARDS)}, 1")
        with f.count("0", boxes) as box:
            place = f.op(f"add i64 {f.op(f'shl i64 {box}, 1')}, {abi.BOXES}")
            cursor = f.load("%c", place)
            limit = f.load("%c", f.op(f"add i64 {place}, 1"))
            f.leave_when(f.op(f"icmp ugt i64 {cursor}, {limit}"), after)

    def _expand(self) -> str:
        """expand(context, states, first, limit) -> index of the first state not expanded."""
        parameters = {"c": "ptr", "states": "ptr", "first": "i64", "limit": "i64"}
        f = Function("expand", "i64", parameters)
        index = f.variable("%first")
        with f.loop() as after:
            i = index.get()
            f.leave_when(f.op(f"icmp uge i64 {i}, %limit"), after)
            self._leave_when_full(f, after)
            words = self._state(f, "%states", i)
            base = f.op(f"shl i64 {i}, {abi.META_SHIFT}")
            f.store("0", "%c", abi.ENABLED)
            for step in self._steps:
                f.line(f"call fastcc void @{step}(ptr %c, {word_arguments([base, *words])})")
            with f.when(f.op(f"icmp eq i64 {f.load('%c', abi.ENABLED)}, 0")):
                terminal = f.op(f"call fastcc i1 @terminal({word_arguments(words)})")
                with f.when(f.op(f"xor i1 {terminal}, true")):
                    f.increment("%c", abi.DEADLOCKS)
                    meta = f.op(f"or i64 {base}, {abi.NO_INSTANCE}")
                    arguments = word_arguments([*words, meta, str(abi.DEADLOCK)])
                    f.line(f"call fastcc void @edge(ptr %c, {arguments})")
            index.set(f.op(f"add i64 {i}, 1"))
        f.line(f"ret i64 {index.get()}")
        return f.text()

    def _route(self) -> str:
        """route(context, states, first, limit) -> index of the first state not sent to its shard's box."""
        parameters = {"c": "ptr", "states": "ptr", "first": "i64", "limit": "i64"}
        f = Function("route", "i64", parameters)
        index = f.variable("%first")
        with f.loop() as after:
            i = index.get()
            f.leave_when(f.op(f"icmp uge i64 {i}, %limit"), after)
            self._leave_when_full(f, after)
            meta = f.op(f"shl i64 {i}, {abi.META_SHIFT}")
            words = self._state(f, "%states", i)
            f.line(f"call fastcc void @push(ptr %c, {word_arguments([*words, meta])})")
            index.set(f.op(f"add i64 {i}, 1"))
        f.line(f"ret i64 {index.get()}")
        return f.text()

    def _classify(self) -> str:
        """classify(states, n, out): per state the bits of `check`, and OUTSIDE."""
        f = Function("classify", "void", {"states": "ptr", "n": "i64", "out": "ptr"})
        with f.count("0", "%n") as i:
            arguments = word_arguments(self._state(f, "%states", i))
            bits = f.op(f"call fastcc i64 @check({arguments})")
            outside = f.op(f"call fastcc i1 @constraint({arguments})")
            flag = f.op(f"select i1 {outside}, i64 {abi.OUTSIDE}, i64 0")
            f.store(f.op(f"or i64 {bits}, {flag}"), "%out", i)
        f.line("ret void")
        return f.text()

    def _survey(self) -> str:
        """survey(states, n, seen) -> OR of `check` over the states; n >= LANES.

        seen[leaf * LANES ...]: OR over the states of 1 << code, for wider leaves of the code itself; in
        LANES parts. The last LANES states are taken together, so that some may be taken twice.
        """
        f = Function("survey", "i64", {"states": "ptr", "n": "i64", "seen": "ptr"})
        last = f.op(f"sub i64 %n, {LANES}")
        position = f.variable("0")
        with f.loop() as after:
            i = position.get()
            f.leave_when(f.op(f"icmp uge i64 {i}, %n"), after)
            start = f.op(f"call i64 @llvm.umin.i64(i64 {i}, i64 {last})")
            self._observe(f, start)
            position.set(f.op(f"add i64 {i}, {LANES}"))
        result = f.variable("0")
        with f.count("0", "%n") as i:
            bits = f.op(f"call fastcc i64 @check({word_arguments(self._state(f, '%states', i))})")
            result.set(f.op(f"or i64 {result.get()}, {bits}"))
        f.line(f"ret i64 {result.get()}")
        return f.text()

    @staticmethod
    def _tally() -> str:
        """tally(actions, n, counts): counts[a] += how often the u16 a is among the n actions."""
        f = Function("tally", "void", {"actions": "ptr", "n": "i64", "counts": "ptr"})
        with f.count("0", "%n") as i:
            action = f.op(f"load i16, ptr {f.at('%actions', i, 'i16')}")
            f.increment("%counts", f.op(f"zext i16 {action} to i64"))
        f.line("ret void")
        return f.text()

    def _observe(self, f: Function, start: str) -> None:
        """Add LANES states from `start` on to what was seen of each leaf."""
        wide, lane = f"<{LANES * self._words} x i64>", f"<{LANES} x i64>"
        address = f.at("%states", f.op(f"mul i64 {start}, {self._words}"))
        block = f.op(f"load {wide}, ptr {address}, align 8")
        words = []
        for k in range(self._words):
            picks = ", ".join(f"i32 {k + self._words * j}" for j in range(LANES))
            words.append(f.op(f"shufflevector {wide} {block}, {wide} undef, <{LANES} x i32> <{picks}>"))

        def splat(value: int) -> str:
            return "<" + ", ".join([f"i64 {u64(value)}"] * LANES) + ">"

        for leaf, field in enumerate(self._layout.fields):
            code = splat(0)
            for piece in field:
                part = f.op(f"lshr {lane} {words[piece.word]}, {splat(piece.shift)}")
                part = f.op(f"and {lane} {part}, {splat(piece.mask)}")
                part = f.op(f"shl {lane} {part}, {splat(piece.at)}")
                code = f.op(f"or {lane} {code}, {part}")
            if observed_by_bitmap(self._layout, leaf):
                code = f.op(f"shl {lane} {splat(1)}, {code}")
            place = f.at("%seen", leaf * LANES)
            old = f.op(f"load {lane}, ptr {place}, align 8")
            f.line(f"store {lane} {f.op(f'or {lane} {old}, {code}')}, ptr {place}, align 8")


def observed_by_bitmap(layout: Layout, leaf: int) -> bool:
    """True if the survey keeps which codes of the leaf it saw (else the OR of its values)."""
    return layout.bits[leaf] <= BITMAP_BITS
