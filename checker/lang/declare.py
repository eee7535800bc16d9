"""Declarations of a spec: constants, records, the state, actions, properties and models.

Constants are read as attributes of the class marked `@constants`; `bind` puts a model's values in
force. Only one binding is in force at a time.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, dataclass_transform

from checker.lang.errors import Place, SpecError
from checker.lang.liveness import LIVENESS
from checker.lang.marks import MARK, Binding, RecordInfo
from checker.lang.values import UNCHECKED, Bag, Map, Ordinal, check_writable
from checker.lang.where import caller_place, field_place, function_place

C = TypeVar("C", bound=type[Any])
R = TypeVar("R")
O = TypeVar("O", bound=Ordinal)
F = TypeVar("F", bound=Callable[..., Any])
PLAIN = frozenset({bool, int, str, type(None)})  # in which there is no ordinal


# Constants.


@dataclass(frozen=True)
class ConstantsInfo:
    """The constants of a spec: names, defaults and what each is for."""

    cls: type[Any]
    defaults: dict[str, Any]
    docs: dict[str, str]

    def give(self, name: str, value: Any, place: Place) -> None:
        """Put a value in force for one constant. Raises SpecError where it is not of the default's type."""
        default = self.defaults[name]
        if type(value) is not type(default):
            raise SpecError(f"{name} is given {value!r}, and its default is {default!r}", place=place,
                            hint=f"give it a {type(default).__name__}")  # fmt: skip
        setattr(self.cls, name, value)


@dataclass(frozen=True)
class InstanceInfo:
    """Of an instance of a spec: its constants, and what gives those that are not fixed; all that it was made with."""

    constants: ConstantsInfo | None
    later: dict[str, Callable[[], Any]]
    given: dict[str, Any]
    place: Place

    def bind(self) -> None:
        """Put the constants in force. Raises SpecError where one that is computed does not fit."""
        if self.constants is not None:
            for name, value in self.values().items():
                self.constants.give(name, value, self.place)

    def values(self) -> dict[str, Any]:
        """Every constant. Raises SpecError where one cannot be computed."""
        found = dict(self.constants.defaults) if self.constants is not None else {}
        for name, compute in self.later.items():
            try:
                found[name] = compute()
            except Exception as error:
                raise SpecError(f"{name} cannot be computed: {type(error).__name__}: {error}", place=self.place,
                                hint="compute it from constants of this spec") from None  # fmt: skip
        return found


def constants(cls: C) -> C:
    """Marks the class whose attributes are the constants and design switches of a spec.

    Each is an int, bool, str or enum member with a default; a string literal below it says what it is for.
    """
    defaults = {}
    for name, declared in inspect.get_annotations(cls).items():
        if not hasattr(cls, name):
            raise SpecError(f"the constant {name} has no default", place=field_place(cls, name),
                            hint=f"give it one, such as {name}: int = 1")  # fmt: skip
        defaults[name] = _constant(cls, name, declared, getattr(cls, name))
    setattr(cls, MARK, ConstantsInfo(cls, defaults, _attribute_docs(cls)))
    return cls


def _constant(cls: type[Any], name: str, declared: Any, value: Any) -> Any:
    """The default of a constant. Raises SpecError where it is not what the annotation says, or nothing to set."""
    said = declared if isinstance(declared, str) else getattr(declared, "__name__", str(declared))
    if not isinstance(value, int | str | enum.Enum):
        raise SpecError(f"the constant {name} is a {type(value).__name__}", place=field_place(cls, name),
                        hint="a constant is an int, a bool, a str or a member of an enum")  # fmt: skip
    if said.split(".")[-1] not in (type(value).__name__, "Any"):
        raise SpecError(f"the constant {name} is declared {said}, and its default {value!r} is a "
                        f"{type(value).__name__}", place=field_place(cls, name), hint="make the two agree")  # fmt: skip
    return value


def _attribute_docs(cls: type[Any]) -> dict[str, str]:
    import ast
    import textwrap

    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            if isinstance(before.target, ast.Name) and isinstance(after.value.value, str):
                docs[before.target.id] = " ".join(after.value.value.split())
    return docs


def bind(info: ConstantsInfo | None, values: Mapping[str, Any], instances: Sequence[InstanceInfo] = ()) -> None:
    """Put `values` in force for the constants of `info` (others get their defaults), then those of the instances."""
    if info is not None:
        for name, default in info.defaults.items():
            setattr(info.cls, name, values.get(name, default))
    for instance in instances:
        if instance.constants is not info:
            instance.bind()
    Binding.version += 1


# Records and states.


def _copied(value: Any) -> Any:
    info = getattr(type(value), MARK, None)
    if isinstance(info, RecordInfo) and not info.frozen:
        return type(value)(**{f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    return Map(dict(value.items()), value._store) if isinstance(value, Map) else value


@cache
def _field_types() -> Callable[[type[Any]], Mapping[str, Any] | None]:
    """`resolve.field_types`; that module imports this one."""
    from checker.lang.resolve import field_types

    return field_types


def _stored(record: Any, name: str, value: Any) -> Any:
    """`value` as the declared type of the field keeps it: checked and copied."""
    types = _field_types()(type(record))
    if types is None:
        return _copied(value)
    if name not in types:
        raise AttributeError(f"{type(record).__name__} has no field {name}")
    return types[name].store(value)


def _check_record(cls: type[Any]) -> None:
    """Refuse what a record cannot inherit or hold."""
    for base in cls.__mro__[1:]:
        if base is not object and not isinstance(base.__dict__.get(MARK), RecordInfo):
            raise SpecError(f"{cls.__name__} inherits from {base.__name__}, which is not a record",
                            place=field_place(cls),
                            hint="give the class no base, or one with the same decorator")  # fmt: skip
    for name in inspect.get_annotations(cls):
        if name.startswith("_"):
            raise SpecError(f"{cls.__name__}.{name}: names that begin with _ are Python's and the checker's own",
                            place=field_place(cls, name), hint=f"call it {name.strip('_') or 'value'}")  # fmt: skip


def _record_class(cls: type[Any], info: RecordInfo) -> type[Any]:
    _check_record(cls)
    if info.frozen:

        def check(self: Any) -> None:
            fields = self.__dict__
            types = _field_types()(type(self))
            for f in dataclasses.fields(self):
                value = fields[f.name]
                fields[f.name] = _copied(value) if types is None else types[f.name].store(value)
            if types is None:
                fields[UNCHECKED] = True

        cls.__post_init__ = check
    else:

        def assign(self: Any, name: str, value: Any) -> None:
            if name in self.__dict__:
                check_writable()  # making a record is not a write
            self.__dict__[name] = _stored(self, name, value)

        cls.__setattr__ = assign  # type: ignore[assignment]  # of a class that is being made
    made = dataclass(frozen=info.frozen, eq=True, unsafe_hash=not info.frozen)(cls)
    setattr(made, MARK, info)
    return made


@dataclass_transform(frozen_default=True)
def message(cls: type[R]) -> type[R]:
    """A frozen record: a value, made once and replaced as a whole. Unions, sets, bags and sequences hold these."""
    return _record_class(cls, RecordInfo(frozen=True, is_state=False))


@dataclass_transform()
def record(cls: type[R]) -> type[R]:
    """A record whose fields are assigned to in place; assigning it as a whole copies it."""
    return _record_class(cls, RecordInfo(frozen=False, is_state=False))


@dataclass_transform()
def state(cls: type[R]) -> type[R]:
    """The state of the system: one per spec."""
    return _record_class(cls, RecordInfo(frozen=False, is_state=True))


def replace(value: R, /, **changes: Any) -> R:
    """A copy of a record with some fields changed."""
    assert dataclasses.is_dataclass(value) and not isinstance(value, type)
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return type(value)(**{**fields, **changes})


def fresh(s: Any, sort: type[O]) -> O:
    """An ordinal above every one of its sort that was live when the step began or was issued in it."""
    issued = s.__dict__.setdefault("_issued", {})
    if sort not in issued:
        issued[sort] = max((o.value for o in _ordinals(s.__dict__.get("_origin", s), sort)), default=-1)
    issued[sort] += 1
    return sort(issued[sort])


def _ordinals(value: Any, sort: type[O]) -> list[O]:
    if isinstance(value, Ordinal):
        return [value] if isinstance(value, sort) else []
    if isinstance(getattr(type(value), MARK, None), RecordInfo):
        parts = vars(value).values()
    elif isinstance(value, Map):
        parts = value.values()
    elif isinstance(value, tuple | frozenset | Bag):
        parts = value
    else:
        return []
    return [o for part in parts if type(part) not in PLAIN for o in _ordinals(part, sort)]


# Actions and properties.


@dataclass(frozen=True)
class Declared:
    """An action or property: its function, and what its header says."""

    # "action", "invariant", "transition invariant", "witness", "leads-to", "eventually", "constraint", "terminal",
    # "init", "deadlock", "refinement", "always eventually", "eventually always", "fairness"
    kind: str
    name: str
    function: Callable[..., Any]
    doc: str = ""
    source: str = ""
    who: str = ""
    deviates: str = ""
    kafka: str = ""
    api: str = ""
    fair: str = ""  # of an action or a fairness: "weak" or "strong"
    actions: tuple[Declared, ...] = ()  # of a fairness, and of a property whose goal is that one of them is taken
    abstract: Model | None = None  # of a refinement: the spec that is implemented

    def __post_init__(self) -> None:
        if self.fair not in ("", "weak", "strong"):
            hint = 'fair="weak" or fair="strong"'
            raise SpecError(f"fair={self.fair!r} of {self.name} is not a fairness", place=self.place, hint=hint)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    @property
    def place(self) -> Place:
        """The line of its def."""
        return function_place(self.function)

    @property
    def span(self) -> int:
        """The number of consecutive states that an invariant or transition invariant relates; 0 for all else."""
        return {"invariant": 1, "transition invariant": 2}.get(self.kind, 0)


def declared_as(function: Callable[..., Any], kind: str, **header: Any) -> Declared:
    if inspect.iscoroutinefunction(function):
        code = function.__code__
        raise SpecError(f"{function.__name__} is async", place=Place(code.co_filename, code.co_firstlineno, 0, 10_000),
                        hint="a step happens at once: def, and a step of its own for what comes later")  # fmt: skip
    doc = " ".join((function.__doc__ or "").split())
    return Declared(kind, function.__name__, function, doc, **header)


def _bare(function: Callable[..., Any] | None, name: str, example: str) -> None:
    """Refuse a decorator that is written without its parentheses."""
    if function is not None:
        raise SpecError(f"@{name} without its header", place=function_place(function), hint=example)


def action(
    function: None = None,
    /,
    *,
    who: str = "",
    source: str = "",
    deviates: str = "",
    kafka: str = "",
    api: str = "",
    fair: str = "",
) -> Callable[[F], Declared]:
    """A named guarded update. Its docstring says what it is for.

    who: who acts; may name parameters ("broker {broker}"). source: document and section.
    deviates: how it departs from the source; kafka: the method of Apache Kafka that does it; api: the
    request that is sent or handled ("BrokerHeartbeat v1"). fair: "weak" (under each binding of its parameters it
    is taken infinitely often, unless it is disabled infinitely often) or "strong" (it is taken infinitely often
    if it is enabled infinitely often); without it, nothing makes the action happen. `replace(fence, fair="")` is
    the same action with another fairness.
    """

    _bare(function, "action", '@action(who="active controller", source="KIP-631, Broker Leases")')

    def mark(function: F) -> Declared:
        return declared_as(
            function, "action", who=who, source=source, deviates=deviates, kafka=kafka, api=api, fair=fair
        )

    return mark


def invariant(function: None = None, /, *, source: str = "") -> Callable[[F], Declared]:
    """A property of every state: `(s) -> bool`."""
    _bare(function, "invariant", '@invariant(source="KIP-631, Broker Registration")')
    return lambda function: declared_as(function, "invariant", source=source)


def transition_invariant(function: None = None, /, *, source: str = "") -> Callable[[F], Declared]:
    """A property of every transition: `(before, after) -> bool`."""
    _bare(function, "transition_invariant", '@transition_invariant(source="KIP-631, Broker Registration")')
    return lambda function: declared_as(function, "transition invariant", source=source)


def witness(function: F) -> Declared:
    """A state that must be reachable: `(s) -> bool`. Where none is, the verdict is `vacuous`."""
    return declared_as(function, "witness")


def constraint(function: F) -> Declared:
    """A state constraint, as TLC has it: states that break it are checked, but neither counted nor expanded."""
    return declared_as(function, "constraint")


def terminal(function: F) -> Declared:
    """States in which nothing needs to be enabled."""
    return declared_as(function, "terminal")


def assume(function: F) -> Declared:
    """Declare a condition that a model's constants must meet: `() -> bool`, as TLA+'s ASSUME.

    One that stands in the module of the constants is of every model; a model lists others as `assumptions`. The
    docstring says what is assumed, and is part of the message where it does not hold.
    """
    if inspect.signature(function).parameters:
        raise SpecError(f"the assumption {function.__name__} takes parameters", place=function_place(function),
                        hint="it refers to constants alone: def small_enough() -> bool")  # fmt: skip
    return declared_as(function, "assumption")


def init(function: F) -> Declared:
    """Gives an initial state for each binding of its parameters, which range over finite types; `require` filters."""
    return declared_as(function, "init")


def _deadlock_free(s: Any) -> bool:
    """Some action is enabled, or the state is terminal."""
    raise NotImplementedError("the engine decides this from the enabled actions")


deadlock_free = Declared("deadlock", "deadlock_free", _deadlock_free, _deadlock_free.__doc__ or "")


@dataclass(frozen=True)
class Model:
    """A spec with its constants bound, small enough to explore, and what it is for.

    constants: overrides of the defaults; settings: name -> overrides, for named settings of the
    design switches; hide: history fields of the state that a view leaves out of its identity;
    faults: the fault budget and how realistic it is; not_modelled: what a counterexample should not be
    blamed for; lemmas: invariants that only proofs ask for, to start from fewer states; fairness: of groups
    of its actions, beside what the actions say of themselves; assumptions: what must hold of the constants here,
    beside what is assumed in the module of the constants.
    """

    name: str
    doc: str
    init: Declared
    actions: Sequence[Declared]
    properties: Sequence[Declared]
    constants: Mapping[str, Any] = field(default_factory=dict)
    constraints: Sequence[Declared] = ()
    terminal: Sequence[Declared] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hide: Sequence[str] = ()
    faults: str = ""
    not_modelled: str = ""
    lemmas: Sequence[Declared] = ()
    fairness: Sequence[Declared] = ()
    assumptions: Sequence[Declared] = ()

    place: Place = field(default_factory=Place, compare=False, repr=False)  # of the call that made it

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", caller_place(2) if not self.place.file else self.place)
        state = ("invariant", "transition invariant", "refinement", "witness", "deadlock", *LIVENESS)
        for what, kinds, found in (
            ("init", ("init",), [self.init]), ("action", ("action",), self.actions),
            ("property", state, self.properties), ("constraint", ("constraint",), self.constraints),
            ("terminal", ("terminal",), self.terminal), ("lemma", ("invariant",), self.lemmas),
            ("fairness", ("fairness",), self.fairness), ("assumption", ("assumption",), self.assumptions),
        ):  # fmt: skip
            for declared in found:
                if not isinstance(declared, Declared) or declared.kind not in kinds:
                    name = getattr(declared, "name", getattr(declared, "__name__", declared))
                    article = "an" if what[0] in "aeiou" else "a"
                    mark = "weak_fairness" if what == "fairness" else kinds[0].replace(" ", "_")
                    raise SpecError(
                        f"model {self.name}: {name} is not {article} {what}", place=self.place,
                        hint=f"mark it with @{mark}, or list it where it belongs",
                    )  # fmt: skip
            names = [d.name for d in found]
            for name in names:
                if names.count(name) > 1:
                    raise SpecError(f"model {self.name} lists {name} twice", place=self.place, hint="list it once")
        named: dict[str, Declared] = {}
        for declared in (*self.actions, *self.properties, *self.constraints, *self.terminal, *self.fairness):
            other = named.setdefault(declared.name, declared)
            if other.kind != declared.kind:
                raise SpecError(
                    f"model {self.name}: {declared.name} is both its {other.kind} and its {declared.kind}",
                    place=self.place, hint="give one of them another name: verdicts and traces call them by it",
                )  # fmt: skip
        known = [action.name for action in self.actions]
        for declared in (*self.fairness, *self.properties):
            for action in declared.actions:
                if action.name not in known:
                    raise SpecError(
                        f"model {self.name}: {declared.kind} {declared.name} refers to {action.name}, which is none of"
                        " its actions", place=self.place, hint=f"list {action.name} as an action of {self.name}",
                    )  # fmt: skip


@dataclass(frozen=True)
class Bug:
    """A bug of history, or a hole of the design, that a model shows once a guard is taken away.

    name: what pages and the command call it ("kip-903"); title: what goes wrong, in a line; label: "known: KIP-903,
    KAFKA-14617", "draft only", "shipped", "artefact of the model"; found_in: which versions have it; story: what
    happens, for people who run Kafka. constants: what is set in `model` to show it, the switches that are off among
    them. violates: the property that then breaks; states: of its shortest counterexample (of a lasso: of the one that
    is found, the closing state included). guard: a text on what repairs it.
    """

    name: str
    title: str
    label: str
    found_in: str
    story: str
    model: Model
    constants: Mapping[str, Any]
    violates: Declared
    states: int
    guard: str

    place: Place = field(default_factory=Place, compare=False, repr=False)  # of the call that made it

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", caller_place(2) if not self.place.file else self.place)
        if not self.name.replace("-", "").replace("_", "").isalnum():
            hint = "letters, digits, hyphens: it names a page"
            raise SpecError(f"{self.name!r} cannot be a bug's name", place=self.place, hint=hint)
        if self.violates not in self.model.properties:
            raise SpecError(
                f"the bug {self.name} violates {self.violates.name}, which {self.model.name} does not claim",
                place=self.place, hint="name a property of its model",
            )  # fmt: skip
