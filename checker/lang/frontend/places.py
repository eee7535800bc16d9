"""Places of the state: fields of its records and values of its maps, by path."""

from __future__ import annotations

import ast

from checker.lang.frontend.codes import NONE
from checker.lang.frontend.conversion import Conversion
from checker.lang.frontend.symbols import Location, Num, Step, Symbol, Val
from checker.lang.ir import Node
from checker.lang.types import MapType, OptionType, RangeType, RecordType


class Places(Conversion):
    """Resolves paths of fields and keys."""

    def field(self, place: Location, name: str, node: ast.AST) -> Symbol:
        """The symbol of a field of a record in the state: a place if it can be changed in place, else its value."""
        if not isinstance(place.type, RecordType):
            self.fail(node, f"a {place.type} has no field {name}")
        if name not in place.type.fields:
            self.fail(node, f"{place.type} has no field {name}", f"it has {', '.join(place.type.fields)}")
        self.check_alive(place, node)
        return self._reached(self.field_place(place, name), node)

    def field_place(self, place: Location, name: str) -> Location:
        assert isinstance(place.type, RecordType)
        offset = place.type.offsets[name]
        alternatives = tuple((c, start + offset) for c, start in place.alternatives)
        way = (*place.way, Step(field=name))
        return Location(place.store, place.type.fields[name], alternatives, way, len(self.writes), place.writable)

    def _reached(self, place: Location, node: ast.AST) -> Symbol:
        if self._is_record_place(place) and not self._is_frozen(place):
            return place
        return self.symbol(place.type, self.loaded(place, node))

    @staticmethod
    def _is_frozen(place: Location) -> bool:
        inner = place.type.inner if isinstance(place.type, OptionType) else place.type
        return isinstance(inner, RecordType) and inner.frozen

    def key_place(self, place: Location, key: Symbol, node: ast.AST) -> Location:
        """The place of one key's value in a map of the state."""
        assert isinstance(place.type, MapType)
        self.check_alive(place, node)
        code = self.key_code(key, place.type, node)
        width = place.type.value_type.width
        alternatives = []
        for i in range(len(place.type.keys)):
            here = self.graph.eq(code, self.graph.integer(i))
            if self.facts.of(here) is False:
                continue
            alternatives += [
                (self.graph.and_(condition, here), start + i * width) for condition, start in place.alternatives
            ]
        way = (*place.way, Step(key=(code,)))
        found = tuple(a for a in alternatives if a[0] is not self.graph.false) or tuple(alternatives[:1])
        found = found or place.alternatives  # every key is excluded: an event said so
        return Location(place.store, place.type.value_type, found, way, len(self.writes), place.writable)

    def key_code(self, key: Symbol, type_: MapType, node: ast.AST) -> Node:
        """The number of a key; a violation if the map does not have it."""
        key = self.unwrapped(key, node)
        if isinstance(type_.key_type, RangeType) and isinstance(key, Num):
            code = self.graph.sub(key.node, self.graph.integer(type_.key_type.lo))
            outside = self.graph.or_(
                self.graph.lt(code, self.graph.integer(0)),
                self.graph.not_(self.graph.lt(code, self.graph.integer(type_.key_type.size))),
            )
            self.error(outside, node, f"no key of {type_}")
            return code
        if key == NONE:
            return self.graph.integer(0)
        return self.index(key, type_.key_type, node)

    def _map_value(self, holder: Val, type_: MapType, key: Symbol, node: ast.AST) -> Symbol:
        code = self.key_code(key, type_, node)
        width = type_.value_type.width
        result = list(holder.nodes[:width])
        for i in range(1, len(type_.keys)):
            here = self.graph.eq(code, self.graph.integer(i))
            part = holder.nodes[i * width : (i + 1) * width]
            result = [self.graph.select(here, a, b) for a, b in zip(part, result, strict=True)]
        return self.symbol(type_.value_type, tuple(result))

    def map_values(self, holder: Symbol, node: ast.AST) -> list[tuple[Symbol, Symbol]]:
        """(key, value) of every key of a map."""
        if isinstance(holder, Location) and isinstance(holder.type, MapType):
            keys = [self.literal(holder.type.key_type, k) for k in holder.type.keys]
            return [(k, self._reached(self.key_place(holder, k, node), node)) for k in keys]
        if isinstance(holder, Val) and isinstance(holder.type, MapType):
            keys = [self.literal(holder.type.key_type, k) for k in holder.type.keys]
            return [(k, self._map_value(holder, holder.type, k, node)) for k in keys]
        self.fail(node, f"{self.describe(holder)} is not a map")
