"""Calls in a spec: guards, built-in functions, constructors, methods of values, and helpers."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from typing import Any

from checker.lang import declare, order, values
from checker.lang.declare import Declared
from checker.lang.frontend.codes import NONE
from checker.lang.frontend.ordering import Ordering
from checker.lang.frontend.source import function_of
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Static, Symbol, Truth, Val
from checker.lang.ir import BoundReads, EventKind, Node
from checker.lang.marks import MARK, RecordInfo
from checker.lang.resolve import record_type
from checker.lang.types import (
    BagType,
    MapType,
    OptionType,
    OrdinalType,
    RecordType,
    SeqType,
    Type,
    UnionType,
)
from checker.lang.values import Map, Ordinal


class Calls(Ordering):
    """Evaluates calls. `inline` is left to the subclass that knows statements."""

    def _call(self, node: ast.Call) -> Symbol:
        if isinstance(node.func, ast.Attribute):
            holder = self.expression(node.func.value)
            if not isinstance(holder, Static):
                return self._method(holder, node.func.attr, node)
        callee = self.expression(node.func)
        if not isinstance(callee, Static):
            self.fail(node, f"{self.describe(callee)} cannot be called")
        special = _SPECIAL.get(callee.value) if callable(callee.value) else None
        if special is not None:
            return special(self, node)
        if isinstance(callee.value, type):
            return self._construct(callee.value, node)
        if isinstance(callee.value, Declared):
            if callee.value.kind == "action":
                self.fail(node, f"{callee.value.name} is an action, and an action calls no other", "share a helper")
            return self._helper(callee.value.function, node)
        if inspect.isfunction(callee.value):
            return self._helper(callee.value, node)
        self.fail(
            node, f"{self.describe(callee)} is not known to specs",
            "helpers are functions of a spec; of the built-in ones: any all sum min max len set frozenset tuple range; "
            "choose(...) takes the least, fold(...) goes through in order",
        )  # fmt: skip

    def _helper(self, function: Callable[..., Any], node: ast.Call) -> Symbol:
        source = function_of(function)
        names = source.parameters
        bound: dict[str, Symbol] = dict(zip(names, (self.expression(a) for a in node.args), strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in names:
                self.fail(node, f"{function.__name__} has no parameter {keyword.arg}", f"it has {', '.join(names)}")
            bound[keyword.arg] = self.expression(keyword.value)
        for name, default in source.defaults.items():
            if name not in bound:
                bound[name] = NONE if default is None else self.lift(default, node)
        if len(bound) != len(names) or len(node.args) > len(names):
            self.fail(node, f"{function.__name__} takes {', '.join(names)}", "give each parameter once")
        return self.inlined(function, [bound[n] for n in names], node)

    # What the language itself offers.

    def _guard_allowed(self, node: ast.Call) -> None:
        if self.frame.pure:
            self.fail(node, "a guard outside an action", "helpers and properties return what an action then requires")
        if self.assigned is not None:
            self.fail(
                node, f"a guard after the assignment in line {getattr(self.assigned, 'lineno', 0)}",
                "on each path, require comes before the first assignment: a step happens whole or not at all",
            )  # fmt: skip
        if self.cut is not None:
            self.fail(
                node, f"a guard after line {getattr(self.cut, 'lineno', 0)}, which may exceed a bound",
                "move the guard before it: whether a step is enabled is decided before it is cut",
            )  # fmt: skip

    def _require(self, node: ast.Call) -> Symbol:
        [condition] = self._argument(node)
        self._guard_allowed(node)
        for conjunct in self._conjuncts(condition):
            holds, reads = self._guard(conjunct)
            text = f"require({self.frame.function.text(conjunct)})"
            self.event(EventKind.REQUIRE, self.graph.not_(holds), node, text=text, reads=reads)
            self.facts.learn(holds)
        return NONE

    def _guard(self, condition: ast.expr) -> tuple[Node, BoundReads]:
        """(the condition that a guard holds, the reads it rests on): unknown if evaluating the guard may break down."""
        before, risks = self.graph.taken_reads(), self.risks
        holds = self.truth(condition)
        reads = self.graph.taken_reads()
        self.graph.give_back(before | (BoundReads(quantified=reads.quantified) if self.risks == risks else reads))
        return holds, reads

    @staticmethod
    def _conjuncts(node: ast.expr) -> list[ast.expr]:
        """The conjuncts of `a and b`, in order: the first false one refuses, as with `and`."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return [part for value in node.values for part in Calls._conjuncts(value)]
        return [node]

    def _require_some(self, node: ast.Call) -> Symbol:
        [option] = self._argument(node)
        self._guard_allowed(node)
        symbol = self.expression(option)
        present = self.graph.not_(self.equal(symbol, NONE, node))
        self.event(EventKind.REQUIRE, self.graph.not_(present), node)
        self.facts.learn(present)
        if symbol == NONE:
            self.fail(node, "this is always absent")
        return self.unwrapped(symbol, node)

    def _fresh(self, node: ast.Call) -> Symbol:
        state, sort = (self.expression(a) for a in self._argument(node, 2))
        if not (isinstance(state, Location) and state.way == ()):
            self.fail(node.args[0], "fresh takes the state", "fresh(s, BrokerEpoch)")
        if not (isinstance(sort, Static) and isinstance(sort.value, type) and issubclass(sort.value, Ordinal)):
            self.fail(node.args[1], "fresh takes a sort of ordinals", "class BrokerEpoch(Ordinal): ...")
        if not state.writable:
            self.fail(node, "a fresh ordinal outside an action", "only actions issue ordinals")
        if sort.value.is_fixed():
            self.fail(node, f"a fresh {sort.value.__name__} in a model where these are fixed", "leave the action out")
        type_ = OrdinalType(sort.value)
        issued = self.fresh.get(type_.sort, 0)
        self.fresh[type_.sort] = issued + 1
        return Val(type_, (self.graph.fresh(type_.sort, issued),))

    def _replace(self, node: ast.Call) -> Symbol:
        if len(node.args) != 1:
            self.fail(node, "replace takes a record and the fields to change", "replace(partition, isr=isr)")
        holder = self.unwrapped(self.expression(node.args[0]), node)
        holder = self.value(holder, node)
        if isinstance(holder, Val) and isinstance(holder.type, UnionType):
            holder = self._known_variant(holder, holder.type, node)
        if not (isinstance(holder, Val) and isinstance(holder.type, RecordType)):
            self.fail(node, f"{self.describe(holder)} is not a record")
        nodes = list(holder.nodes)
        for keyword in node.keywords:
            type_ = holder.type.fields.get(keyword.arg or "")
            if type_ is None:
                self.fail(node, f"{holder.type} has no field {keyword.arg}", f"it has {', '.join(holder.type.fields)}")
            start = holder.type.offsets[keyword.arg or ""]
            symbol = self.typed_value(keyword.value, type_)
            nodes[start : start + type_.width] = self.coerced(symbol, type_, keyword.value)
        return Val(holder.type, tuple(nodes))

    def _known_variant(self, union: Val, type_: UnionType, node: ast.AST) -> Val:
        """A union as the record that it is known to be on this path."""
        possible = self.possible_variants(union, type_)
        if len(possible) == 1:
            return self.variant(union, possible[0])
        self.fail(node, f"which of {type_} is it?", "ask with isinstance(...) or match before")

    def _map(self, node: ast.Call) -> Symbol:
        [items] = self._argument(node)
        if not isinstance(items, ast.DictComp | ast.Dict):
            return self.value(self.expression(items), node)
        self.fail(node, "a map is made where its type is known", "assign it, return it, or give it to a field")

    def assigned_value(self, value: ast.expr) -> Symbol | Callable[[MapType], tuple[Node, ...]]:
        """The symbol of an assigned value; a map literal takes the type of its target."""
        if isinstance(value, ast.Call) and len(value.args) == 1:
            literal = value.args[0]
            callee = self.expression(value.func) if isinstance(value.func, ast.Name) else NONE
            if callee == Static(Map) and isinstance(literal, ast.DictComp | ast.Dict):
                return lambda type_: self._map_literal(literal, type_)
        return self.expression(value)

    def _map_literal(self, node: ast.DictComp | ast.Dict, type_: MapType) -> tuple[Node, ...]:
        width = type_.value_type.width
        nodes: dict[int, tuple[Node, ...]] = {}
        if isinstance(node, ast.Dict):
            pairs = [(self.expression(k), v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
            for key, value in pairs:
                self._put(nodes, key, type_, self.coerced(self.expression(value), type_.value_type, value), node)
        else:
            pair = ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)
            for there, item in self.generated(ast.copy_location(pair, node)):
                assert isinstance(item, Display)
                if there is not self.graph.true:
                    self.fail(node, "a map without some of its keys", "maps are total: give every key a value")
                key, symbol = item.elements
                self._put(nodes, key, type_, self.coerced(symbol, type_.value_type, node.value), node)
        if len(nodes) != len(type_.keys):
            found = f"a map with {len(nodes)} of {len(type_.keys)} keys"
            self.fail(node, found, "maps are total: give every key a value")
        assert all(len(n) == width for n in nodes.values())
        return tuple(n for i in range(len(type_.keys)) for n in nodes[i])

    def _put(
        self, nodes: dict[int, tuple[Node, ...]], key: Symbol, type_: MapType, value: tuple[Node, ...], node: ast.AST
    ) -> None:
        code = self.index(key, type_.key_type, node)
        if not isinstance(code.data, int) or code.args:
            self.fail(node, "a key that depends on the state", "range over the keys themselves")
        nodes[int(code.data)] = value

    def typed_value(self, value: ast.expr, type_: Type) -> Symbol:
        """The symbol of a value stored where a `type_` is expected."""
        symbol = self.assigned_value(value)
        return self.made_map(symbol, type_, value) if callable(symbol) else symbol

    def made_map(self, make: Callable[[MapType], tuple[Node, ...]], type_: Type, node: ast.expr) -> Symbol:
        if not isinstance(type_, MapType):
            self.fail(node, f"a map where a {type_} is needed")
        return self.symbol(type_, make(type_))

    # Built-in functions.

    def _any(self, node: ast.Call) -> Symbol:
        return Truth(self._first(node, True))

    def _all(self, node: ast.Call) -> Symbol:
        return Truth(self.graph.not_(self._first(node, False)))

    def _first(self, node: ast.Call, wanted: bool) -> Node:
        """The condition that an element is `wanted`; those after the first such one are not evaluated, as in Python."""
        [argument] = self._argument(node)
        g, found = self.graph, self.graph.false

        def goes_on() -> Node:
            return g.not_(found)

        generator = argument if isinstance(argument, ast.GeneratorExp | ast.SetComp) else None
        sources = {id(g.iter) for g in generator.generators} if generator is not None else {id(argument)}
        self.quantifying |= sources
        since = len(self.gone_through)
        elements = self.generated(generator, goes_on) if generator is not None else iter(self.iterated(argument))
        for there, element in elements:
            holds = self.as_truth(element, argument)
            found = g.or_(found, g.and_(there, holds if wanted else g.not_(holds)))
        return self.quantified(found, sources, since)

    def _sum(self, node: ast.Call) -> Symbol:
        [argument] = self._argument(node)
        total = self.graph.integer(0)
        for there, element in self._items(argument):
            number = self.as_number(element, argument)
            total = self.graph.add(total, self.graph.select(there, number, self.graph.integer(0)))
        return Num(total)

    def _min(self, node: ast.Call) -> Symbol:
        return self._extreme(node, lambda new, old: self.graph.lt(new, old))

    def _max(self, node: ast.Call) -> Symbol:
        return self._extreme(node, lambda new, old: self.graph.lt(old, new))

    def _extreme(self, node: ast.Call, better: Callable[[Node, Node], Node]) -> Symbol:
        g = self.graph
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        if any(k.arg != "default" for k in node.keywords):
            self.fail(node, "min and max take default= only")
        if len(node.args) > 1:
            items = [(g.true, self.unwrapped(self.expression(a), a)) for a in node.args]
        else:
            items = self._items(node.args[0])
        found, best = g.false, None
        for there, symbol in items:
            symbol = self.unwrapped(symbol, node)
            if best is None:
                best, found = symbol, there
                continue
            new, old = self._ordered_codes(symbol, best, node)
            wins = g.and_(there, g.or_(g.not_(found), better(new, old)))
            best = self.joined(wins, symbol, best, node)
            found = g.or_(found, there)
        if default is not None:
            other = self.expression(default)
            return other if best is None else self.joined(found, best, other, node)
        self.error(g.not_(found), node, "min or max of nothing")
        return best if best is not None else Num(g.integer(0))

    def _len(self, node: ast.Call) -> Symbol:
        [argument] = self._argument(node)
        symbol = self.expression(argument)
        if not isinstance(symbol, Static):
            symbol = self.unwrapped(symbol, node)
        return Num(self.length(symbol, node))

    def _collected_set(self, node: ast.Call) -> Symbol:
        if not node.args:
            return Display("set", ())
        [argument] = self._argument(node)
        if isinstance(argument, ast.GeneratorExp):
            return self._setcomp(ast.copy_location(ast.SetComp(argument.elt, argument.generators), argument))
        return self._as_set(self.expression(argument), argument)

    def _as_set(self, symbol: Symbol, argument: ast.expr) -> Symbol:
        if isinstance(symbol, Display):
            return Display("set", symbol.elements)
        if self.is_set(symbol):
            return symbol
        comprehension = ast.SetComp(ast.Name("_member", ast.Load()),
                                    [ast.comprehension(ast.Name("_member", ast.Store()), argument, [], 0)])  # fmt: skip
        return self._setcomp(ast.fix_missing_locations(ast.copy_location(comprehension, argument)))

    def _tuple_of(self, node: ast.Call) -> Symbol:
        if not node.args:
            return Display("tuple", ())
        [argument] = self._argument(node)
        if isinstance(argument, ast.GeneratorExp):
            elements = self.generated(argument, ordered_for="a sequence made from what has no order")
            found = [(there, self.unwrapped(e, argument)) for there, e in elements]
        else:
            self.check_in_order(argument, "a sequence made from what has no order")
            found = self._items(argument)
        if not found:
            return Display("tuple", ())
        literal = Display("tuple", tuple(e for _, e in found))
        type_ = SeqType(self._element_type(literal, argument), len(found))
        nodes = [self.code(0, leaf.kind, leaf.sort) for _, leaf in type_.leaves]
        result = Val(type_, tuple(nodes))
        for there, element in found:
            result = self.appended(result, there, element, node)
        return result

    def _isinstance(self, node: ast.Call) -> Symbol:
        what, classes = self._argument(node, 2)
        symbol = self.expression(what)
        kinds = classes.elts if isinstance(classes, ast.Tuple) else self._alternatives(classes)
        tests = [self.is_variant(symbol, self.expression(k), node) for k in kinds]
        return Truth(self.graph.any_(tests))

    def _alternatives(self, node: ast.expr) -> list[ast.expr]:
        """The classes of `A | B`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return [*self._alternatives(node.left), *self._alternatives(node.right)]
        return [node]

    def is_variant(self, symbol: Symbol, kind: Symbol, node: ast.AST) -> Node:
        """The condition that a union (or option of one) is of the variant whose class is `kind`."""
        if not (isinstance(kind, Static) and isinstance(kind.value, type)):
            self.fail(node, "the kinds of a union are its messages' classes")
        symbol = self.value(symbol, node)
        if isinstance(symbol, Choice):
            yes, no = self.is_variant(symbol.yes, kind, node), self.is_variant(symbol.no, kind, node)
            return self.graph.select(symbol.condition, yes, no)
        if symbol == NONE:
            return self.graph.false
        if isinstance(symbol, Val) and isinstance(symbol.type, OptionType):
            inner = self.is_variant(self.inner(symbol), kind, node)
            return self.graph.and_(self.present(symbol), inner)
        if isinstance(symbol, Val) and isinstance(symbol.type, UnionType):
            if kind.value not in symbol.type.tags:
                self.fail(node, f"{symbol.type} has no variant {kind.value.__name__}")
            return self.graph.eq(symbol.nodes[0], self.graph.integer(symbol.type.tags[kind.value]))
        if isinstance(symbol, Val) and isinstance(symbol.type, RecordType):
            return self.graph.boolean(symbol.type.cls is kind.value)
        self.fail(node, f"{self.describe(symbol)} is not a union of messages")

    # Constructors and methods.

    def _construct(self, cls: type[Any], node: ast.Call) -> Symbol:
        info = cls.__dict__.get(MARK)
        if isinstance(info, RecordInfo):
            return self._record(record_type(cls), node)
        if issubclass(cls, Ordinal):
            self.fail(
                node, f"a {cls.__name__} of a given value: only order and freshness of ordinals matter",
                f"use fresh(s, {cls.__name__}); a given value can stand in @init only",
            )  # fmt: skip
        if issubclass(cls, values.Identity):
            [argument] = self._argument(node)
            if isinstance(argument, ast.Constant) and isinstance(argument.value, int):
                return self.lift(cls(argument.value), node)
            self.fail(node, f"a {cls.__name__} by number: its members are names", "range over them instead")
        if cls is values.Bag:
            self.fail(node, "a bag is changed with .add and .remove", "start from the state's bag")
        instead = {
            enumerate: "for i in range(len(log)), and log[i]", zip: "for i in range(len(log)), and log[i]",
            int: "1 if condition else 0", dict: "Map({b: ... for b in Broker})", list: "a tuple",
        }  # fmt: skip
        self.fail(node, f"{cls.__name__} is not known to specs", instead.get(cls, "a @record or @message of the spec"))

    def _record(self, type_: RecordType, node: ast.Call) -> Val:
        given: dict[str, ast.expr] = dict(zip(type_.fields, node.args, strict=False))
        given.update({k.arg or "**": k.value for k in node.keywords})
        unknown = [n for n in given if n not in type_.fields]
        missing = [n for n in type_.fields if n not in given]
        if unknown or missing or len(node.args) > len(type_.fields):
            problem = f"no field {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
            self.fail(node, f"{type_}: {problem}", f"it has {', '.join(type_.fields)}")
        symbols = {name: self.typed_value(argument, type_.fields[name]) for name, argument in given.items()}
        nodes: list[Node] = []
        for name, field in type_.fields.items():
            nodes += self.coerced(symbols[name], field, given[name])
        return Val(type_, tuple(nodes))

    def _method(self, holder: Symbol, name: str, node: ast.Call) -> Symbol:
        holder = self.unwrapped(holder, node)
        if isinstance(holder, Val) and type(holder.type) is BagType and name in ("add", "remove", "count"):
            [argument] = self._argument(node)
            member = self.expression(argument)
            made = {"add": self._bag_add, "remove": self._bag_remove, "count": self._bag_count}[name]
            return made(holder, holder.type, member, node)
        if isinstance(holder, Location | Val) and isinstance(holder.type, MapType) and name in ("items", "values"):
            self.fail(node, f".{name}() outside a loop or comprehension", f"for ... in the_map.{name}()")
        self.fail(
            node, f"{self.describe(holder)} has no method {name}",
            "bags have add, remove and count, maps items and values; sets use | & - <=",
        )  # fmt: skip

    def _bag_add(self, bag: Val, type_: BagType, member: Symbol, node: ast.AST) -> Symbol:
        larger = BagType(type_.element, type_.capacity + 1)
        nodes = [*bag.nodes, *[self.code(0, leaf.kind, leaf.sort) for _, leaf in larger.leaves[bag.type.width :]]]
        slots, _ = self.put_in_slot(nodes, type_.slot_width, self.slot_of(type_, member, node))
        return Val(larger, tuple(slots))

    def _bag_remove(self, bag: Val, type_: BagType, member: Symbol, node: ast.AST) -> Symbol:
        g, w = self.graph, type_.slot_width
        slot = self.slot_of(type_, member, node)
        nodes, removed = list(bag.nodes), g.false
        for start in range(0, len(nodes), w):
            same = g.all_([g.eq(a, b) for a, b in zip(nodes[start : start + w], slot, strict=True)])
            here = g.and_(same, g.not_(removed))
            for i in range(w):
                nodes[start + i] = g.select(here, self._zero(nodes[start + i]), nodes[start + i])
            removed = g.or_(removed, here)
        if not (isinstance(member, Val) and (bag.nodes, member.nodes) in self.members):
            self.error(g.not_(removed), node, "removed from a bag that does not hold it")
        return Val(type_, tuple(nodes))

    def _bag_count(self, bag: Val, type_: BagType, member: Symbol, node: ast.AST) -> Symbol:
        g, w = self.graph, type_.slot_width
        if not self.comparing_counts:
            self.count_members(bag)
        slot = self.slot_of(type_, member, node)
        total = g.integer(0)
        for start in range(0, len(bag.nodes), w):
            same = g.all_([g.eq(a, b) for a, b in zip(bag.nodes[start : start + w], slot, strict=True)])
            total = g.add(total, g.select(same, g.integer(1), g.integer(0)))
        return Num(total)


_SPECIAL: dict[Any, Callable[[Any, ast.Call], Symbol]] = {
    values.require: Calls._require,
    values.require_some: Calls._require_some,
    declare.fresh: Calls._fresh,
    declare.replace: Calls._replace,
    values.Map: Calls._map,
    builtins.any: Calls._any,
    builtins.all: Calls._all,
    builtins.sum: Calls._sum,
    builtins.min: Calls._min,
    builtins.max: Calls._max,
    order.choose: Calls._choose,
    order.fold: Calls._fold,
    builtins.len: Calls._len,
    builtins.set: Calls._collected_set,
    builtins.frozenset: Calls._collected_set,
    builtins.tuple: Calls._tuple_of,
    builtins.isinstance: Calls._isinstance,
}
