"""Finds specs and models by name, and puts a model's constants in force.

`kraft` is a design below the folder `spec` (its models are listed as MODELS by `spec.kraft.models`), `kraft/isr`
one of its models, `a.b.c` any importable module and `some/file.py` any Python file with a spec.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import enum
import functools
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from checker.lang.assumptions import check_assumptions
from checker.lang.claims import hold
from checker.lang.declare import Bug, ConstantsInfo, Declared, InstanceInfo, Model, bind
from checker.lang.definitions import check_definitions, check_imported, written
from checker.lang.errors import Place, SpecError, shortened
from checker.lang.liveness import LIVENESS
from checker.lang.marks import INSTANCE, MARK, RecordInfo, unbound
from checker.lang.notes import Notes
from checker.lang.parameters import Parameter, bindings, parameters_of
from checker.lang.resolve import hints, history_fields, record_type
from checker.lang.sources import sources_of, spec_modules
from checker.lang.types import RecordType
from checker.lang.values import Disabled, StepEnd
from checker.lang.where import VARIANT, assigned_place, field_place, raised_place

_SEVERAL = re.compile(r",|\.\.")


def suggest(name: str, known: Iterable[str], what: str) -> str:
    """A hint for an unknown name: the nearest known ones, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known {what}: {', '.join(names)}" if names else f"there are no {what}"


@dataclass(frozen=True)
class Spec:
    """A loaded spec. `name` is what the command line calls it."""

    name: str
    module: ModuleType
    models: list[Model]

    @functools.cached_property
    def instances(self) -> list[InstanceInfo]:
        """The instances of other specs that it is made from, those that others are made in first."""
        found = [vars(module).get(INSTANCE) for module in spec_modules(self.module)]
        return [info for info in found if isinstance(info, InstanceInfo)]

    def model(self, name: str | None) -> Model:
        """The model called `name`, or the default (first) one. Raises SpecError for an unknown name."""
        if name is None:
            return self.models[0]
        for model in self.models:
            if model.name == name:
                return model
        raise SpecError(f"{self.name} has no model {name}", hint=suggest(name, [m.name for m in self.models], "models"))


@dataclass(frozen=True)
class BoundModel:
    """A model with its constants in force: what engines are given.

    `constants` holds every constant and switch. Only one binding is in force at a time: `bind` again
    after another model was bound in between.
    """

    name: str
    spec: Spec
    model: Model
    info: ConstantsInfo | None
    constants: dict[str, Any]
    state_class: type[Any]

    def bind(self) -> None:
        bind(self.info, self.constants, self.spec.instances)

    @property
    def state_type(self) -> RecordType:
        return record_type(self.state_class)

    def parameters(self, action: Declared) -> list[Parameter]:
        return parameters_of(action, self.state_type)

    def initial_states(self) -> list[Any]:
        """The initial states in order of the parameters of `init`. Raises SpecError where none fits."""
        return initial_states(self.model, self.state_type)

    def declared(self, name: str) -> Declared | None:
        """The property, constraint, terminal condition or fairness of that name."""
        found = (*self.model.properties, *self.model.constraints, *self.model.terminal, *self.model.fairness)
        return next((d for d in found if d.name == name), None)

    def with_constants(self, changes: Mapping[str, Any]) -> BoundModel:
        """The same model with some constants changed (not in force until `bind`)."""
        return BoundModel(self.name, self.spec, self.model, self.info, {**self.constants, **changes}, self.state_class)

    def with_properties(self, properties: list[Declared]) -> BoundModel:
        """The same model, checked for these properties only."""
        model = dataclasses.replace(self.model, properties=properties)
        return BoundModel(self.name, self.spec, model, self.info, self.constants, self.state_class)

    def key(self) -> str:
        """A digest of all that this model is made from: sources, constants and the model's own lists."""
        digest = hashlib.sha256()
        for path, text in sorted(sources_of(self.spec.module).items()):
            digest.update(f"{path}\0{text}\0".encode())
        parts = [self.model.init, *self.model.actions, *self.model.properties, *self.model.constraints]
        names = [
            (
                d.kind,
                d.name,
                d.fair,
                d.function.__module__,
                getattr(d.function, VARIANT, ""),
                [a.name for a in d.actions],
            )
            for d in [*parts, *self.model.terminal, *self.model.fairness]
        ]
        digest.update(repr((names, list(self.model.hide), sorted(map(repr, self.constants.items())))).encode())
        return digest.hexdigest()

    def source_files(self) -> list[Path]:
        """The files of the modules that the spec is made from, without the standard library and the checker."""
        return [Path(file).resolve() for file in sources_of(self.spec.module)]


def initial_states(model: Model, type_: RecordType) -> list[Any]:
    """The initial states of a model whose constants are in force, each fit to its type. Raises SpecError."""
    states = []
    for binding in bindings(parameters_of(model.init, None)):
        try:
            states.append(type_.store(model.init.function(*binding)))
        except Disabled:
            continue
        except StepEnd as end:
            place = raised_place(end) or model.init.place
            raise SpecError(f"the initial state does not fit its types: {end}", place=place) from None
        except SpecError:
            raise
        except Exception as error:
            reason = f"@init breaks down: {type(error).__name__}: {shortened(error)}"
            raise SpecError(reason, place=raised_place(error) or model.init.place) from None
    if not states:
        raise SpecError("there is no initial state: the guards of @init refuse every binding of its parameters",
                        place=model.init.place, hint="loosen a require, or the constants")  # fmt: skip
    return states


# Finding.


def designs() -> list[str]:
    """The names of the designs below the folder `spec`: the packages that have models, not what these share."""
    found = importlib.util.find_spec("spec")
    folders = found.submodule_search_locations if found else None
    packages = sorted(m.name for m in pkgutil.iter_modules(folders) if m.ispkg) if folders else []
    return [name for name in packages if importlib.util.find_spec(f"spec.{name}.models") is not None]


def bugs_of(design: str) -> list[Bug]:
    """The bugs that a design lists as BUGS in its `gallery.py`, none where there is no such file. Raises SpecError."""
    if importlib.util.find_spec(f"spec.{design}.gallery") is None:
        return []
    bugs: list[Bug] = _import(f"spec.{design}.gallery").BUGS
    for bug in bugs:
        if [b.name for b in bugs].count(bug.name) > 1:
            raise SpecError(f"two bugs are called {bug.name}", place=bug.place, hint="rename one")
    return bugs


def notes_of(model: BoundModel) -> Notes[Any] | None:
    """The notes on traces of this model's state, None where there are none. Raises SpecError."""
    module = model.spec.module
    if model.spec.name in designs() and importlib.util.find_spec(f"spec.{model.spec.name}.notes") is not None:
        module = _import(f"spec.{model.spec.name}.notes")
    listed: Iterable[Notes[Any]] = getattr(module, "NOTES", ())
    return next((notes for notes in listed if notes.state is model.state_class), None)


def load(target: str, changes: Mapping[str, str] | None = None, setting: str | None = None) -> BoundModel:
    """The model that `target` names, bound with `changes` (NAME -> text of a value). Raises SpecError."""
    return bind_model(*find(target), changes, setting)


def bind_model(
    spec: Spec, name: str | None, changes: Mapping[str, str] | None = None, setting: str | None = None
) -> BoundModel:
    """The model called `name` (None: the first one) of a loaded spec, bound as by `load`. Raises SpecError."""
    model = spec.model(name)
    label = f"{spec.name}/{model.name}" if len(spec.models) > 1 or name else spec.name
    return bound(spec, model, label, changes or {}, setting)


def find(target: str) -> tuple[Spec, str | None]:
    """The spec that `target` names, and the name of the model if it gives one."""
    path, _, name = target.partition(".py/")
    if target.endswith(".py") or name:
        file = Path(path + ".py" if name else target)
        return load_spec(str(file)), name or None
    design, _, name = target.partition("/")
    if not design or (name and design not in designs() and "." not in design) or Path(target).exists():
        near = [str(p) for p in Path(target).parent.glob("*.py")] + [str(p) for p in Path(target).glob("*.py")]
        hint = suggest(target, [*designs(), *near], "specs")
        raise SpecError(f"there is no design or Python file {target!r}", hint=hint)
    return load_spec(design), name or None


def load_spec(target: str) -> Spec:
    """The spec in a design's folder, a module or a file. Raises SpecError for what is not there or not a spec."""
    if target.endswith(".py"):
        module = _import_file(Path(target))
    elif target in designs():
        module = _import(f"spec.{target}.models")
    elif all(part.isidentifier() for part in target.split(".")) and "." in target:
        module = _import(target)
    else:
        raise SpecError(
            f"there is no design {target}",
            hint=f"{suggest(target, designs(), 'designs')} (a module is named with its dots, a file with its .py)",
        )
    modules = list(spec_modules(module))
    check_definitions(modules)
    for part, _ in written(modules):
        for value in list(vars(part).values()):
            if isinstance(value, FunctionType) and value.__module__ == part.__name__:
                hold(value)
    return Spec(target, module, models_of(module, target))


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Around the import of a spec: no constants are in force, and what it prints is not part of the answer."""
    with unbound(), contextlib.redirect_stdout(sys.stderr):
        yield


def _import(name: str) -> ModuleType:
    try:
        with _importing():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise SpecError(f"there is no module {name}", hint="name a module, or the path of a file") from None
        raise broken_import(error) from None
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        raise broken_import(error) from None


class _AsItIsNow(SourceFileLoader):
    """Compiles a file each time: what Python has kept of it is told from a change by the second and the size alone."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError("what is kept is not asked for")


def _import_file(file: Path) -> ModuleType:
    if not file.is_file():
        near = [str(p) for p in file.parent.glob("*.py") if p.is_file()] if file.parent.is_dir() else []
        raise SpecError(f"there is no file {file}", hint=suggest(str(file), near, "Python files there"))
    name = f"fencepost_file_{file.stem}_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        del sys.modules[name]
    found = importlib.util.spec_from_file_location(name, file, loader=_AsItIsNow(name, str(file)))
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    sys.path.insert(0, str(file.resolve().parent))
    try:
        with _importing():
            found.loader.exec_module(module)
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        raise broken_import(error, str(file)) from None
    finally:
        sys.path.remove(str(file.resolve().parent))
    return module


def broken_import(error: BaseException, file: str = "") -> SpecError:
    """The error for a file that raises this when it is run."""
    if isinstance(error, SyntaxError):
        place = Place(error.filename or file, error.lineno or 1, (error.offset or 1) - 1, error.end_offset or 0)
        return SpecError(f"not Python: {error.msg}", place=place)
    place = raised_place(error) or Place(file, 1)
    if isinstance(error, RecursionError) and place.line == 1:
        return SpecError("Python cannot compile it: something in it is nested too deeply", place=place)
    return SpecError(f"the spec cannot be loaded: {type(error).__name__}: {shortened(error)}", place=place)


def _listed(module: ModuleType) -> list[Model]:
    """The models that MODELS lists; without it, those that the module has names for."""
    listed = getattr(module, "MODELS", None)
    if listed is None:
        return [v for v in vars(module).values() if isinstance(v, Model)]
    place = assigned_place(module.__file__ or "", "MODELS")
    if not isinstance(listed, list | tuple) or not listed:
        raise SpecError(f"MODELS is {shortened(repr(listed))}, and no list of models", place=place,
                        hint="MODELS = [Model(...), ...]; without it, the file itself is a model")  # fmt: skip
    for model in listed:
        if not isinstance(model, Model):
            raise SpecError(f"MODELS lists {shortened(repr(model))}, which is not a Model", place=place,
                            hint="MODELS = [Model(...), ...]")  # fmt: skip
    return list(listed)


def models_of(module: ModuleType, name: str | None = None) -> list[Model]:
    """The models of a spec: those it lists, or the one that it is. Raises SpecError where it is none."""
    name = name or str(module.__file__)
    models = _listed(module)
    for model in models:
        if [m.name for m in models].count(model.name) > 1:
            raise SpecError(f"two models are called {model.name}", place=model.place, hint="rename one")
        if not re.fullmatch(r"[\w.-]+", str(model.name)):
            raise SpecError(f"a model cannot be called {model.name!r}", place=model.place,
                            hint="use letters, digits, _, - and . only")  # fmt: skip
    if models:
        return models
    declared = [v for v in vars(module).values() if isinstance(v, Declared)]
    kinds = ("init", "action", "constraint", "terminal", "fairness", "assumption")
    by_kind = {k: [d for d in declared if d.kind == k] for k in kinds}
    if len(by_kind["init"]) != 1 or not by_kind["action"]:
        inits = by_kind["init"]
        missing = "@action is missing" if inits else "@init is missing"
        if len(inits) > 1:
            missing = f"{inits[1].name} is one too many"
        raise SpecError(
            f"{name} holds no model: it declares {len(by_kind['init'])} @init and {len(by_kind['action'])} @action",
            place=Place(module.__file__ or "", 1),
            hint=f"a spec needs one @init and some @action ({missing}), or a Model",
        )  # fmt: skip
    claims = ("invariant", "transition invariant", "refinement", "witness", "deadlock", *LIVENESS)
    properties = [d for d in declared if d.kind in claims]
    check_imported(module, declared)
    doc = " ".join((module.__doc__ or "").split("\n\n")[0].split())
    return [
        Model(Path(name).stem, doc, by_kind["init"][0], by_kind["action"], properties,
              constraints=by_kind["constraint"], terminal=by_kind["terminal"], fairness=by_kind["fairness"],
              assumptions=by_kind["assumption"])
    ]  # fmt: skip


# Binding.


def bound(spec: Spec, model: Model, label: str, changes: Mapping[str, str], setting: str | None = None) -> BoundModel:
    """`model` with its constants: defaults, then the model's, then a named setting's, then `changes`; in force."""
    cls = state_class(model)
    info = constants_of(model, spec.module)
    values: dict[str, Any] = dict(info.defaults) if info else {}
    given = next((i for i in spec.instances if i.constants is info), None) if info else None
    _override(values, model.constants, f"model {model.name}", model)
    if given is not None:  # what an instance is made with goes before what its models set
        values.update({name: value for name, value in given.values().items() if name in given.given})
    for name, changed in model.settings.items():
        _override(dict(values), changed, f"setting {name}", model)
    if setting is not None:
        if setting not in model.settings:
            raise SpecError(f"{label} has no setting {setting}", hint=suggest(setting, model.settings, "settings"))
        values.update(model.settings[setting])
    for name, text in changes.items():
        if name not in values:
            raise SpecError(f"{label} has no constant {name}", hint=suggest(name, values, "constants"))
        values[name] = _read(name, text, values[name])
    result = BoundModel(label, spec, model, info, values, cls)
    result.bind()
    check_assumptions(label, model, info, values)
    record_type(cls)  # says early what is wrong with the types
    for name in model.hide:
        if name not in history_fields(cls):
            raise SpecError(
                f"model {model.name} hides {name}, which is not a history field of {cls.__name__}",
                place=model.place,
                hint=suggest(name, history_fields(cls), "history fields"),
            )
    return result


def _override(values: dict[str, Any], changes: Mapping[str, Any], where: str, model: Model) -> None:
    for name, value in changes.items():
        if name not in values:
            raise SpecError(f"{where} sets {name}, which is not a constant", place=model.place,
                            hint=suggest(name, values, "constants"))  # fmt: skip
        if type(value) is not type(values[name]):
            raise SpecError(f"{where} sets {name} to {value!r}, and its default is {values[name]!r}", place=model.place,
                            hint=f"give it a {type(values[name]).__name__}")  # fmt: skip
        values[name] = value


def _read(name: str, text: str, like: Any) -> Any:
    if isinstance(like, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        hint = _sweep_hint(text) or f"--set {name}=false"
        raise SpecError(f"{name} is a switch, and {text!r} is neither true nor false", hint=hint)
    if isinstance(like, int):
        try:
            return int(text)
        except ValueError:
            hint = _sweep_hint(text) or f"--set {name}={like}"
            raise SpecError(f"{name} is a number, and {text!r} is none", hint=hint) from None
    if isinstance(like, enum.Enum):
        if text in type(like).__members__:
            return type(like)[text]
        hint = _sweep_hint(text) or suggest(text, type(like).__members__, "values")
        raise SpecError(f"{name} cannot be {text}", hint=hint)
    return text


def _sweep_hint(text: str) -> str:
    """A hint for a value that is several: commands that cannot sweep a constant get here with it."""
    return "give it one value; several (2..4, or 2,3) are for `fencepost check`" if _SEVERAL.search(text) else ""


def state_class(model: Model) -> type[Any]:
    """The class of a model's states: what the first parameter of its actions is. Raises SpecError."""
    found: dict[type[Any], Declared] = {}
    for action in model.actions:
        names = list(inspect.signature(action.function).parameters)
        cls = hints(action.function).get(names[0]) if names else None
        info = getattr(cls, MARK, None)
        if not isinstance(info, RecordInfo) or not info.is_state:
            raise SpecError(
                f"action {action.name}: its first parameter must be the state", place=action.place,
                hint="def step(s: Cluster, ...) -> None, where Cluster is marked @state",
            )  # fmt: skip
        found.setdefault(typing.cast("type[Any]", cls), action)
    if len(found) != 1:
        where = list(found.values())[-1].place if found else None
        raise SpecError(f"model {model.name} has {len(found)} kinds of states", place=where, hint="share one")
    return next(iter(found))


def constants_of(model: Model, spec: ModuleType | None = None) -> ConstantsInfo | None:
    """The one `@constants` class that the model's functions can see, or else the spec that lists it.

    The constants of an instance count only for models that are all of this instance.
    """
    declared = [model.init, *model.actions, *model.properties, *model.fairness]
    homes = [sys.modules[home] for home in dict.fromkeys(d.function.__module__ for d in declared)]
    found = [i for i in _constants_in(homes) if not _is_instance(i)]
    if not found:
        found = [i for i in _constants_in(homes) if sys.modules[i.cls.__module__] in homes]
        own = [i for i in _constants_in([spec]) if not _is_instance(i)] if spec is not None else []
        found = own or found
    if len(found) > 1:
        names = ", ".join(i.cls.__name__ for i in found)
        raise SpecError(
            f"a spec has one class of constants, and this one sees {names}", place=field_place(found[-1].cls),
            hint='merge them, or take the other spec with instance("...")',
        )  # fmt: skip
    return found[0] if found else None


def _constants_in(starts: Iterable[ModuleType]) -> list[ConstantsInfo]:
    found: dict[int, ConstantsInfo] = {}
    for module in spec_modules(*starts):
        for value in vars(module).values():
            info = value.__dict__.get(MARK) if isinstance(value, type) else None
            if isinstance(info, ConstantsInfo):
                found[id(info.cls)] = info
    return list(found.values())


def _is_instance(info: ConstantsInfo) -> bool:
    """True if these are the constants of an instance of a spec."""
    return INSTANCE in vars(sys.modules[info.cls.__module__])
