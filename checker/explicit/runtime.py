"""The fixed part of a kernel as LLVM IR: outboxes, hash set, expansion loop, survey of new states.

All of it is specialized for the number of words a state takes. Layouts of records: see `abi`.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.explicit import abi
from checker.explicit.assembler import Function, u64
from checker.explicit.layout import Layout
from checker.explicit.lowering import word_arguments, word_names, word_parameters
from checker.lang.ir import Kind

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
    """Whether the survey keeps which codes of the leaf it saw (else the OR of its values)."""
    return layout.bits[leaf] <= BITMAP_BITS and layout.leaves[leaf].kind is not Kind.SET


class HashSet:
    """Emits insert, find and rehash: open addressing, linear probing, equality on the stored words."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._words = layout.words
        self._candidate = layout.words + 1

    def functions(self) -> list[str]:
        return [self._insert(), self._find(), self._rehash()]

    @staticmethod
    def _pointer(f: Function, shard: str, member: int) -> str:
        return f.op(f"inttoptr i64 {f.load(shard, member)} to ptr")

    @staticmethod
    def _tag(f: Function, value: str) -> str:
        """The tag of a hash, in its place in a slot: bits that do not choose the slot."""
        return f.op(f"and i64 {f.op(f'shl i64 {value}, 8')}, {u64(-1 << abi.INDEX_BITS)}")

    def _hash_block(self, f: Function, records: str, stride: int, n: str, table: str, mask: str, hashes: str) -> None:
        """Hash n states, `stride` words apart, and prefetch their slots."""
        with f.count("0", n) as i:
            address = f.at(records, f.op(f"mul i64 {i}, {stride}"))
            words = word_arguments([f.load(address, k) for k in range(self._words)])
            value = f.op(f"call fastcc i64 @hash({words})")
            f.store(value, hashes, i)
            f.prefetch(f.at(table, f.op(f"and i64 {value}, {mask}")))

    def _same(self, f: Function, stored: str, candidate: str, view: Sequence[int]) -> str:
        difference = []
        for k, bits in enumerate(view):
            word = f.op(f"xor i64 {f.load(stored, k)}, {f.load(candidate, k)}")
            difference.append(word if bits == (1 << 64) - 1 else f.op(f"and i64 {word}, {u64(bits)}"))
        return f.op(f"icmp eq i64 {f.any_of(difference)}, 0")

    def _stored(self, f: Function, store: str, slot: str) -> tuple[str, str]:
        """The index in a slot, and the address of the state there."""
        index = f.op(f"sub i64 {f.op(f'and i64 {slot}, {(1 << abi.INDEX_BITS) - 1}')}, 1")
        return index, f.at(store, f.op(f"mul i64 {index}, {self._words}"))

    def _step(self, f: Function, position: str, mask: str) -> str:
        return f.op(f"and i64 {f.op(f'add i64 {position}, 1')}, {mask}")

    def _insert(self) -> str:
        """insert(shard, candidates, n) -> how many were dealt with before the shard's limit was reached."""
        f = Function("insert", "i64", {"shard": "ptr", "candidates": "ptr", "n": "i64"})
        table, mask = self._pointer(f, "%shard", abi.TABLE), f.load("%shard", abi.MASK)
        store, limit = self._pointer(f, "%shard", abi.STORE), f.load("%shard", abi.LIMIT)
        hashes, places = f.array(abi.BLOCK), f.array(abi.BLOCK)
        done = f.variable("0")
        with f.loop() as after:
            first = done.get()
            f.leave_when(f.op(f"icmp uge i64 {first}, %n"), after)
            count = f.load("%shard", abi.COUNT)
            f.leave_when(f.op(f"icmp ugt i64 {f.op(f'add i64 {count}, {abi.BLOCK}')}, {limit}"), after)
            left = f.op(f"sub i64 %n, {first}")
            size = f.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {abi.BLOCK})")
            block = f.at("%candidates", f.op(f"mul i64 {first}, {self._candidate}"))
            self._hash_block(f, block, self._candidate, size, table, mask, hashes)
            self._prefetch_states(f, table, mask, store, hashes, size, places)
            with f.count("0", size) as i:
                candidate = f.at(block, f.op(f"mul i64 {i}, {self._candidate}"))
                self._insert_one(f, table, mask, store, candidate, f.load(hashes, i), f.load(places, i))
            done.set(f.op(f"add i64 {first}, {size}"))
        f.line(f"ret i64 {done.get()}")
        return f.text()

    def _prefetch_states(
        self, f: Function, table: str, mask: str, store: str, hashes: str, size: str, places: str
    ) -> None:
        """For each candidate, walk to the first slot that is free or has its tag; prefetch the state there."""
        with f.count("0", size) as i:
            value = f.load(hashes, i)
            tag = self._tag(f, value)
            position = f.variable(f.op(f"and i64 {value}, {mask}"))
            with f.loop() as stop:
                at = position.get()
                f.store(at, places, i)
                slot = f.load(table, at)
                f.leave_when(f.op(f"icmp eq i64 {slot}, 0"), stop)
                rest = f.op(f"xor i64 {slot}, {tag}")
                with f.when(f.op(f"icmp ult i64 {rest}, {1 << abi.INDEX_BITS}")):
                    f.prefetch(self._stored(f, store, slot)[1])
                f.leave_when(f.op(f"icmp ult i64 {rest}, {1 << abi.INDEX_BITS}"), stop)
                position.set(self._step(f, at, mask))

    def _insert_one(
        self, f: Function, table: str, mask: str, store: str, candidate: str, value: str, start: str
    ) -> None:
        tag = self._tag(f, value)
        position = f.variable(start)
        with f.loop() as stop:
            at = position.get()
            slot = f.load(table, at)
            with f.when(f.op(f"icmp eq i64 {slot}, 0")):
                self._add(f, table, store, candidate, at, tag)
            f.leave_when(f.op(f"icmp eq i64 {slot}, 0"), stop)
            rest = f.op(f"xor i64 {slot}, {tag}")
            compare, onwards = f.label(), f.label()
            f.branch(f.op(f"icmp ult i64 {rest}, {1 << abi.INDEX_BITS}"), compare, onwards)
            f.open(compare)
            index, stored = self._stored(f, store, slot)
            again, other = f.label(), f.label()
            f.branch(self._same(f, stored, candidate, self._layout.view), again, other)
            f.open(again)
            self._met_again(f, candidate, index, stored)
            f.jump(stop)
            f.open(other)
            f.jump(onwards)
            f.open(onwards)
            position.set(self._step(f, at, mask))

    def _add(self, f: Function, table: str, store: str, candidate: str, at: str, tag: str) -> None:
        index = f.load("%shard", abi.COUNT)
        count = f.op(f"add i64 {index}, 1")
        f.store(count, "%shard", abi.COUNT)
        f.store(f.op(f"or i64 {tag}, {count}"), table, at)
        address = f.at(store, f.op(f"mul i64 {index}, {self._words}"))
        for k in range(self._words):
            f.store(f.load(candidate, k), address, k)
        place = self._origin(f, f.op(f"sub i64 {index}, {f.load('%shard', abi.LEVEL_START)}"))
        f.line(f"store i16 {self._action(f, candidate)}, ptr {place}")

    def _origin(self, f: Function, offset: str) -> str:
        return f.at(self._pointer(f, "%shard", abi.ORIGIN), offset, "i16")

    def _action(self, f: Function, candidate: str) -> str:
        meta = f.load(candidate, self._words)
        return f.op(f"load i16, ptr {f.at('@action_of', f.op(f'and i64 {meta}, {abi.NO_INSTANCE}'), 'i16')}")

    def _met_again(self, f: Function, candidate: str, index: str, stored: str) -> None:
        """A state of the level being built keeps the least action and, under a view, the least words."""
        offset = f.op(f"sub i64 {index}, {f.load('%shard', abi.LEVEL_START)}")
        with f.when(f.op(f"icmp sge i64 {offset}, 0")):
            place = self._origin(f, offset)
            action, old = self._action(f, candidate), f.op(f"load i16, ptr {place}")
            less = f.op(f"icmp ult i16 {action}, {old}")
            f.line(f"store i16 {f.op(f'select i1 {less}, i16 {action}, i16 {old}')}, ptr {place}")
            if self._layout.has_view:
                with f.when(self._less(f, candidate, stored)):
                    for k in range(self._words):
                        f.store(f.load(candidate, k), stored, k)

    def _less(self, f: Function, a: str, b: str) -> str:
        """Whether the words at `a` come before those at `b`."""
        result = "false"
        for k in reversed(range(self._words)):
            x, y = f.load(a, k), f.load(b, k)
            equal = f.op(f"icmp eq i64 {x}, {y}")
            result = f.op(f"select i1 {equal}, i1 {result}, i1 {f.op(f'icmp ult i64 {x}, {y}')}")
        return result

    def _find(self) -> str:
        """find(shard, candidates, n, out): out[i] = index + 1 of the state with exactly these words, or 0."""
        f = Function("find", "void", {"shard": "ptr", "candidates": "ptr", "n": "i64", "out": "ptr"})
        table, mask = self._pointer(f, "%shard", abi.TABLE), f.load("%shard", abi.MASK)
        store = self._pointer(f, "%shard", abi.STORE)
        exact = [(1 << 64) - 1] * self._words
        with f.count("0", "%n") as i:
            candidate = f.at("%candidates", f.op(f"mul i64 {i}, {self._candidate}"))
            words = word_arguments([f.load(candidate, k) for k in range(self._words)])
            value = f.op(f"call fastcc i64 @hash({words})")
            tag = self._tag(f, value)
            f.store("0", "%out", i)
            position = f.variable(f.op(f"and i64 {value}, {mask}"))
            with f.loop() as stop:
                at = position.get()
                slot = f.load(table, at)
                f.leave_when(f.op(f"icmp eq i64 {slot}, 0"), stop)
                rest = f.op(f"xor i64 {slot}, {tag}")
                with f.when(f.op(f"icmp ult i64 {rest}, {1 << abi.INDEX_BITS}")):
                    index, stored = self._stored(f, store, slot)
                    with f.when(self._same(f, stored, candidate, exact)):
                        f.store(f.op(f"add i64 {index}, 1"), "%out", i)
                f.leave_when(f.op(f"icmp ne i64 {f.load('%out', i)}, 0"), stop)
                position.set(self._step(f, at, mask))
        f.line("ret void")
        return f.text()

    def _rehash(self) -> str:
        """rehash(shard): enter all stored states into an empty table."""
        f = Function("rehash", "void", {"shard": "ptr"})
        table, mask = self._pointer(f, "%shard", abi.TABLE), f.load("%shard", abi.MASK)
        store, count = self._pointer(f, "%shard", abi.STORE), f.load("%shard", abi.COUNT)
        hashes = f.array(abi.BLOCK)
        first = f.variable("0")
        with f.loop() as after:
            start = first.get()
            f.leave_when(f.op(f"icmp uge i64 {start}, {count}"), after)
            left = f.op(f"sub i64 {count}, {start}")
            size = f.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {abi.BLOCK})")
            block = f.at(store, f.op(f"mul i64 {start}, {self._words}"))
            self._hash_block(f, block, self._words, size, table, mask, hashes)
            with f.count("0", size) as i:
                value = f.load(hashes, i)
                position = f.variable(f.op(f"and i64 {value}, {mask}"))
                with f.loop() as stop:
                    free = f.op(f"icmp eq i64 {f.load(table, position.get())}, 0")
                    f.leave_when(free, stop)
                    position.set(self._step(f, position.get(), mask))
                number = f.op(f"add i64 {f.op(f'add i64 {start}, {i}')}, 1")
                f.store(f.op(f"or i64 {self._tag(f, value)}, {number}"), table, position.get())
            first.set(f.op(f"add i64 {start}, {size}"))
        f.line("ret void")
        return f.text()
