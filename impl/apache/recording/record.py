"""A run of a real cluster, from its start to its traces."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from impl.apache.errors import ApacheError
from impl.apache.recording import scenario
from impl.apache.recording.cluster import Cluster, cluster
from impl.apache.recording.decisions import Decision, decisions, operations
from impl.apache.recording.driving import CRASH, SIGTERM, Driver, client_library
from impl.apache.recording.metadata_log import committed, read
from impl.apache.recording.projection import MODEL, places, trace
from impl.apache.recording.scenario import Step
from impl.apache.release import missing

PROBLEMS = (ApacheError, OSError)
"""What recording raises where a user can mend it."""

VERSION = "4.3.1"
SETTING = "kafka_4_3"
MOST_BROKERS = 5
_IDLE = ("NO_OP_RECORD",)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Recorded:
    """text: NDJSON, a trace for each partition. figures: counts of the run."""

    text: str
    figures: dict[str, int]


def record(
    folder: Path, version: str, controllers: int, brokers: int, steps: Sequence[Step], about: str, say: Say
) -> Recorded:
    """Carry out a scenario on a new cluster below a folder. about: the name of the run. Raises ApacheError, OSError."""
    why = missing(version, ("java",))
    if why:
        raise ApacheError(why)
    client_library()
    with cluster(folder, version, controllers, brokers) as made:
        driver = Driver(made, say)
        driver.run(steps)
        made.stop()
    return traced(made, driver, brokers, about)


def traced(made: Cluster, driver: Driver, brokers: int, about: str) -> Recorded:
    """The traces of a cluster that has stopped."""
    log = committed([read(node.data) for node in made.controllers])
    found = list(decisions(log, {node.node_id: operations(node.log) for node in made.controllers}))
    texts = []
    for topic, partition in (made_places := places(found)):
        texts.append(trace(f"{about}, {topic} {partition}", found, driver.journal, (topic, partition), brokers))
    if not texts:
        raise ApacheError("no topic was created, so that there is no partition to write a trace of")
    return Recorded("".join(texts), _figures(found, driver, len(made_places)))


def _figures(found: Sequence[Decision], driver: Driver, partitions: int) -> dict[str, int]:
    done = [one.what for one in driver.journal]
    recorded = [one for one in found if any(record.type not in _IDLE for record in one.records)]
    return {
        "decisions": len(recorded),
        "failovers": sum(one.leader is not None for one in found) - 1,
        "partitions": partitions,
        "kills": done.count(CRASH),
        "sigterms": done.count(SIGTERM),
        "steps_not_done": driver.skipped,
    }


# The command.


def run(
    out: Path, controllers: int, brokers: int, seed: int | None, given: Path | None, keep: Path | None, version: str,
    say: Say,
) -> str:  # fmt: skip
    """Record a run to a file. Returns what to say of it. keep: where the cluster's folders stay. Raises PROBLEMS."""
    if given is not None:
        steps, about = scenario.read(given, controllers, brokers), given.stem
    else:
        steps, about = scenario.seeded(seed or 0, controllers, brokers), f"seed {seed or 0}"
    with _folder(keep) as folder:
        (folder / "scenario.json").write_text(scenario.written(list(steps)))
        found = record(folder, version, controllers, brokers, steps, about, say)
    out.write_text(found.text)
    counts = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in found.figures.items())
    sizes = "" if brokers == 3 else f" --set brokers={brokers}"
    return (
        f"{counts}\ntrace written to {out}; fencepost trace validate {out} --model {MODEL} --setting {SETTING}{sizes}"
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
