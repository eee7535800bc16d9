"""Shared by all tests: the pinned counts, and a separate cache for compiled kernels."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from checker.lang import Bug

if hypothesis.settings.get_current_profile_name() == "default":  # not in CI, or where a run has one of its own
    hypothesis.settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("untimed")  # a machine that is busy fails no test

pytest_plugins = ["tests.tiers", "tests.cluster.fixtures"]

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Pin:
    """The expected result of `fencepost check TARGET`. `setting` and `changes` are its --setting and --set.

    large: takes long; the large tier looks at it.
    """

    target: str
    setting: str | None
    changes: dict[str, str]
    expected: dict[str, Any]
    large: bool

    def __str__(self) -> str:
        parts = [self.setting or "", *[f"{name}={value}" for name, value in self.changes.items()]]
        return " ".join([self.target, *[p for p in parts if p]])


@cache
def read_pins(file: Path) -> tuple[Pin, ...]:
    """The pins of a file whose comment says how it is written."""
    return tuple(_pins(file))


def _pins(file: Path) -> Iterator[Pin]:
    for target, variants in tomllib.loads(file.read_text(encoding="utf-8"))["models"].items():
        for variant, expected in variants.items():
            parts = [part for part in variant.split(",") if part]
            settings = [part for part in parts if "=" not in part]
            assert len(settings) <= 1, f"{file}: {target}: {variant!r} names {len(settings)} settings"
            changes = dict(part.split("=", 1) for part in parts if "=" in part)
            large = expected.pop("large", False)
            yield Pin(target, settings[0] if settings else None, changes, expected, large)


@dataclass(frozen=True)
class KnownPin:
    """What `fencepost check TARGET --setting SETTING --known` goes on past: switch -> [property, states].

    large: takes long; the large tier looks at it.
    """

    target: str
    setting: str
    known: dict[str, Any]
    large: bool


@cache
def read_known(file: Path) -> tuple[KnownPin, ...]:
    """The pins of known violations of a file whose comment says how it is written."""
    return tuple(_known(file))


def _known(file: Path) -> Iterator[KnownPin]:
    pinned = tomllib.loads(file.read_text(encoding="utf-8"))["known"]
    for target, settings in pinned.items():
        for setting, known in settings.items():
            large = known.pop("large", False)
            yield KnownPin(target, setting, known, large)


def pin_of(design: str, bug: Bug) -> Pin | None:
    """The pin of a bug of the gallery, None if there is none."""
    changes = {name: str(getattr(value, "name", value)).lower() for name, value in bug.constants.items()}
    same = (f"{design}/{bug.model.name}", None, changes)
    pins = read_pins(ROOT / "tests" / "pins.toml")
    return next((pin for pin in pins if (pin.target, pin.setting, pin.changes) == same), None)


def pytest_configure(config: pytest.Config) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # the first is ignored in a job that a script put in the background
        signal.signal(number, signal.default_int_handler)
    config.addinivalue_line("markers", "pins(prefix): run with each `pin` whose target starts with the prefix")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("pins")
    if marker is not None:
        prefix = marker.args[0]
        pins = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target.startswith(prefix)]
        metafunc.parametrize("pin", [pytest.param(p, marks=_tier(p)) for p in pins], ids=str)


def _tier(pin: Pin) -> list[pytest.MarkDecorator]:
    if pin.large:
        return [pytest.mark.large("many states")]
    return [pytest.mark.long("more than 20,000 states")] if pin.expected.get("distinct", 0) > 20_000 else []


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Processes that tests started end with the run, also where it was interrupted (Linux; elsewhere they are left).

    They are asked first: a JVM removes its temporary folders.
    """
    yield
    for number, most_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 0.0)):
        for child in running_children():
            with suppress(ProcessLookupError):
                os.kill(child, number)
        end = time.monotonic() + most_s
        while running_children() and time.monotonic() < end:
            time.sleep(0.05)


def running_children() -> list[int]:
    """The processes that this one started and that have not ended; those that have are waited for."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return [int(child) for listed in Path("/proc/self/task").glob("*/children") for child in listed.read_text().split()]


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled kernels of tests do not land in the user's cache. The processes of one run of the suite share them.

    Temporary folders are made beside them, so that those of processes that were killed go with the run's own.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_CACHE", str(folder / "kernels"))
        (folder / "temporary").mkdir(exist_ok=True)
        patch.setenv("TMPDIR", str(folder / "temporary"))
        patch.setattr(tempfile, "tempdir", None)  # it is kept from the first time that it was asked for
        yield
