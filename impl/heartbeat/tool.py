"""`kafka-heartbeats`: lists the brokers as the controller has them: id, czxid, state, age of contact, legacy or not.

Exit codes: 0 listed, 1 no controller or no answer, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from impl.heartbeat.describe import (
    DESCRIBE_BROKERS,
    DESCRIBE_BROKERS_VERSION,
    DescribeBrokersResponse,
    read_describe_response,
    state_name,
)
from impl.heartbeat.messages import MAX_FRAME_BYTES, ErrorCode
from impl.runtime import client
from impl.runtime.client import Address
from impl.runtime.properties import ConfigError, address
from impl.runtime.wire import WireError

CLIENT_ID = "kafka-heartbeats"
DONE, REFUSED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="kafka-heartbeats",
        description="List the brokers as the controller has them (KIP-343).",
        epilog="Exit codes: 0 listed, 1 no controller or no answer, 2 usage.",
    )
    parser.add_argument("command", choices=["describe"])
    parser.add_argument("--bootstrap-server", required=True, metavar="HOST:PORT", help="any broker")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    try:
        options = parser.parse_args(arguments)
        bootstrap = address("--bootstrap-server", options.bootstrap_server)
    except SystemExit as ended:  # argparse has printed the usage, or the help
        return DONE if not ended.code else USAGE
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        response = ask(bootstrap)
    except (WireError, OSError) as error:
        print(f"{options.bootstrap_server}: {error}", file=sys.stderr)
        return REFUSED
    if response.error_code != ErrorCode.NONE:
        print(f"{options.bootstrap_server}: no controller is known", file=sys.stderr)
        return REFUSED
    print(json.dumps(asdict(response)) if options.json else table(response))
    return DONE


def ask(bootstrap: Address) -> DescribeBrokersResponse:
    """The answer of the controller, by way of any broker. Raises WireError, OSError."""
    response = _ask(bootstrap)
    if response.error_code == ErrorCode.NOT_CONTROLLER and response.port:
        return _ask((response.host, response.port))
    return response


def _ask(broker: Address) -> DescribeBrokersResponse:
    about = DESCRIBE_BROKERS, DESCRIBE_BROKERS_VERSION, CLIENT_ID
    return read_describe_response(client.ask(broker, *about, b"", max_frame_bytes=MAX_FRAME_BYTES))


def table(response: DescribeBrokersResponse) -> str:
    """The brokers, one a line, below the controller."""
    lines = [f"controller {response.controller_id}, epoch {response.controller_epoch}"]
    lines.append(f"{'id':>6}  {'czxid':>18}  {'state':<9}  {'contact':>10}  protocol")
    for one in response.brokers:
        age = "-" if one.contact_age_ms < 0 else f"{one.contact_age_ms} ms"
        protocol = "legacy" if one.is_legacy else "heartbeats"
        lines.append(f"{one.broker:>6}  {one.incarnation:>18}  {state_name(one.state):<9}  {age:>10}  {protocol}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
