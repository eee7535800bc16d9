"""`fencepost-streams`: reads the metadata of a member, runs the document's test matrix, or members on a real Kafka.

Exit codes: 0 read, every cell holds, or stopped; 1 bytes that cannot be read, a cell that does not hold, or a thread
that died; 2 usage; 3 interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from impl.runtime.logs import log_to
from impl.runtime.properties import ConfigError, address, read_properties
from impl.streams.codec import SHIPPED, Format, decode_assignment, decode_subscription
from impl.streams.config import read_config
from impl.streams.errors import TaskAssignmentException
from impl.streams.matrix import CELLS, LINES, Cell, Disturbance, Outcome, text_table, worst
from impl.streams.metadata import (
    ACTIVE,
    NO_REBALANCE_MS,
    UNKNOWN,
    AssignmentInfo,
    FutureAssignment,
    FutureSubscription,
    HostPartitions,
    SubscriptionInfo,
    TopicPartition,
)
from impl.streams.versions import RELEASES, writers

DONE, BROKEN, USAGE, INTERRUPTED = 0, 1, 2, 3
_SIMULATED = RELEASES["simulated"].form
_WIDTH = 22


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="fencepost-streams",
        description="Kafka Streams' rebalance metadata (KIP-268).",
        epilog="Exit codes: 0 read, every cell holds, or stopped; 1 bytes that cannot be read, a cell that does not "
        "hold, or a thread that died; 2 usage; 3 interrupted.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    decode = commands.add_parser("decode", help="the fields of the user data of a subscription or an assignment")
    decode.add_argument("hex", metavar="HEX", help="the bytes, with spaces or without; -: standard input")
    decode.add_argument("--as", dest="kind", choices=("subscription", "assignment"), help="default: what can be read")
    decode.add_argument("--simulated", action="store_true", help="version 4 is the simulated one of the test plan")
    decode.set_defaults(run=_decode)
    matrix = commands.add_parser("matrix", help="upgrade emulated groups: the document's test matrix")
    names = ", ".join(one.option for one in Disturbance)
    matrix.add_argument("--with", dest="disturbance", default="none", metavar="WHAT", help=f"{names}; or all")
    matrix.add_argument("--from", dest="old", metavar="RELEASE", help="one cell only; any release")
    matrix.add_argument("--to", dest="new", metavar="RELEASE", help="with --from")
    matrix.add_argument("--json", action="store_true", help="an object a line for each cell")
    matrix.set_defaults(run=_matrix)
    member = commands.add_parser("member", help="run the threads of one process on a real Kafka, until SIGTERM")
    member.add_argument("properties", type=Path, help="its configuration: application.id, release, upgrade.from, ...")
    member.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT[,...]", help="any brokers")
    member.add_argument("--topics", required=True, metavar="TOPIC[,...]", help="source topics, each a topic group")
    member.set_defaults(run=_member)
    try:
        options = parser.parse_args(arguments)
        return int(options.run(options))
    except SystemExit as ended:  # argparse has printed the usage, or the help
        return DONE if not ended.code else USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return DONE


# decode


def _decode(options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.hex == "-" else options.hex
    try:
        data = bytes.fromhex(text.strip().removeprefix("0x"))
    except ValueError:
        _usage(f"{text.strip()[:40]}: not hexadecimal digits in pairs")
    form = _SIMULATED if options.simulated else SHIPPED
    readers = {"subscription": subscription_lines, "assignment": assignment_lines}
    refusals = list[str]()
    for kind, lines in readers.items():
        if options.kind in (None, kind):
            try:
                print("\n".join([kind, *lines(data, form)]))
            except TaskAssignmentException as refusal:
                refusals.append(f"not the user data of {'an' if kind[0] == 'a' else 'a'} {kind}: {refusal}")
    is_read = len(refusals) < (2 if options.kind is None else 1)
    if not is_read:
        print("\n".join(refusals), file=sys.stderr)
    return DONE if is_read else BROKEN


def _usage(message: str) -> NoReturn:
    print(f"fencepost-streams: {message}", file=sys.stderr)
    raise SystemExit(USAGE)


def _field(name: str, value: object) -> str:
    return f"  {name:<{_WIDTH}}{value}"


def _version(used: int, form: Format) -> str:
    """A version, and whose newest it is."""
    if form.is_simulated and used == form.latest:
        return f"{used}, simulated: laid out as {used - 1}"
    return f"{used}, the newest of {', '.join(writers(used))}" if writers(used) else f"{used}, of no release"


def _supported(supported: int) -> str:
    return "not said" if supported == UNKNOWN else str(supported)


def subscription_lines(data: bytes, form: Format) -> Iterator[str]:
    """A line for each field. Raises TaskAssignmentException."""
    info = decode_subscription(data, form)
    yield _field("used version", _version(info.used, form))
    yield _field("supported version", _supported(info.supported))
    if isinstance(info, FutureSubscription):
        return
    yield _field("process id", info.process_id)
    yield _field("previous tasks", _listed(info.previous))
    sums = (f"{task}" + (f" at {at}" if info.used >= 7 and at > ACTIVE else "") for task, at in info.standby)
    yield _field("standby tasks", _listed(sums))
    yield _field("user endpoint", info.endpoint or "none")
    yield from _later(info)


def _later(info: SubscriptionInfo) -> Iterator[str]:
    if info.used >= 8:
        yield _field("unique field", info.unique)
    if info.used >= 9:
        yield _field("error code", info.error)
    if info.used >= 11:
        tags = (f"{key.decode(errors='replace')}={value.decode(errors='replace')}" for key, value in info.tags)
        yield _field("client tags", _listed(tags))


def assignment_lines(data: bytes, form: Format) -> Iterator[str]:
    """A line for each field. Raises TaskAssignmentException."""
    info = decode_assignment(data, form)
    yield _field("used version", _version(info.used, form))
    if isinstance(info, FutureAssignment):
        return
    yield _field("supported version", _supported(info.supported))
    yield _field("active tasks", _listed(info.active))
    standby = (f"{task} ({_partitions(partitions)})" for task, partitions in info.standby)
    yield _field("standby tasks", _listed(standby))
    yield from _hosts("partitions by host", info.hosts)
    yield from _hosts("standby by host", info.standby_hosts)
    yield from _ending(info)


def _ending(info: AssignmentInfo) -> Iterator[str]:
    if info.used >= 4:
        yield _field("error code", info.error)
    if info.used >= 7:
        never = info.next_rebalance_ms == NO_REBALANCE_MS
        yield _field("next rebalance", "none" if never else f"{info.next_rebalance_ms} ms")


def _hosts(name: str, hosts: Sequence[HostPartitions]) -> Iterator[str]:
    for host, port, partitions in hosts:
        yield _field(name, f"{host}:{port}: {_partitions(partitions)}")


def _partitions(partitions: Sequence[TopicPartition]) -> str:
    return _listed(f"{topic}-{partition}" for topic, partition in partitions)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values)) or "none"


# member


def _member(options: argparse.Namespace) -> int:
    try:
        config = read_config(read_properties(options.properties))
        servers = [address("--bootstrap-servers", server) for server in options.bootstrap_servers.split(",")]
    except ConfigError as error:
        _usage(f"{options.properties}: {error}")
    if find_spec("kio") is None:
        _usage("there is no kio, which members on a real Kafka need: pip install fencepost[streams]")
    process = import_module("impl.streams.process")
    log_to(application=config.application_id)
    return DONE if asyncio.run(process.run_threads(config, servers, options.topics.split(","))) else BROKEN


# matrix


def _matrix(options: argparse.Namespace) -> int:
    by_name = {one.option: one for one in Disturbance}
    if options.disturbance not in (*by_name, "all"):
        _usage(f"--with {options.disturbance}: known are {', '.join(by_name)}, all")
    disturbances = list(Disturbance) if options.disturbance == "all" else [by_name[options.disturbance]]
    cells = _cells(options.old, options.new)
    show: Callable[[Disturbance, dict[Cell, Outcome]], None] = _as_json if options.json else _as_table
    is_broken = False
    for disturbance in disturbances:
        found: dict[Cell, Outcome] = {}
        for place, cell in enumerate(cells):
            if sys.stderr.isatty():
                print(
                    f"\r{disturbance.value}: {place} of {len(cells)} cells\033[K", end="", file=sys.stderr, flush=True
                )
            found[cell] = worst(cell, disturbance)
            is_broken |= bool(found[cell].broken)
        _progress("")
        show(disturbance, found)
    return BROKEN if is_broken else DONE


def _progress(text: str) -> None:
    """A line that changes, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def _cells(old: str | None, new: str | None) -> Sequence[Cell]:
    if old is None and new is None:
        return CELLS
    if old is None or new is None:
        _usage("--from and --to go together")
    for name in (old, new):
        if name not in LINES and name not in RELEASES:
            _usage(f"{name}: known are {', '.join(dict.fromkeys((*LINES, *RELEASES)))}")
    cell = Cell(old, new)
    if cell.release(is_new=False).latest > cell.release(is_new=True).latest:
        _usage(f"{old} to {new}: no upgrade")
    return [cell]


def _as_table(disturbance: Disturbance, found: dict[Cell, Outcome]) -> None:
    print(f"{disturbance.value}\n")
    if len(found) == 1:
        ((cell, outcome),) = found.items()
        print(f"{cell}: {outcome}; version {outcome.version}, {outcome.rebalances} rebalances after the last bounce")
    else:
        print(text_table(found))
    print()


def _as_json(disturbance: Disturbance, found: dict[Cell, Outcome]) -> None:
    for cell, one in found.items():
        facts: dict[str, object] = {"from": cell.old, "to": cell.new, "with": disturbance.option}
        facts |= {"holds": not one.broken, "broken": one.broken, "deaths": [cause.name for cause in one.deaths]}
        print(json.dumps({**facts, "version": one.version, "rebalances": one.rebalances}))


if __name__ == "__main__":
    sys.exit(main())
