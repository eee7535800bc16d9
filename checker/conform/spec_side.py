"""The spec's half of the product: what each of its states looks like, can do, and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from checker.conform.canonical import Canonical, Digest
from checker.conform.system import System
from checker.explicit.kernel.build import compile_kernel, load_kernel
from checker.explicit.kernel.codegen import FIRED
from checker.explicit.kernel.kernel import Kernel
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
    """A step of the spec. outside: the state it leads to breaks the state constraint."""

    call: Call
    target: Packed
    outside: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """All there is to drive in a spec state. refused: instances at which a `require` says no; cut: how many are cut."""

    state: Any
    steps: tuple[Move, ...]
    refused: tuple[Call, ...]
    cut: int


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
        self._expect, self._canonical = system.expect, canonical
        self._states: dict[Packed, Any] = {}
        self._looks: dict[Packed, Digest] = {}
        self._moves: dict[Packed, Moves] = {}
        self._values: dict[tuple[Type, tuple[int, ...]], Any] = {}

    def _without_members(self, instance: int) -> Call | None:
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
            _shrink(self._states)
            found = self._states[words] = self._decoded(words)
        return found

    def _decoded(self, words: Packed) -> Any:
        _shrink(self._values, PARTS)
        return self._record(self._type, tuple(self._layout.unpack(words)))

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
        steps = tuple(Move(self._call(one.instance, state), one.words, one.outside) for one in expansion.steps)
        kinds = self._kinds[ends]
        refused = tuple(self._call(instance, state) for instance in np.flatnonzero(kinds == REFUSED).tolist())
        return Moves(state, steps, refused, int(np.count_nonzero(kinds == CUT)))


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
