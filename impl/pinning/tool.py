"""`kafka-pin-controller`: asks a broker that another one, or any, becomes controller, or who is.

Exit codes: 0 served or accepted, 1 refused or timed out, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from impl.pinning.messages import (
    DESCRIBE_CONTROLLER,
    PIN_CONTROLLER,
    UNPIN,
    VERSION,
    DescribeControllerRequest,
    DescribeControllerResponse,
    ErrorCode,
    PinControllerRequest,
    read_describe_response,
    read_pin_response,
)
from impl.runtime import client
from impl.runtime.client import TIMEOUT_MS
from impl.runtime.properties import ConfigError, address
from impl.runtime.wire import WireError
from impl.zookeeper.znodes import MOST_INT32 as MAX_ID

CLIENT_ID = "kafka-pin-controller"
DONE, REFUSED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    try:
        options = _parser().parse_args(arguments)
        host, port = address("--bootstrap-server", options.bootstrap_server)
    except SystemExit as ended:  # argparse has printed the usage, or the help
        return DONE if not ended.code else USAGE
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        if options.describe:
            return _describe(host, port, as_json=options.json)
        return _pin(host, port, UNPIN if options.unpin else options.broker, options.timeout_ms)
    except (WireError, OSError) as error:
        print(f"{host}:{port}: {error}", file=sys.stderr)
        return REFUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-pin-controller",
        description="Make a broker the controller (KIP-39), take that back, or show the controller.",
        epilog="Exit codes: 0 served or accepted, 1 refused or timed out, 2 usage.",
    )
    parser.add_argument("--bootstrap-server", required=True, metavar="HOST:PORT", help="any broker")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--broker", type=_broker, metavar="ID", help="the broker that is to be controller")
    what.add_argument("--unpin", action="store_true", help="take the request back")
    what.add_argument("--describe", action="store_true", help="show the controller, and the request under way")
    parser.add_argument(
        "--timeout-ms", type=_timeout, default=30_000, metavar="N", help="wait so long for the move (0: do not wait)"
    )
    parser.add_argument("--json", action="store_true", help="with --describe: one JSON object")
    return parser


def _broker(text: str) -> int:
    return _number(text, MAX_ID, "a broker id")


def _timeout(text: str) -> int:
    return _number(text, MAX_ID, "milliseconds")


def _number(text: str, most: int, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text!r}: {what} from 0 to {most} expected")
    return int(text)


def _pin(host: str, port: int, target: int, timeout_ms: int) -> int:
    answer = ask(host, port, PIN_CONTROLLER, PinControllerRequest(target, timeout_ms), timeout_ms)
    response = read_pin_response(answer)
    if response.error_code != ErrorCode.NONE:
        print(f"{_name(response.error_code)}: {response.error_message or 'no reason given'}", file=sys.stderr)
        return REFUSED
    if target == UNPIN:
        print("unpinned")
    elif response.controller_id == target:
        print(f"broker {target} is controller, epoch {response.controller_epoch}")
    else:
        print(f"accepted: request {response.request_id} for broker {target}")
    return DONE


def _describe(host: str, port: int, *, as_json: bool) -> int:
    response = read_describe_response(ask(host, port, DESCRIBE_CONTROLLER, DescribeControllerRequest(), 0))
    if response.error_code != ErrorCode.NONE:
        print(f"{_name(response.error_code)}: {response.error_message or 'no reason given'}", file=sys.stderr)
        return REFUSED
    print(json.dumps(asdict(response)) if as_json else _described(response))
    return DONE


def _described(response: DescribeControllerResponse) -> str:
    rows = {
        "controller": response.controller_id,
        "epoch": response.controller_epoch,
        "target": response.target,
        "request": response.request_id,
        "ready": response.ready,
        "abstaining": ", ".join(map(str, response.abstaining)) or "-",
    }
    return "\n".join(f"{name:<11} {'-' if value == UNPIN else value}" for name, value in rows.items())


def _name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"


def ask(
    host: str,
    port: int,
    api_key: int,
    request: PinControllerRequest | DescribeControllerRequest,
    timeout_ms: int,
    *,
    grace_ms: int = TIMEOUT_MS,
) -> bytes:
    """The body of the response to a request. Raises WireError, OSError.

    timeout_ms: what the broker has to answer; grace_ms: what connecting, and the answer beyond that, may take.
    """
    limits = {"connect_ms": grace_ms, "answer_ms": timeout_ms + grace_ms}
    return client.ask((host, port), api_key, VERSION, CLIENT_ID, request.body(), **limits)


if __name__ == "__main__":
    sys.exit(main())
