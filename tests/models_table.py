"""Writes docs/models.md: what the models of the designs establish and how large they are, from the pinned counts.

usage: python -m tests.models_table [--measure]

All of it comes from the specs and tests/pins.toml but for the seconds, which --measure takes on this machine and
keeps, with a word on the machine, in tests/seconds.toml.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.explicit.kernel.layout import Layout
from checker.lang.frontend import state_leaves
from checker.lang.loader import BoundModel, bind_model, designs, load_spec
from tests.conftest import ROOT, Pin, read_known, read_pins
from traces.files import write_whole
from traces.markdown import escaped
from traces.values import plural

PAGE = ROOT / "docs" / "models.md"
PINS = ROOT / "tests" / "pins.toml"
SECONDS = ROOT / "tests" / "seconds.toml"
THREADS = 2
HEAD = """<!-- Written by `make docs` from the specs, tests/pins.toml and tests/seconds.toml. -->

# The models

Each model of a design is small enough to be explored exhaustively (or says that it is not), and is the home of the
properties that it claims. The counts are pinned: `make verify` compares a sample, `make large` the rest, and those
above twelve million transitions. `fencepost list MODEL` lists the constants, switches, actions and properties of one.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *_sizes(), _of_seconds(), "", *_guards_off(), "", *_known(), ""])


def _models() -> Iterator[BoundModel]:
    for design in designs():
        spec = load_spec(design)
        yield from (bind_model(spec, model.name) for model in spec.models)


def _pins(target: str) -> list[Pin]:
    return [pin for pin in read_pins(PINS) if pin.target == target]


def _by_subject(design: str) -> dict[str, list[BoundModel]]:
    """The models of a design by the first line of the file that lists them."""
    spec = load_spec(design)
    folder = spec.module
    groups: dict[str, list[BoundModel]] = {}
    names = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    files = [importlib.import_module(f"{folder.__name__}.{name}") for name in names]
    files.sort(key=lambda file: [model in getattr(file, "MODELS", []) for model in spec.models], reverse=True)
    for model in spec.models:
        subject = next((_first_line(file) for file in files if model in getattr(file, "MODELS", [])), "On one page")
        groups.setdefault(subject, []).append(bind_model(spec, model.name))
    return groups


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or module.__name__).partition("\n")[0].rstrip(".")


def _sizes() -> Iterator[str]:
    for design in designs():
        yield f"## {_first_line(importlib.import_module(f'spec.{design}'))}"
        yield ""
        for subject, models in _by_subject(design).items():
            yield f"### {subject}"
            yield ""
            yield from _table(models)
            yield ""


def _table(models: list[BoundModel]) -> Iterator[str]:
    """A row for each model: its constants, what is pinned of it as it stands, and what it establishes."""
    yield "| model | constants | words a state | distinct | generated | depth | seconds | what it establishes |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    seconds = _measured().get("seconds", {})
    for model in models:
        pinned: dict[str, Any] = next(
            (p.expected for p in _pins(model.name) if not p.setting and not p.changes), {"verdict": "not pinned"}
        )
        constants = ", ".join(f"{name}={value}" for name, value in model.model.constants.items())
        counts = [f"{pinned[name]:,}" if name in pinned else "–" for name in ("distinct", "generated", "depth")]
        took = f"{seconds[model.name]:.1f}" if model.name in seconds else "–"
        cells = [f"`{model.name}`", constants, str(words(model)), *counts, took, _establishes(model, pinned)]
        yield f"| {' | '.join(cells)} |"


def words(model: BoundModel) -> int:
    """The 64-bit words of a packed state, under the model's own constants."""
    model.bind()
    leaves, bags = state_leaves(model)
    return Layout(leaves, bags, {}).words


def _establishes(model: BoundModel, pinned: dict[str, Any]) -> str:
    kinds = [p.kind for p in model.model.properties]
    witnesses = kinds.count("witness")
    claimed = len(kinds) - witnesses
    told = "1 property" if claimed == 1 else f"{claimed} properties"
    told += f" and {plural(witnesses, 'witness state')}" if witnesses else ""
    return f"{escaped(model.model.doc)} {told}: {pinned['verdict']}."


def _of_seconds() -> str:
    noted = _measured()
    if not noted:
        return "Seconds were not measured: `python -m tests.models_table --measure` does it."
    return textwrap.fill(
        f"Seconds are those of one run of the search, with {THREADS} threads, without loading and compiling, on "
        f"{noted['machine']}; they are noted when the page is measured, and nothing checks them.",
        120,
    )


def _guards_off() -> Iterator[str]:
    """Violations found with guards switched off, and in the settings of the design."""
    yield "## With guards switched off"
    yield ""
    yield "What breaks in the first level in which anything does, with the states of a shortest counterexample."
    yield ""
    yield "| model | set | violates |"
    yield "|---|---|---|"
    for model in _models():
        for pin in _pins(model.name):
            parts = [pin.setting or "", *[f"{name}={value}" for name, value in pin.changes.items()]]
            variant = ", ".join(f"`{part}`" for part in parts if part)
            broken = [f"`{name}` ({states})" for name, states in pin.expected.get("violated", {}).items()]
            if variant:
                yield f"| `{model.name}` | {variant} | {', '.join(broken) or pin.expected['verdict']} |"


def _known() -> Iterator[str]:
    """Known violations of settings, each by the switch that repairs it."""
    yield "## Known violations of a setting"
    yield ""
    yield from textwrap.wrap(
        "What `fencepost check MODEL --setting S --known` goes on past: each switch that repairs a violation, with the "
        "states of a shortest counterexample once the switches before it are on. With all of them on, the model holds. "
        "Of KIP-631 there are those of every model that is pinned with `shipped` or `draft` and violated, but for "
        "`draft` in `timed` and `timed_failover`, which no single switch repairs. `make verify` looks at the small "
        "ones, `make large` at all of them.",
        120,
    )
    yield ""
    yield "| model | setting | known by | violates |"
    yield "|---|---|---|---|"
    for known in read_known(PINS):
        for switch, (name, states) in known.known.items():
            yield f"| `{known.target}` | `{known.setting}` | `{switch}` | `{name}` ({states}) |"
    yield ""
    for setting in ("shipped", "draft"):
        pinned = [(model.name, pin) for model in _models() for pin in _pins(model.name) if pin.setting == setting]
        hold = [f"`{name}`" for name, pin in pinned if not pin.changes and pin.expected["verdict"] == "holds"]
        yield from textwrap.wrap(f"`{setting}` violates nothing in {', '.join(hold)}.", 120)


def _measured() -> dict[str, Any]:
    return tomllib.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.is_file() else {}


def measure() -> None:
    """Explore every pinned model once, and note the seconds of the search."""
    found = {}
    for model in _models():
        if any(not pin.setting and not pin.changes for pin in _pins(model.name)):
            found[model.name] = _search_seconds(model.name)
            print(f"{model.name}  {found[model.name]:.1f} s", file=sys.stderr)
    lines = [
        "# Written by `python -m tests.models_table --measure`: seconds of the search of each model, and where.",
        f"machine = {json.dumps(_machine())}",
        "",
        "[seconds]",
        *[f"{json.dumps(name)} = {seconds:.2f}" for name, seconds in found.items()],
    ]
    write_whole(SECONDS, ("\n".join(lines) + "\n").encode())


def _search_seconds(target: str) -> float:
    code = "from checker.cli.main import main; main()"
    arguments = [sys.executable, "-c", code, "check", target, "--json", "--quiet", "--threads", str(THREADS)]
    done = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    seconds: float = json.loads(done.stdout)["seconds"]["search"]
    return seconds


def _machine() -> str:
    """Processor and number of cores, as the system names them."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(": ")[2] for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = names[0] if names else name
    return f"{os.cpu_count()} cores of {name}, Python {platform.python_version()}"


def main() -> None:
    """Measure if asked to, and write the page."""
    if sys.argv[1:] == ["--measure"]:
        measure()
    elif sys.argv[1:]:
        sys.exit("usage: python -m tests.models_table [--measure]")
    write_whole(PAGE, page().encode())


if __name__ == "__main__":
    main()
