"""A small assembler for LLVM IR text: named values, variables and structured control flow.

IR text is made several times faster than llvmlite.ir objects, and it reads like what it becomes.
Integers are i64, conditions i1, addresses ptr, throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

DECLARATIONS = """
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


def u64(value: int) -> str:
    """An unsigned 64-bit constant as IR wants it (signed)."""
    value &= (1 << 64) - 1
    return str(value - (1 << 64) if value >> 63 else value)


class Variable:
    """A mutable i64: a stack slot, which the optimizer turns into a register."""

    def __init__(self, function: Function, slot: str) -> None:
        self._function = function
        self._slot = slot

    def get(self) -> str:
        return self._function.op(f"load i64, ptr {self._slot}")

    def set(self, value: str) -> None:
        self._function.line(f"store i64 {value}, ptr {self._slot}")


class Function:
    """One function under construction. `parameters`: name -> type; a parameter is `%name` inside."""

    def __init__(
        self, name: str, result: str, parameters: Mapping[str, str], linkage: str = "", attributes: str = ""
    ) -> None:
        listed = ", ".join(f"{kind} %{parameter}" for parameter, kind in parameters.items())
        self._head = f"define {linkage} {result} @{name}({listed}) {attributes} {{"
        self._slots: list[str] = []
        self._lines: list[str] = []
        self._serial = 0

    def text(self) -> str:
        """The whole definition."""
        return "\n".join([self._head, "entry:", *self._slots, *self._lines, "}", ""])

    def __len__(self) -> int:
        return len(self._lines)

    # Straight-line code.

    def line(self, text: str) -> None:
        self._lines.append(text)

    def op(self, text: str) -> str:
        """Emit an instruction that gives a value; returns the value's name."""
        self._serial += 1
        name = f"%v{self._serial}"
        self._lines.append(f"{name} = {text}")
        return name

    def variable(self, value: str) -> Variable:
        slot = self.array(1)
        self.line(f"store i64 {value}, ptr {slot}")
        return Variable(self, slot)

    def array(self, length: int) -> str:
        """The address of `length` i64s on the stack."""
        self._serial += 1
        slot = f"%s{self._serial}"
        self._slots.append(f"{slot} = alloca i64, i64 {length}")
        return slot

    def at(self, base: str, index: str | int, kind: str = "i64") -> str:
        """The address of element `index` of an array of `kind` at `base`."""
        return self.op(f"getelementptr inbounds {kind}, ptr {base}, i64 {index}")

    def load(self, base: str, index: str | int = 0) -> str:
        return self.op(f"load i64, ptr {self.at(base, index)}")

    def store(self, value: str, base: str, index: str | int = 0) -> None:
        self.line(f"store i64 {value}, ptr {self.at(base, index)}")

    def load32(self, base: str, index: str | int) -> str:
        """Element `index` of an array of unsigned 32-bit integers at `base`, as an i64."""
        value = self.op(f"load i32, ptr {self.at(base, index, 'i32')}")
        return self.op(f"zext i32 {value} to i64")

    def store32(self, value: str, base: str, index: str | int) -> None:
        """Put the lower half of an i64 into an array of 32-bit integers."""
        self.line(f"store i32 {self.op(f'trunc i64 {value} to i32')}, ptr {self.at(base, index, 'i32')}")

    def increment(self, base: str, index: str | int, by: str | int = 1) -> None:
        address = self.at(base, index)
        old = self.op(f"load i64, ptr {address}")
        self.line(f"store i64 {self.op(f'add i64 {old}, {by}')}, ptr {address}")

    def prefetch(self, address: str) -> None:
        self.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def any_of(self, values: Sequence[str]) -> str:
        """The bitwise or of i64 values."""
        result = values[0] if values else "0"
        for value in values[1:]:
            result = self.op(f"or i64 {result}, {value}")
        return result

    # Control flow.

    def label(self) -> str:
        self._serial += 1
        return f"b{self._serial}"

    def open(self, label: str) -> None:
        """Start the block `label` (the current one must have ended)."""
        self._lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        self._lines.append(f"br label %{label}")

    def branch(self, condition: str, true: str, false: str) -> None:
        self._lines.append(f"br i1 {condition}, label %{true}, label %{false}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The body runs where `condition` is true."""
        body, after = self.label(), self.label()
        self.branch(condition, body, after)
        self.open(body)
        yield
        self.jump(after)
        self.open(after)

    @contextmanager
    def loop(self) -> Iterator[str]:
        """Repeat the body; gives the label after it, for `leave_when`."""
        body, after = self.label(), self.label()
        self.jump(body)
        self.open(body)
        yield after
        self.jump(body)
        self.open(after)

    def leave_when(self, condition: str, after: str) -> None:
        onwards = self.label()
        self.branch(condition, after, onwards)
        self.open(onwards)

    @contextmanager
    def count(self, first: str, limit: str) -> Iterator[str]:
        """The body for each i64 from `first` up to `limit` (not included)."""
        index = self.variable(first)
        with self.loop() as after:
            i = index.get()
            self.leave_when(self.op(f"icmp uge i64 {i}, {limit}"), after)
            yield i
            index.set(self.op(f"add i64 {i}, 1"))
