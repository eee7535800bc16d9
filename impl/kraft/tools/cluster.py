"""`kafka-cluster`: the id of a cluster, and the end of a broker's registration (KIP-631, kafka-cluster.sh).

Exit codes: 0 done, 1 refused or no answer, 2 usage or configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from impl.kraft.errors import ErrorCode
from impl.kraft.server.entities import NO_TAGS
from impl.kraft.storage.batches import Reader
from impl.kraft.tools.cluster_text import CLUSTER, CLUSTER_ID, UNREGISTER
from impl.kraft.tools.connection import Connection, RefusedError, connection_of, refuse
from impl.kraft.tools.parsing import USAGE, Parser
from impl.runtime.properties import ConfigError, broker_id
from impl.runtime.wire import WireError, int32

T = TypeVar("T")
DONE, FAILED = 0, 1
CLIENT_ID = "kafka-cluster"
_DESCRIBE_CLUSTER, _UNREGISTER_BROKER, _VERSION = 60, 64, 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        connection = connection_of("--bootstrap-server", options.bootstrap_server, options.config, CLIENT_ID)
        if options.command == "unregister":
            broker = broker_id("--id", options.id)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        if options.command == "unregister":
            unregister(connection, broker)
            print(f"Broker {broker} is no longer registered.")
        else:
            print(f"Cluster ID: {cluster_id(connection)}")
    except (RefusedError, WireError) as error:
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{options.bootstrap_server}: {error}", file=sys.stderr)
        return FAILED
    return DONE


def parser() -> Parser:
    made = Parser("kafka-cluster", CLUSTER)
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)
    cluster_id_parser = commands.add_parser("cluster-id", text=CLUSTER_ID)
    unregister_parser = commands.add_parser("unregister", text=UNREGISTER)
    for one in (cluster_id_parser, unregister_parser):
        one.add_argument("--bootstrap-server", "-b", required=True)
        one.add_argument("--config", "-c", type=Path)
    unregister_parser.add_argument("--id", "-i", required=True)
    return made


def cluster_id(connection: Connection) -> str:
    """By DescribeCluster (KIP-700). Raises RefusedError, WireError, OSError."""
    error, message, found = _answer(
        connection,
        _DESCRIBE_CLUSTER,
        b"\0",
        lambda reader: (reader.number(2), _compact_string(reader), _compact_string(reader)),
    )
    refuse(error, message, "tell its id")
    if found is None:
        raise RefusedError("No cluster ID found. The Kafka version is probably too old.")
    return found


def unregister(connection: Connection, broker_id: int) -> None:
    """Raises RefusedError, WireError, OSError."""
    error, message = _answer(
        connection, _UNREGISTER_BROKER, int32(broker_id), lambda reader: (reader.number(2), _compact_string(reader))
    )
    if error == ErrorCode.UNSUPPORTED_VERSION:
        raise RefusedError("The target cluster does not support the broker unregistration API.")
    refuse(error, message, f"unregister broker {broker_id}")


def _answer(connection: Connection, api_key: int, fields: bytes, read: Callable[[Reader], T]) -> T:
    """What is read of an answer, behind ThrottleTimeMs: a tool asks once. Raises WireError, OSError."""
    reader = Reader(memoryview(connection.body(api_key, _VERSION, fields + NO_TAGS)))
    try:
        reader.take(4)
        return read(reader)
    except (IndexError, UnicodeDecodeError) as problem:
        raise WireError(f"an answer that ends within a field: {problem}") from None


def _compact_string(reader: Reader) -> str | None:
    encoded = reader.optional(reader.uvarint() - 1)
    return None if encoded is None else encoded.decode()


if __name__ == "__main__":
    sys.exit(main())
