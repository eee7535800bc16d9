"""`consumer-groups`: lists groups as the coordinator has them: members, owners against who fetches, offsets.

Exit codes: 0 listed, 1 no coordinator or no answer, or no such group, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from impl.group.describe import DescribeGroupsResponse, GroupDescription, describe_request_bytes, read_describe_response
from impl.group.protocol import (
    ClusterMetadataRequest,
    ErrorCode,
    read_metadata_response,
    request_bytes,
)
from impl.group.settings import addresses
from impl.runtime.client import Address, exchange
from impl.runtime.properties import ConfigError
from impl.runtime.wire import WireError

DONE, REFUSED, USAGE = 0, 1, 2
_MAX_FRAME_BYTES = 1 << 26


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="consumer-groups",
        description="List consumer groups as the coordinator has them.",
        epilog="Exit codes: 0 listed, 1 no coordinator, no answer or no such group, 2 usage.",
    )
    parser.add_argument("--bootstrap-brokers", required=True, metavar="HOST:PORT[,...]", help="any brokers")
    parser.add_argument("--group", default="", metavar="G", help="this one only")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    try:
        options = parser.parse_args(arguments)
        bootstrap = addresses("--bootstrap-brokers", options.bootstrap_brokers)
    except SystemExit as ended:  # argparse has printed the usage, or the help
        return DONE if not ended.code else USAGE
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        response = ask(bootstrap, options.group)
    except (WireError, OSError) as error:
        print(f"{options.bootstrap_brokers}: {error or 'no answer in time'}", file=sys.stderr)
        return REFUSED
    if response.error_code != ErrorCode.NONE:
        why = f"there is no group {options.group}" if response.error_code == ErrorCode.BAD_GROUP else "no coordinator"
        print(f"{options.bootstrap_brokers}: {why}", file=sys.stderr)
        return REFUSED
    print(json.dumps(asdict(response)) if options.json else table(response))
    return DONE


def ask(bootstrap: Sequence[Address], group: str = "") -> DescribeGroupsResponse:
    """The groups of the coordinator, which any broker knows. Raises WireError, OSError."""
    found = exchange(coordinator(bootstrap), describe_request_bytes(group), max_frame_bytes=_MAX_FRAME_BYTES)
    return read_describe_response(found)


def coordinator(bootstrap: Sequence[Address]) -> Address:
    """Where the coordinator listens. Raises WireError, OSError."""
    failed: OSError | None = None
    for broker in bootstrap:
        try:
            data = exchange(broker, request_bytes(ClusterMetadataRequest(), repaired=False))
        except OSError as error:
            failed = error
            continue
        answer = read_metadata_response(data, repaired=False)
        for one in answer.brokers:
            if one.id == answer.coordinator_id:
                return one.host, one.port
        failed = ConnectionError("no coordinator is known")
    raise failed or ConnectionError("no broker is named")


def table(response: DescribeGroupsResponse) -> str:
    """The groups below the coordinator."""
    lines = [f"coordinator {response.coordinator_id}, epoch {response.coordinator_epoch}"]
    for group in response.groups:
        lines += ["", *_group_lines(group)]
    return "\n".join(lines)


def _group_lines(group: GroupDescription) -> list[str]:
    lines = [f"group {group.group}: {len(group.members)} members, {group.phase}"]
    for one in group.members:
        state = "started" if one.is_started else "stopped"
        lines.append(
            f"  {one.consumer:<20}  {state:<7}  session {one.session_timeout_ms} ms, heard {one.silent_ms} ms ago"
        )
    lines.append(
        f"  {'topic':<20}  {'partition':<9}  {'owner':<20}  {'fetched':<7}  {'reported':>10}  {'committed':>10}"
    )
    for of in group.partitions:
        fetched = "yes" if of.is_fetched else "no"
        reported, committed = ("-" if value < 0 else str(value) for value in (of.offset, of.committed))
        lines.append(
            f"  {of.topic:<20}  {of.partition:<9}  {of.owner or '-':<20}  {fetched:<7}  {reported:>10}  {committed:>10}"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
