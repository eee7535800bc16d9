"""Seed every fault of impl/kraft, its quorum among it, and print which ones conformance finds.

usage: python -m tests.conform.faults [WORD]      (only those whose text has WORD in it)

Each verdict is kept in build/faults.ndjson as it is found, under a digest of the sources: interrupted and run again, it
goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple

from rich.console import Console
from rich.table import Table

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from tests.conform.faults import kraft_faults, raft_faults
from tests.conform.faults.kraft_faults import SURVIVORS, Fault
from tests.conform.faults.patched import patched
from tests.conftest import ROOT

VERDICTS = ROOT / "build" / "faults.ndjson"
SOURCES = ("impl", "spec/kraft", "checker/conform")
FAULTS = [*kraft_faults.FAULTS, *raft_faults.FAULTS]
MODELS = kraft_faults.MODELS | raft_faults.MODELS


def main(words: list[str]) -> int:
    wanted = [fault for fault in FAULTS if all(word in str(astuple(fault)) for word in words)]
    verdicts: dict[Fault, str] = {}
    try:
        for fault, verdict in judged(wanted):
            verdicts[fault] = verdict
            print(f"{len(verdicts)} of {len(wanted)}: {verdict}: {fault}", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped; run again, it goes on from here", file=sys.stderr)
        return 3
    return report(verdicts)


def judged(faults: list[Fault]) -> Iterator[tuple[Fault, str]]:
    """Each fault with "found" or another verdict of conformance, kept from earlier runs of the same sources."""
    VERDICTS.parent.mkdir(exist_ok=True)
    kept = [json.loads(line) for line in VERDICTS.read_text().splitlines()] if VERDICTS.exists() else []
    sources = digest()
    known = {one["fault"]: one["verdict"] for one in kept if one["sources"] == sources}
    with VERDICTS.open("a") as file:
        for fault in faults:
            name = "\n".join([*astuple(fault), str(MODELS[fault.model])])
            if name not in known:
                known[name] = verdict_of(fault)
                print(json.dumps({"sources": sources, "fault": name, "verdict": known[name]}), file=file, flush=True)
            yield fault, known[name]


def digest() -> str:
    files = sorted(file for folder in SOURCES for file in (ROOT / folder).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def verdict_of(fault: Fault) -> str:
    name, changes, max_depth = MODELS[fault.model]
    model = load(f"kraft/{name}", {constant: str(value) for constant, value in changes.items()})
    adapter = "raft" if fault.model in raft_faults.MODELS else "kraft"
    with patched(fault.function, fault.old, fault.new, adapter=adapter) as system:
        report = conform(model, system, adapter, ConformOptions(jobs=1, max_depth=max_depth))
    return "found" if report.divergence is not None else report.verdict


def report(verdicts: dict[Fault, str]) -> int:
    """Print a table by model, and what survives. Exit code 1: survivors.toml does not explain exactly these."""
    table = Table("model", "found", "survive")
    of_model = Counter((fault.model, verdict == "found") for fault, verdict in verdicts.items())
    for model in dict.fromkeys(fault.model for fault in verdicts):
        table.add_row(model, str(of_model[model, True]), str(of_model[model, False]))
    surviving = [fault for fault, verdict in verdicts.items() if verdict != "found"]
    table.add_row("all", str(len(verdicts) - len(surviving)), str(len(surviving)), style="bold")
    console = Console()
    console.print(table)
    for fault in surviving:
        console.print(
            f"survives: {fault} ({fault.function}): {SURVIVORS.get(fault.what, 'not explained')}", markup=False
        )
    wrong = [fault for fault, verdict in verdicts.items() if (verdict == "found") == (fault.what in SURVIVORS)]
    for fault in wrong:
        console.print(f"survivors.toml is not right about: {fault}", markup=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
