"""Random walks as LLVM IR: from state to state along one enabled instance, drawn from all of them alike.

A walk draws from a sequence of its own (SplitMix64), which its number and the seed give. So it is the same whatever
walks were taken before it, and in whatever thread. Layouts of records: see `abi`.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import Function, Variable, u64
from checker.explicit.kernel.lowering import word_arguments
from checker.lang.ir import EventKind, Site

_STRIDE = 0x9E3779B97F4A7C15  # of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT = 31
_INTERNAL = "internal fastcc"


class Walking:
    """Emits `walk` for states of `words` 64-bit words."""

    def __init__(self, words: int, sites: Sequence[Site]) -> None:
        self._words = words
        self._sites = sites
        self._candidate, self._edge = words + 1, words + 2  # words of a record

    def text(self) -> str:
        """All functions and constants."""
        edges = [self._outsiders(), self._outsider(), self._broken_by()]
        return "\n".join([self._error_table(), self._mix(), *edges, self._roam(), self._walk()])

    def _error_table(self) -> str:
        kinds = [site.kind for site in self._sites] or [EventKind.REQUIRE]
        values = ", ".join(f"i8 {int(kind is EventKind.ERROR)}" for kind in kinds)
        return f"@is_error = internal constant [{len(kinds)} x i8] [{values}]\n"

    # Chance.

    @staticmethod
    def _mix() -> str:
        """The number that a state of the generator gives."""
        f = Function("mix", "i64", {"z": "i64"}, _INTERNAL, "alwaysinline")
        z = "%z"
        for shift, factor in _ROUNDS:
            z = f.op(f"xor i64 {z}, {f.op(f'lshr i64 {z}, {shift}')}")
            z = f.op(f"mul i64 {z}, {u64(factor)}")
        z = f.op(f"xor i64 {z}, {f.op(f'lshr i64 {z}, {_LAST_SHIFT}')}")
        f.line(f"ret i64 {z}")
        return f.text()

    @staticmethod
    def _draw(f: Function, generator: Variable, limit: str) -> str:
        """A number from 0 up to `limit` (not included): the high half of a product, even but for limit / 2^64."""
        state = f.op(f"add i64 {generator.get()}, {u64(_STRIDE)}")
        generator.set(state)
        number = f.op(f"call fastcc i64 @mix(i64 {state})")
        a, b = f.op(f"zext i64 {number} to i128"), f.op(f"zext i64 {limit} to i128")
        product = f.op(f"mul i128 {a}, {b}")
        return f.op(f"trunc i128 {f.op(f'lshr i128 {product}, 64')} to i64")

    # Edges, of which there are few: each function looks at `n` of them.

    def _code(self, f: Function, i: str) -> str:
        return f.load("%edges", f.op(f"add i64 {f.op(f'mul i64 {i}, {self._edge}')}, {self._words + 1}"))

    @staticmethod
    def _is_outside(f: Function, code: str) -> str:
        """Whether it is the code of a successor outside the constraint."""
        return f.op(f"icmp sge i64 {code}, {abi.OUTSIDE}")

    def _outsiders(self) -> str:
        """outsiders(edges, n) -> how many successors are outside the constraint; -1 where there is an error."""
        f = Function("outsiders", "i64", {"edges": "ptr", "n": "i64"}, _INTERNAL, "noinline")
        found, errors = f.variable("0"), f.variable("0")
        with f.count("0", "%n") as i:
            code = self._code(f, i)
            outside = f.op(f"zext i1 {self._is_outside(f, code)} to i64")
            found.set(f.op(f"add i64 {found.get()}, {outside}"))
            is_site = f.op(f"and i1 {f.op(f'icmp slt i64 {code}, 0')}, {f.op(f'icmp ne i64 {code}, {abi.DEADLOCK}')}")
            with f.when(is_site):
                site = f.op(f"sub i64 -1, {code}")
                error = f.op(f"load i8, ptr {f.at('@is_error', site, 'i8')}")
                errors.set(f.op(f"or i64 {errors.get()}, {f.op(f'zext i8 {error} to i64')}"))
        none = f.op(f"icmp eq i64 {errors.get()}, 0")
        f.line(f"ret i64 {f.op(f'select i1 {none}, i64 {found.get()}, i64 -1')}")
        return f.text()

    def _outsider(self) -> str:
        """outsider(edges, n, k) -> the address of the edge to the k-th successor outside the constraint."""
        f = Function("outsider", "i64", {"edges": "ptr", "n": "i64", "k": "i64"}, _INTERNAL, "noinline")
        found, left = f.variable("0"), f.variable("%k")
        with f.count("0", "%n") as i, f.when(self._is_outside(f, self._code(f, i))):
            with f.when(f.op(f"icmp eq i64 {left.get()}, 0")):
                edge = f.at("%edges", f.op(f"mul i64 {i}, {self._edge}"))
                found.set(f.op(f"ptrtoint ptr {edge} to i64"))
            left.set(f.op(f"sub i64 {left.get()}, 1"))
        f.line(f"ret i64 {found.get()}")
        return f.text()

    def _broken_by(self) -> str:
        """broken_by(edges, n, instance) -> mask of the properties that its step breaks."""
        f = Function("broken_by", "i64", {"edges": "ptr", "n": "i64", "instance": "i64"}, _INTERNAL, "noinline")
        broken = f.variable("0")
        with f.count("0", "%n") as i:
            code = self._code(f, i)
            instance = f.load("%edges", f.op(f"add i64 {f.op(f'mul i64 {i}, {self._edge}')}, {self._words}"))
            is_step = f.op(f"icmp sge i64 {code}, 0")
            with f.when(f.op(f"and i1 {is_step}, {f.op(f'icmp eq i64 {instance}, %instance')}")):
                broken.set(f.op(f"or i64 {broken.get()}, {f.op(f'and i64 {code}, {u64(~abi.OUTSIDE)}')}"))
        f.line(f"ret i64 {broken.get()}")
        return f.text()

    # Walks.

    def _walk(self) -> str:
        """walk(context, record) -> 1 where the walk ends in a violation; 0: all were taken, or it was stopped."""
        f = Function("walk", "i64", {"c": "ptr", "r": "ptr"})
        violated = f.variable("0")
        with f.loop() as after:
            walk = f.load("%r", abi.WALK)
            f.leave_when(f.op(f"icmp uge i64 {walk}, {f.load('%r', abi.WALK_LIMIT)}"), after)
            start = f.op(f"call fastcc i64 @mix(i64 {f.load('%r', abi.SEED)})")
            start = f.op(f"add i64 {start}, {f.op(f'mul i64 {walk}, {u64(_STRIDE)}')}")
            start = f.op(f"call fastcc i64 @mix(i64 {start})")
            violated.set(f.op(f"call fastcc i64 @roam(ptr %c, ptr %r, i64 {start})"))
            over = f.op(f"or i64 {violated.get()}, {self._stop(f)}")
            f.leave_when(f.op(f"icmp ne i64 {over}, 0"), after)
            f.increment("%r", abi.WALK)
        f.line(f"ret i64 {violated.get()}")
        return f.text()

    @staticmethod
    def _stop(f: Function) -> str:
        return f.op(f"load volatile i64, ptr {f.at('%r', abi.STOP)}")

    def _roam(self) -> str:
        """roam(context, record, generator) -> 1 where the walk ends in a violation.

        It ends there, outside the constraint, in a state without a step, after so many steps, or when it is stopped.
        """
        f = Function("roam", "i64", {"c": "ptr", "r": "ptr", "generator": "i64"}, _INTERNAL, "noinline")
        generator, broken, violated = f.variable("%generator"), f.variable("0"), f.variable("0")
        state = f.array(self._words)
        self._begin(f, generator, state)
        with f.loop() as after:
            words = [f.load(state, k) for k in range(self._words)]
            bits = f.op(f"call fastcc i64 @check({word_arguments(words)})")
            judged = f.op(f"and i64 {bits}, {f.load('%r', abi.JUDGED)}")
            wrong = f.op(f"or i64 {broken.get()}, {judged}")
            self._leave_violated(f, f.op(f"icmp ne i64 {wrong}, 0"), violated, after)
            f.leave_when(f.op(f"call fastcc i1 @constraint({word_arguments(words)})"), after)
            f.store(f.op(f"or i64 {f.load('%r', abi.SEEN)}, {bits}"), "%r", abi.SEEN)
            inside, edges = self._expanded(f, state)
            memory = f.op(f"inttoptr i64 {f.load('%r', abi.EDGES)} to ptr")
            outside = f.op(f"call fastcc i64 @outsiders(ptr {memory}, i64 {edges})")
            stuck = f.op(f"and i64 {f.load('%c', abi.DEADLOCKS)}, {f.load('%r', abi.DEADLOCK_JUDGED)}")
            wrong = f.op(f"or i1 {f.op(f'icmp slt i64 {outside}, 0')}, {f.op(f'icmp ne i64 {stuck}, 0')}")
            self._leave_violated(f, wrong, violated, after)
            choices = f.op(f"add i64 {inside}, {outside}")
            f.leave_when(f.op(f"icmp eq i64 {choices}, 0"), after)
            f.leave_when(f.op(f"icmp uge i64 {f.load('%r', abi.LENGTH)}, {f.load('%r', abi.MAX_STEPS)}"), after)
            f.leave_when(f.op(f"icmp ne i64 {self._stop(f)}, 0"), after)
            chosen = self._chosen(f, self._draw(f, generator, choices), inside, edges)
            self._copy(f, chosen, state)
            instance = f.load(chosen, self._words)
            broken.set(f.op(f"call fastcc i64 @broken_by(ptr {memory}, i64 {edges}, i64 {instance})"))
            self._note(f, instance)
        f.line(f"ret i64 {violated.get()}")
        return f.text()

    def _begin(self, f: Function, generator: Variable, state: str) -> None:
        """Draw an initial state."""
        start = self._draw(f, generator, f.load("%r", abi.START_COUNT))
        f.store(start, "%r", abi.START)
        f.store("0", "%r", abi.LENGTH)
        starts = f.op(f"inttoptr i64 {f.load('%r', abi.STARTS)} to ptr")
        self._copy(f, f.at(starts, f.op(f"mul i64 {start}, {self._words}")), state)

    def _copy(self, f: Function, source: str, target: str) -> None:
        for k in range(self._words):
            f.store(f.load(source, k), target, k)

    @staticmethod
    def _leave_violated(f: Function, wrong: str, violated: Variable, after: str) -> None:
        violated.set(f.op(f"zext i1 {wrong} to i64"))
        f.leave_when(wrong, after)

    def _expanded(self, f: Function, state: str) -> tuple[str, str]:
        """Expand a state; gives the numbers of candidates and edges that came of it."""
        for box, memory in ((0, abi.EDGES), (1, abi.CANDIDATES)):
            f.store(f.load("%r", memory), "%c", abi.BOXES + 2 * box)
        f.store("0", "%c", abi.DEADLOCKS)
        f.op(f"call i64 @expand(ptr %c, ptr {state}, i64 0, i64 1)")
        counts = []
        for box, memory, width in ((1, abi.CANDIDATES, self._candidate), (0, abi.EDGES, self._edge)):
            used = f.op(f"sub i64 {f.load('%c', abi.BOXES + 2 * box)}, {f.load('%r', memory)}")
            counts.append(f.op(f"udiv i64 {used}, {8 * width}"))
        return counts[0], counts[1]

    def _chosen(self, f: Function, number: str, inside: str, edges: str) -> str:
        """The address of a successor: the candidates come first, then the edges out of the constraint."""
        offset = f.op(f"mul i64 {number}, {8 * self._candidate}")
        address = f.variable(f.op(f"add i64 {f.load('%r', abi.CANDIDATES)}, {offset}"))
        with f.when(f.op(f"icmp uge i64 {number}, {inside}")):
            memory = f.op(f"inttoptr i64 {f.load('%r', abi.EDGES)} to ptr")
            k = f.op(f"sub i64 {number}, {inside}")
            address.set(f.op(f"call fastcc i64 @outsider(ptr {memory}, i64 {edges}, i64 {k})"))
        return f.op(f"inttoptr i64 {address.get()} to ptr")

    @staticmethod
    def _note(f: Function, instance: str) -> None:
        """Count a step, and keep it where paths are kept."""
        action = f.op(f"load i16, ptr {f.at('@action_of', instance, 'i16')}")
        taken = f.op(f"inttoptr i64 {f.load('%r', abi.TAKEN)} to ptr")
        f.increment(taken, f.op(f"zext i16 {action} to i64"))
        path = f.load("%r", abi.PATH)
        with f.when(f.op(f"icmp ne i64 {path}, 0")):
            f.store(instance, f.op(f"inttoptr i64 {path} to ptr"), f.load("%r", abi.LENGTH))
        f.increment("%r", abi.LENGTH)
        f.increment("%r", abi.STEPS)
