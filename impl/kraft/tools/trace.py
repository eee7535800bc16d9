"""`kafka-trace project`: what voters have recorded, held to the rules of the quorum, as a trace that its spec judges.

Exit codes: 0 all rules are kept, 1 one is not, 2 usage, or a file that is no raw trace or cannot be read or written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.recording import Recording
from impl.kraft.simulation.replayed import RawTraceError, hold, merged, voters_of
from impl.kraft.tools.parsing import USAGE, until_nobody_reads

KEPT, BROKEN = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, hold, write, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        return until_nobody_reads(lambda: project(options.files, options.out))
    except RawTraceError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return USAGE


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="kafka-trace", description="Raw traces of the controllers of a quorum, as `trace.file` has them written."
    )
    command = found.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "project", help="Hold them to the rules of the quorum, and write the trace that the spec accepts or rejects."
    )
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the raw trace of a controller")
    command.add_argument("--out", type=Path, metavar="TRACE", help="where the trace of the quorum goes")
    return found


def project(files: Sequence[Path], out: Path | None) -> int:
    """The exit code. Raises RawTraceError, OSError."""
    events = merged((str(file), file.read_bytes()) for file in files)
    lines: list[str] = []
    voters = voters_of(events)
    rules = Recording(len(voters), lines.append, ", ".join(map(str, voters)))
    broken: BrokenRuleError | None = None
    try:
        hold(events, rules)
    except BrokenRuleError as error:
        broken = error
    rules.close()
    if out is not None:
        out.write_text("".join(lines))
    held = f"{len(events)} events of {len(voters)} voters"
    print(f"{held}: the rules are kept" if broken is None else f"{held}: a rule is broken\n{broken}")
    return KEPT if broken is None else BROKEN


if __name__ == "__main__":
    sys.exit(main())
