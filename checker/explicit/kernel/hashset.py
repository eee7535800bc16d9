"""The hash set of packed states as LLVM IR: insert, find and rehash.

Open addressing with linear probing over slots of tag and index; equality is on the stored words, so the
set is exact. Work goes in blocks, so that the memory accesses of `abi.BLOCK` states overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import Function, u64
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.lowering import word_arguments


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
        """Emit the condition that the words at `a` come before those at `b`."""
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
