"""A run of a real cluster, from its start to its traces."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from impl.apache.errors import ApacheError
from impl.apache.recording import requests, scenario
from impl.apache.recording.cluster import DATA, LOG, cluster
from impl.apache.recording.decisions import decisions, operations
from impl.apache.recording.driving import CRASH, SIGTERM, Done, Driver, client_library
from impl.apache.recording.metadata_log import committed, read
from impl.apache.recording.projection import MODEL, places, refused_in, trace
from impl.apache.recording.scenario import Step
from impl.apache.release import missing, numbers

PROBLEMS = (ApacheError, OSError)
"""What recording raises where a user can mend it."""

VERSION = "4.3.1"
_JOURNAL, _REQUESTS = "journal.json", "requests.ndjson"
_IDLE = ("NO_OP_RECORD",)

Say = Callable[[str], None]


def setting_of(version: str) -> str:
    """The setting of the spec that a release, or a folder with the jars of a build, is held to. Raises ApacheError."""
    major, minor = numbers(version)[:2]
    return f"kafka_{major}_{minor}"


@dataclass(frozen=True)
class Recorded:
    """text: NDJSON, a trace for each partition. figures: counts of the run."""

    text: str
    figures: dict[str, int]


def record(
    folder: Path, version: str, controllers: int, brokers: int, steps: Sequence[Step], about: str, say: Say
) -> Recorded:
    """Carry out a scenario on a new cluster below a folder. about: the name of the run. Raises ApacheError, OSError.

    The folder has the scenario, the journal and what brokers asked for, too, so that `traced` can be called again.
    """
    why = missing(version, ("java",))
    if why:
        raise ApacheError(why)
    client_library()
    bodies = _bodies()
    with cluster(folder, version, controllers, brokers) as made:
        (folder / "scenario.json").write_text(scenario.written(list(steps)))
        driver = Driver(made, say)
        driver.run(steps)
        (folder / _JOURNAL).write_text(json.dumps([asdict(done) for done in driver.journal]))
        made.stop()
        lines = [bodies.line(exchange) for exchange in made.network.exchanges]
        requests.write(folder / _REQUESTS, [line for line in lines if line is not None])
    found = traced(folder, brokers, about)
    more = {"requests_not_read": lines.count(None), "steps_not_done": driver.skipped}
    return Recorded(found.text, {**found.figures, **more})


def _bodies() -> Any:
    """The module that reads requests. Raises ApacheError where kio is not installed."""
    try:
        return importlib.import_module("impl.apache.recording.bodies")
    except ImportError:
        raise ApacheError("what brokers ask controllers is read by kio: pip install kio") from None


def traced(folder: Path, brokers: int, about: str) -> Recorded:
    """The traces of a cluster that ran in a folder, and has stopped. Raises ApacheError, OSError."""
    journal = [Done(**done) for done in json.loads((folder / _JOURNAL).read_text())]
    controllers = {int(one.name.removeprefix("controller")): one for one in folder.glob("controller*")}
    log = committed([read(one / DATA) for one in controllers.values()])
    found = list(decisions(log, {id_: operations(one / LOG) for id_, one in controllers.items()}))
    created = places(found)
    if not created:
        raise ApacheError("no topic was created, so that there is no partition to write a trace of")
    seen = requests.seen(requests.read(folder / _REQUESTS))
    texts = [trace(f"{about}, {at[0]} {at[1]}", found, journal, at, brokers, seen=seen) for at in created]
    done = [one.what for one in journal]
    figures = {
        "decisions": sum(any(record.type not in _IDLE for record in one.records) for one in found),
        "failovers": sum(one.leader is not None for one in found) - 1,
        "partitions": len(created),
        "kills": done.count(CRASH),
        "sigterms": done.count(SIGTERM),
        "isr_requests_seen": len(seen.isr),
        "refusals": len(seen.refused),
        "refusals_placed": sum(map(len, refused_in(found, seen.refused).values())),
    }
    return Recorded("".join(texts), figures)


# The command.


def run(
    out: Path, controllers: int, brokers: int, seed: int | None, given: Path | None, keep: Path | None, version: str,
    say: Say,
) -> str:  # fmt: skip
    """Record a run to a file. Returns what to say of it. keep: where the cluster's folders stay. Raises PROBLEMS."""
    setting = setting_of(version)
    if given is not None:
        steps, about = scenario.read(given, controllers, brokers), given.stem
    else:
        steps, about = scenario.seeded(seed or 0, controllers, brokers), f"seed {seed or 0}"
    with _folder(keep) as folder:
        found = record(folder, version, controllers, brokers, steps, about, say)
    out.write_text(found.text)
    counts = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in found.figures.items())
    sizes = "" if brokers == 3 else f" --set brokers={brokers}"
    return (
        f"{counts}\ntrace written to {out}; fencepost trace validate {out} --model {MODEL} --setting {setting}{sizes}"
    )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """A folder for the cluster: one to keep, which must be new, or one that goes."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="fencepost-kafka-") as folder:
            yield Path(folder)
    else:
        if keep.exists():
            raise ApacheError(f"{keep} is there already: choose another folder")
        keep.mkdir(parents=True)
        yield keep
