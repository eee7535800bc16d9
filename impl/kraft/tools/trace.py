"""`kafka-trace project`: what nodes have recorded, held to rules, and as traces that the spec judges.

Exit codes: 0 all rules are kept, 1 one is not, 2 usage, or a file that is no raw trace or cannot be read or written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from impl.kraft.recorded import projection
from impl.kraft.recorded.events import Event, RawTraceError, is_of_broker, merged, voters_of
from impl.kraft.recorded.projection import Projected
from impl.kraft.recorded.run import Run
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.recording import Recording
from impl.kraft.simulation.replayed import hold, hold_replicas
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.tools.parsing import USAGE, until_nobody_reads

KEPT, BROKEN = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, hold, write, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        return until_nobody_reads(lambda: project(options.files, options.out, options.partitions))
    except RawTraceError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return USAGE


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="kafka-trace", description="Raw traces of controllers and brokers, as `trace.file` has them written."
    )
    command = found.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "project", help="Hold them to the rules of the quorum and of replicas, and write traces for the spec."
    )
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the raw trace of a node")
    command.add_argument("--out", type=Path, metavar="TRACE", help="where the trace of the quorum goes")
    command.add_argument(
        "--partitions", type=Path, metavar="TRACES",
        help="where the traces of partitions go: what brokers asked for, and what was decided on it",
    )  # fmt: skip
    return found


def project(files: Sequence[Path], out: Path | None, partitions: Path | None) -> int:
    """The exit code. Raises RawTraceError, OSError."""
    events = merged((str(file), file.read_bytes()) for file in files)
    of_brokers = [event for event in events if is_of_broker(event)]
    of_voters = [event for event in events if not is_of_broker(event)]
    is_kept = True
    if of_voters or not of_brokers or out is not None:
        is_kept = projected(of_voters, out)
    if of_brokers:
        brokers = {event.get("node") for event in of_brokers}
        held = f"{len(of_brokers)} events of {len(brokers)} brokers"
        is_kept &= kept(held, lambda: hold_replicas(of_brokers, ReplicaRules()))
    if partitions is not None:
        found = traces_of(events)
        partitions.write_text("".join(one.text for one in found.values()))
        print(f"{len(found)} partitions: their traces are written")
        for name, one in found.items():
            if one.left_out:
                print(f"{name}: its trace ends where the model does: {one.left_out}")
    return KEPT if is_kept else BROKEN


def traces_of(events: Sequence[Event], about: str = "") -> dict[str, Projected]:
    """By name, the trace of each partition. about: what the names begin with. Raises RawTraceError."""
    try:
        return _traces_of(Run(events), about)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, RawTraceError):
            raise
        raise RawTraceError(f"what is said of requests and decisions no node writes ({error!r})") from None


def _traces_of(run: Run, about: str) -> dict[str, Projected]:
    if len(run.brokers) > projection.MOST_BROKERS:
        raise RawTraceError(
            f"these are traces of {len(run.brokers)} brokers, and the model has {projection.MOST_BROKERS} at most"
        )
    steps = list(run.steps())
    names = {at: f"{about}{at[0]} {at[1]}" for at in projection.places(steps)}
    return {name: projection.trace(name, steps, at, len(run.brokers)) for at, name in names.items()}


def projected(events: Sequence[Event], out: Path | None) -> bool:
    """Whether voters have kept the rules."""
    voters = voters_of(events)
    lines: list[str] = []
    rules = Recording(len(voters), lines.append, ", ".join(map(str, voters)))
    is_kept = kept(f"{len(events)} events of {len(voters)} voters", lambda: hold(events, rules))
    rules.close()
    if out is not None:
        out.write_text("".join(lines))
    return is_kept


def kept(held: str, holding: Callable[[], None]) -> bool:
    try:
        holding()
    except BrokenRuleError as error:
        print(f"{held}: a rule is broken\n{error}")
        return False
    print(f"{held}: the rules are kept")
    return True


if __name__ == "__main__":
    sys.exit(main())
