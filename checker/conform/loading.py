"""Finding the system under test that a name means."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from typing import Any

from checker.conform.system import System, SystemLostError
from checker.lang.errors import SpecError
from checker.lang.loader import suggest

NEEDED = ("lacks", "begin", "step", "attempts", "attempt", "receivers", "observe", "expect", "key")


def load_system(name: str) -> System[Any]:
    """The adapter called `name`: `kraft` is SYSTEM of impl.adapters.kraft, `package.module:NAME` is what it says.

    `apache-kafka:4.3.1` is what `system_of("4.3.1")` of impl.adapters.apache_kafka makes.

    Raises SpecError for what is not there or no adapter, SystemLostError where a release cannot be run.
    """
    module_name, colon, attribute = name.partition(":")
    released = _of_release(module_name.replace("-", "_"), attribute) if colon else None
    if released is not None:
        return released
    if not colon:
        module_name, attribute = f"impl.adapters.{name}", "SYSTEM"
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise SpecError(f"{name!r} names no implementation", hint=_known(name))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise SpecError(f"there is no implementation {name} ({error})", hint=_known(name)) from None
        raise
    system: System[Any] | None = getattr(module, attribute, None)
    missing = [needed for needed in NEEDED if not hasattr(system, needed)]
    if system is None or missing:
        what = f"{attribute} of {module_name} is not a system under test: it has no {', '.join(missing)}"
        raise SpecError(what, hint="checker/conform/system.py says what an adapter has")
    return system


def _of_release(package: str, release: str) -> System[Any] | None:
    """The system that a package of impl.adapters makes for a release of what it adapts, if there is such a package."""
    name = f"impl.adapters.{package}"
    if not package.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    try:
        system: System[Any] = importlib.import_module(name).system_of(release)
    except Exception as error:
        if getattr(error, "system_is_lost", False):
            raise SystemLostError(str(error)) from None
        raise
    return system


def _known(name: str) -> str:
    found = importlib.util.find_spec("impl.adapters")
    folders = found.submodule_search_locations if found else None
    names = [m.name for m in pkgutil.iter_modules(folders) if m.ispkg] if folders else []
    return f"{suggest(name, names, 'implementations')}; any other one is package.module:NAME"
