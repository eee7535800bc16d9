"""IR expressions and bit fields as LLVM IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from checker.explicit.kernel.assembler import Function, u64
from checker.explicit.kernel.layout import Field, Layout
from checker.lang.ir import Kind, Node, Op

_PLAIN = {
    Op.NOT: "xor i1 {0}, true",
    Op.AND: "and i1 {0}, {1}",
    Op.OR: "or i1 {0}, {1}",
    Op.LT: "icmp slt i64 {0}, {1}",
    Op.ADD: "add i64 {0}, {1}",
    Op.SUB: "sub i64 {0}, {1}",
    Op.MUL: "mul i64 {0}, {1}",
    Op.SET_AND: "and i64 {0}, {1}",
    Op.SET_OR: "or i64 {0}, {1}",
    Op.COUNT: "call i64 @llvm.ctpop.i64(i64 {0})",
}


def extract(f: Function, words: Sequence[str], field: Field) -> str:
    """The value of a field, as an i64."""
    parts = []
    for piece in field:
        value = words[piece.word]
        if piece.shift:
            value = f.op(f"lshr i64 {value}, {piece.shift}")
        if piece.shift + piece.bits < 64:
            value = f.op(f"and i64 {value}, {u64(piece.mask)}")
        if piece.at:
            value = f.op(f"shl i64 {value}, {piece.at}")
        parts.append(value)
    return f.any_of(parts)


def insert(f: Function, words: Sequence[str], values: Sequence[tuple[Field, str]]) -> list[str]:
    """The words with the given fields replaced. A value must fit its field."""
    result = list(words)
    parts: dict[int, list[str]] = {}
    cleared: dict[int, int] = {}
    for field, value in values:
        for piece in field:
            cleared[piece.word] = cleared.get(piece.word, 0) | piece.mask << piece.shift
            if value == "0":
                continue
            part = value
            if len(field) > 1:
                part = f.op(f"lshr i64 {part}, {piece.at}")
                part = f.op(f"and i64 {part}, {u64(piece.mask)}")
            if piece.shift:
                part = f.op(f"shl i64 {part}, {piece.shift}")
            parts.setdefault(piece.word, []).append(part)
    for word, mask in cleared.items():
        kept = f.op(f"and i64 {words[word]}, {u64(~mask)}")
        result[word] = f.any_of([kept, *parts.get(word, [])])
    return result


def word_parameters(count: int) -> dict[str, str]:
    """The parameters that pass a state's words."""
    return {f"w{i}": "i64" for i in range(count)}


def word_names(count: int) -> list[str]:
    return [f"%w{i}" for i in range(count)]


def word_arguments(words: Sequence[str]) -> str:
    return ", ".join(f"i64 {word}" for word in words)


class Values:
    """Emits expressions over one state, each at its first use; what dominates the current place is reused."""

    def __init__(self, f: Function, layout: Layout, words: Sequence[str], fresh_base: Mapping[str, int]) -> None:
        self._f = f
        self._layout = layout
        self._words = words
        self._fresh_base = fresh_base
        self._names: dict[int, str] = {}
        self._made: list[int] = []

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of code that does not dominate what comes after."""
        mark = len(self._made)
        yield
        for serial in self._made[mark:]:
            del self._names[serial]
        del self._made[mark:]

    def of(self, node: Node) -> str:
        """The value of `node`: i1 for a boolean, i64 for all else."""
        names = self._names
        stack = [node]
        while stack:
            top = stack[-1]
            if top.serial in names:
                stack.pop()
                continue
            missing = [a for a in top.args if a.serial not in names]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            names[top.serial] = self._emit(top)
            self._made.append(top.serial)
        return names[node.serial]

    def integer(self, node: Node) -> str:
        """The value of `node` as an i64 code."""
        value = self.of(node)
        if node.kind is not Kind.BOOL:
            return value
        return str(int(node.data)) if node.op is Op.CONST else self._f.op(f"zext i1 {value} to i64")

    def _emit(self, node: Node) -> str:
        f = self._f
        if node.op is Op.CONST:
            return ("true" if node.data else "false") if node.kind is Kind.BOOL else u64(node.data)
        if node.op is Op.LEAF:
            value = extract(f, self._words, self._layout.fields[node.data])
            return f.op(f"trunc i64 {value} to i1") if node.kind is Kind.BOOL else value
        if node.op is Op.FRESH:
            sort, k = node.data
            return str(self._fresh_base.get(sort, 1) + k)
        args = [self._names[a.serial] for a in node.args]
        if node.op in _PLAIN:
            return f.op(_PLAIN[node.op].format(*args))
        kind = "i1" if node.args[-1].kind is Kind.BOOL else "i64"
        if node.op is Op.SELECT:
            return f.op(f"select i1 {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
        if node.op is Op.EQ:
            return f.op(f"icmp eq {kind} {args[0]}, {args[1]}")
        if node.op is Op.SET_MINUS:
            return f.op(f"and i64 {args[0]}, {f.op(f'xor i64 {args[1]}, -1')}")
        if node.op in (Op.DIV, Op.MOD):
            return self._divided(node, args)
        return self._member(node, args)

    def _divided(self, node: Node, args: list[str]) -> str:
        """DIV and MOD: LLVM rounds towards 0, Python down, which differs where the remainder has the other sign."""
        f, (a, b) = self._f, args
        if node.args[1].op is not Op.CONST:  # by 0 the processor traps, even where the value is not used
            b = f.op(f"select i1 {f.op(f'icmp eq i64 {b}, 0')}, i64 1, i64 {b}")
        rest = f.op(f"srem i64 {a}, {b}")
        quotient = f.op(f"sdiv i64 {a}, {b}") if node.op is Op.DIV else ""
        if all(arg.lo >= 0 for arg in node.args):
            return quotient or rest
        opposite = f.op(f"icmp slt i64 {f.op(f'xor i64 {rest}, {b}')}, 0")
        lower = f.op(f"and i1 {opposite}, {f.op(f'icmp ne i64 {rest}, 0')}")
        if node.op is Op.DIV:
            return f.op(f"sub i64 {quotient}, {f.op(f'zext i1 {lower} to i64')}")
        return f.op(f"select i1 {lower}, i64 {f.op(f'add i64 {rest}, {b}')}, i64 {rest}")

    def _member(self, node: Node, args: list[str]) -> str:
        """BIT and HAS: the index is masked, so that no poison arises where the value is not used."""
        f = self._f
        if node.op is Op.HAS and node.args[1].op is Op.CONST:
            return f.op(f"icmp ne i64 {f.op(f'and i64 {args[0]}, {u64(1 << node.args[1].data)}')}, 0")
        index = f.op(f"and i64 {args[-1]}, 63")
        if node.op is Op.BIT:
            return f.op(f"shl i64 1, {index}")
        assert node.op is Op.HAS, node.op
        return f.op(f"trunc i64 {f.op(f'lshr i64 {args[0]}, {index}')} to i1")
