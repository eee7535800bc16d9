"""Every model of KIP-631 explored together with a released controller: what conforms, and where it does otherwise.

    python -m tests.impl.apache.models [--release VERSION] [--lifecycles] [--seconds S] [--done FILE]
                                       [--checkpoints DIR] [MODEL ...]

A model gets so many seconds at most (300), on one core. With `--lifecycles` the brokers' are those of the release, too.
With `--done FILE` the file keeps a line for each, and a model that has one is not explored again; one that Ctrl-C
stops has none. With `--checkpoints DIR` every level is saved there, and a model that was not explored to its end goes
on, for so many seconds more. Exit codes: 0 nothing diverges, 1 something does, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker.lang.loader import load_spec
from checker.verdicts import DIVERGES, INCOMPLETE
from impl.apache.recording.record import VERSION, setting_of
from impl.apache.release import missing
from tests.cluster import stopping
from tests.cluster.campaign import known_runs

NOT_DRIVEN = "not driven"
"""The verdict on a model that the adapter has no steps for."""


def explored(model: str, version: str, seconds: float, lifecycles: bool, checkpoints: Path | None) -> dict[str, Any]:
    """The line of a model. checkpoints: the directory of all that are saved."""
    setting = f"{setting_of(version)}_{'lifecycle' if lifecycles else 'controller'}"
    released = f"apache-kafka{'-lifecycle' if lifecycles else ''}:{version}"
    saving: list[str] = []
    if checkpoints is not None:
        saved = checkpoints / released.replace(":", "-") / model
        saving = ["--resume" if (saved / "manifest.json").exists() else "--checkpoint", str(saved)]
    command = [
        sys.executable, "-m", "checker", "conform", f"kraft/{model}", "--impl", released, "--setting", setting,
        "--jobs", "1", "--time-limit-s", str(seconds), "--json", "--quiet", *saving,
    ]  # fmt: skip
    told, errors = outputs_of(command)
    if not told:
        return {"model": model, "verdict": NOT_DRIVEN, "reason": errors.strip().removeprefix("error: ")}
    found = json.loads(told)
    places = [row["place"] for row in found["divergence"] or ()]
    kept = ("verdict", "reason", "driven", "refusals", "probes", "pairs", "depth")
    return {"model": model, **{name: found[name] for name in kept}, "spec": found["spec"], "places": places}


def outputs_of(command: Sequence[str]) -> tuple[str, str]:
    """What a command writes. If this process is asked to stop, so is it."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while True:
        try:
            return process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if stopping.asked():
                process.terminate()


def written(line: dict[str, Any]) -> str:
    """A line as a row of a table."""
    if line["verdict"] == NOT_DRIVEN:
        return f"| `kraft/{line['model']}` | | | {line['reason'].splitlines()[0]} |"
    spec = line["spec"]
    of = f" of {spec['transitions']:,}" if spec["transitions"] is not None else f", to depth {line['depth']}"
    verdict = f"{line['verdict']}: {line['reason']}" if line["reason"] else line["verdict"]
    where = f" ({', '.join(line['places'][:3])})" if line["places"] else ""
    tried = line["refusals"] + line["probes"]
    return f"| `kraft/{line['model']}` | {spec['transitions_covered']:,}{of} | {tried:,} | {verdict}{where} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Explore models. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.impl.apache.models")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--release", default=VERSION)
    parser.add_argument("--lifecycles", action="store_true")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--done", type=Path)
    parser.add_argument("--checkpoints", type=Path)
    options = parser.parse_args(arguments)
    if why := missing(options.release):
        parser.error(why)
    names = options.models or [model.name for model in load_spec("kraft").models]
    diverged = False
    with stopping.on_signals():
        for line in _lines(names, options):
            print(written(line), flush=True)
            diverged |= line["verdict"] == DIVERGES
        stopped = stopping.asked()
    return 3 if stopped else 1 if diverged else 0


def _lines(names: Sequence[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    known = known_runs(options.done, "model")
    if options.checkpoints is not None:
        known = {name: line for name, line in known.items() if line["verdict"] != INCOMPLETE}
    for name in names:
        line = known.get(name) or explored(
            name, options.release, options.seconds, options.lifecycles, options.checkpoints
        )
        if stopping.asked():
            return
        if name not in known and options.done is not None:
            with options.done.open("a") as file:
                file.write(json.dumps(line) + "\n")
        yield line


if __name__ == "__main__":
    sys.exit(main())
