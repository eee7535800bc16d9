"""The spec's half of the product: what each of its states looks like, can do, and refuses."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from checker.conform.canonical import DIGEST_BYTES, Canonical, Digest
from checker.conform.system import System
from checker.explicit.kernel.build import compile_kernel, load_kernel
from checker.explicit.kernel.codegen import FIRED
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.layout import Layout
from checker.explicit.search.path import Packed
from checker.explicit.search.walk import Walker
from checker.lang.frontend import compile_model
from checker.lang.ir import EventKind, Member
from checker.lang.loader import BoundModel
from checker.lang.types import MapType, RecordType, Type, UnionType
from checker.lang.values import Map
from checker.reference.step import Reference
from checker.running.deadline import CompilationDeadline
from checker.running.limits import Limits

REMEMBERED = 1 << 12  # states of which is known what they do and refuse
STATES = 1 << 14  # states that are kept decoded: they are read when they are met, and again when their turn comes
LOOKS = 1 << 15  # states of which is known what they look like
PARTS = 1 << 17  # parts of states that are kept decoded
REFUSED, CUT = 0, 1  # how an instance ended that did not fire, where that is reported
_TOLD = {EventKind.REQUIRE: REFUSED, EventKind.CUT: CUT}


def kernel_of(model: BoundModel, limits: Limits | None = None) -> Kernel:
    """The kernel of a model's actions, which reports how each instance ended. Raises CompilationStopped."""
    key = model.key()
    found = load_kernel(key, record_outcomes=True)
    if found is not None:
        return found
    program = compile_model(model, CompilationDeadline(limits or Limits()).bindings, for_kernel=True)
    return compile_kernel(program, key, record_outcomes=True)


class Call(NamedTuple):
    """An instance of an action, and the action's name and parameters as an adapter gets them."""

    instance: int
    action: str
    arguments: Mapping[str, Any]


class Move(NamedTuple):
    """A step of the spec. digest: of the state it leads to; outside: that breaks the state constraint."""

    call: Call
    target: Packed
    digest: Digest
    outside: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """All there is to drive in a spec state.

    refused: instances at which a `require` says no, of actions that can be tried. nothing: per action, how many there
    are of others. cut: how many are cut.
    """

    state: Any
    steps: tuple[Move, ...]
    refused: tuple[Call, ...]
    nothing: tuple[int, ...]
    cut: int


class _Part:
    """A part of a state, found again by the bits of the state's words that it takes."""

    __slots__ = ("_bits", "_fields", "_type", "_values")

    def __init__(self, layout: Layout, at: int, type_: Type) -> None:
        """at: of its first leaf."""
        self._type, self._fields = type_, layout.fields[at : at + type_.width]
        bits: dict[int, int] = {}
        for piece in (piece for field in self._fields for piece in field):
            bits[piece.word] = bits.get(piece.word, 0) | piece.mask << piece.shift
        self._bits = tuple(bits.items())
        self._values: dict[tuple[int, ...], Any] = {}

    def value(self, words: Packed, made: Callable[[Type, tuple[int, ...]], Any]) -> Any:
        """made: the value of a type with these codes."""
        known = tuple([words[word] & bits for word, bits in self._bits])
        found = self._values.get(known, self)  # None is a value
        if found is self:
            _shrink(self._values, LOOKS)
            codes = [sum((words[p.word] >> p.shift & p.mask) << p.at for p in field) for field in self._fields]
            found = self._values[known] = made(self._type, tuple(codes))
        return found


class _Entries:
    """A map in a state, entry by entry."""

    __slots__ = ("_maps", "_type", "entries")

    def __init__(self, type_: MapType, entries: list[_Part]) -> None:
        self._type, self.entries = type_, entries
        self._maps: dict[tuple[int, ...], tuple[tuple[Any, ...], Any]] = {}

    def map(self, values: tuple[Any, ...]) -> Any:
        """The map of these values, which are the same objects wherever they are equal."""
        known = tuple(map(id, values))
        found = self._maps.get(known)
        if found is None:
            _shrink(self._maps, LOOKS)
            items = dict(zip(self._type.keys, values, strict=True))
            found = self._maps[known] = values, Map(items, self._type.value_type.store)
        return found[1]


class SpecSide:
    """Decodes and expands packed states of one model. Not for several threads at once."""

    def __init__(self, model: BoundModel, kernel: Kernel, system: System[Any], canonical: Canonical) -> None:
        self.reference = Reference(model)
        self.classes = MappingProxyType(classes_of(model.state_type))
        self._fixed = [self._without_members(i) for i in range(len(self.reference.instances))]
        self._type, self._layout = model.state_type, kernel.layout
        self._walker = Walker(kernel)
        self._kinds = np.full(FIRED + 1, -1, dtype=np.int8)
        for site, place in enumerate(kernel.sites):
            self._kinds[site] = _TOLD.get(place.kind, -1)
        tried = system.attempts([action.name for action in self.reference.actions])
        self._actions = np.array([action for action, _ in self.reference.instances], dtype=np.int64)
        self._tried = np.array([action.name in tried for action in self.reference.actions])[self._actions]
        self._expect, self._canonical = system.expect, canonical
        self._states: dict[Packed, Any] = {}
        self._looks: dict[Packed, Digest] = {}
        self._moves: dict[Packed, Moves] = {}
        self._values: dict[tuple[Type, tuple[int, ...]], Any] = {}
        self._parts = {name: self._reading(name, part) for name, part in self._type.fields.items()}

    def _without_members(self, instance: int) -> Call | None:
        """The call of an instance whose arguments are the same in every state, else None."""
        action, binding = self.reference.instances[instance]
        if any(isinstance(candidate, Member) for candidate in binding):
            return None
        names = (parameter.name for parameter in self.reference.parameters[action])
        arguments = MappingProxyType(dict(zip(names, binding, strict=True)))
        return Call(instance, self.reference.actions[action].name, arguments)

    def _call(self, instance: int, state: Any) -> Call:
        """An instance whose members are all there in `state`."""
        fixed = self._fixed[instance]
        if fixed is not None:
            return fixed
        values = self.reference.arguments(state, instance)
        assert values is not None, "the kernel took a member that is not there"
        action = self.reference.instances[instance][0]
        names = (parameter.name for parameter in self.reference.parameters[action])
        return Call(instance, self.reference.actions[action].name, dict(zip(names, values, strict=True)))

    def state(self, words: Packed) -> Any:
        """The state with these words. Values are shared among states: they are to be read only."""
        found = self._states.get(words)
        if found is None:
            _shrink(self._states, STATES)
            found = self._states[words] = self._decoded(words)
        return found

    def _reading(self, name: str, type_: Type) -> _Part | _Entries:
        """The way to a field of the state."""
        at = self._type.offsets[name]
        if not isinstance(type_, MapType):
            return _Part(self._layout, at, type_)
        width = type_.value_type.width
        parts = [_Part(self._layout, at + i * width, type_.value_type) for i in range(len(type_.keys))]
        return _Entries(type_, parts)

    def _decoded(self, words: Packed) -> Any:
        _shrink(self._values, PARTS)
        read = self._field
        return self._type.make({name: read(part, words) for name, part in self._parts.items()})

    def _field(self, part: _Part | _Entries, words: Packed) -> Any:
        """The value of a field. Of a map, every entry is looked up by itself."""
        if isinstance(part, _Part):
            return part.value(words, self._value)
        values = tuple([entry.value(words, self._value) for entry in part.entries])
        return part.map(values)

    def _record(self, type_: RecordType, codes: tuple[int, ...]) -> Any:
        offsets = type_.offsets
        return type_.make(
            {
                name: self._value(part, codes[offsets[name] : offsets[name] + part.width])
                for name, part in type_.fields.items()
            }
        )

    def _value(self, type_: Type, codes: tuple[int, ...]) -> Any:
        """The value with these codes, made once."""
        found = self._values.get((type_, codes), self)  # None is a value
        if found is not self:
            return found
        if isinstance(type_, RecordType) and not type_.frozen:
            value = self._record(type_, codes)
        elif isinstance(type_, MapType):
            part, width = type_.value_type, type_.value_type.width
            items = {key: self._value(part, codes[i * width : (i + 1) * width]) for i, key in enumerate(type_.keys)}
            value = Map(items, part.store)
        else:
            value = type_.decode(codes)
        self._values[type_, codes] = value
        return value

    def looks(self, words: Packed) -> Digest:
        """The digest of what the SUT should show in this state."""
        found = self._looks.get(words)
        if found is None:
            _shrink(self._looks, LOOKS)
            found = self._looks[words] = self._canonical.of(self._expect(self.state(words)))
        return found

    def moves(self, words: Packed) -> Moves:
        """The steps that the spec takes and refuses in a state."""
        found = self._moves.get(words)
        if found is None:
            _shrink(self._moves)
            found = self._moves[words] = self._expanded(words)
        return found

    def _expanded(self, words: Packed) -> Moves:
        state = self.state(words)
        expansion, ends = self._walker.expand_whole(words)
        steps = tuple(
            [
                Move(self._call(one.instance, state), one.words, digest_of(one.words), one.outside)
                for one in expansion.steps
            ]
        )
        kinds = self._kinds[ends]
        no = kinds == REFUSED
        refused = tuple([self._call(instance, state) for instance in (no & self._tried).nonzero()[0].tolist()])
        nothing = np.bincount(self._actions[no & ~self._tried], minlength=len(self.reference.actions))
        return Moves(state, steps, refused, tuple(nothing.tolist()), int(np.count_nonzero(kinds == CUT)))


def digest_of(words: Packed) -> Digest:
    """The digest of a packed state."""
    return blake2b(array("Q", words).tobytes(), digest_size=DIGEST_BYTES).digest()


def _shrink(memory: dict[Any, Any], most: int = REMEMBERED) -> None:
    if len(memory) > most:
        memory.clear()


def classes_of(type_: Type) -> dict[str, type]:
    """The classes that values of a type are made of, by name."""
    found: dict[str, type] = {}
    todo = [type_]
    while todo:
        one = todo.pop()
        if hasattr(one, "cls"):
            found[one.cls.__name__] = one.cls
        if isinstance(one, RecordType):
            todo += one.fields.values()
        elif isinstance(one, UnionType):
            todo += one.variants
        elif isinstance(one, MapType):
            todo += [one.key_type, one.value_type]
        else:
            todo += [getattr(one, name) for name in ("inner", "element") if hasattr(one, name)]
    return found
