"""`kafka-cluster`: the id of a cluster, and the end of a broker's registration (KIP-631, kafka-cluster.sh).

Exit codes: 0 done, 1 refused or no answer, 2 usage or configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from impl.kraft.errors import ErrorCode
from impl.kraft.storage.batches import Reader
from impl.kraft.tools.cluster_text import CLUSTER, CLUSTER_ID, UNREGISTER
from impl.kraft.tools.parsing import USAGE, Parser
from impl.runtime import client
from impl.runtime.client import Address
from impl.runtime.properties import ConfigError, address, broker_id, listed, read_properties, timeout_ms
from impl.runtime.wire import WireError, int32

T = TypeVar("T")
DONE, FAILED = 0, 1
CLIENT_ID = "kafka-cluster"
_DESCRIBE_CLUSTER, _UNREGISTER_BROKER, _VERSION = 60, 64, 0
_NO_TAGGED_FIELDS = b"\0"
_SECURITY, _REQUEST_TIMEOUT = "security.protocol", "request.timeout.ms"
_REQUEST_TIMEOUT_MS = 30_000


class Connection(NamedTuple):
    """Brokers of the cluster, of which any may answer, and for how long each may take."""

    brokers: tuple[Address, ...]
    answer_ms: int

    def ask(self, api_key: int, fields: bytes, read: Callable[[Reader], T]) -> T:
        """What is read of the answer of the first broker that gives one. Raises WireError, OSError."""
        body = _NO_TAGGED_FIELDS + fields + _NO_TAGGED_FIELDS  # the first ends the header, which is flexible, too
        for number, broker in enumerate(self.brokers, 1):
            try:
                answer = client.ask(broker, api_key, _VERSION, CLIENT_ID, body, answer_ms=self.answer_ms)
                break
            except OSError:
                if number == len(self.brokers):
                    raise
        try:
            reader = Reader(memoryview(answer))
            _skip_tagged_fields(reader)
            reader.take(4)  # ThrottleTimeMs: a tool asks once
            return read(reader)
        except (IndexError, UnicodeDecodeError) as problem:
            raise WireError(f"an answer that ends within a field: {problem}") from None


class RefusedError(Exception):
    """The cluster answered with an error. The message says so in a sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        connection = connection_of(options.bootstrap_server, options.config)
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


def connection_of(bootstrap: str, config: Path | None) -> Connection:
    """Raises ConfigError. Of the configuration of an admin client, the security and the timeout count."""
    brokers = tuple(address("--bootstrap-server", one) for one in listed(bootstrap))
    if not brokers:
        raise ConfigError("--bootstrap-server: HOST:PORT,HOST:PORT is expected")
    values = {} if config is None else read_properties(config)
    if values.get(_SECURITY, "PLAINTEXT") != "PLAINTEXT":
        raise ConfigError(f"{_SECURITY}={values[_SECURITY]}: this tool has PLAINTEXT alone yet")
    answer_ms = timeout_ms(_REQUEST_TIMEOUT, values.get(_REQUEST_TIMEOUT, str(_REQUEST_TIMEOUT_MS)))
    return Connection(brokers, answer_ms)


def cluster_id(connection: Connection) -> str:
    """By DescribeCluster (KIP-700). Raises RefusedError, WireError, OSError."""
    error, message, found = connection.ask(
        _DESCRIBE_CLUSTER, b"\0", lambda reader: (reader.number(2), _compact_string(reader), _compact_string(reader))
    )
    _refuse(error, message, "tell its id")
    if found is None:
        raise RefusedError("No cluster ID found. The Kafka version is probably too old.")
    return found


def unregister(connection: Connection, broker_id: int) -> None:
    """Raises RefusedError, WireError, OSError."""
    error, message = connection.ask(
        _UNREGISTER_BROKER, int32(broker_id), lambda reader: (reader.number(2), _compact_string(reader))
    )
    if error == ErrorCode.UNSUPPORTED_VERSION:
        raise RefusedError("The target cluster does not support the broker unregistration API.")
    _refuse(error, message, f"unregister broker {broker_id}")


def _refuse(error: int, message: str | None, what: str) -> None:
    if error != ErrorCode.NONE:
        name = next((code.name for code in ErrorCode if code == error), f"error {error}")
        raise RefusedError(f"The cluster did not {what}: {name}{f', {message}' if message else ''}")


def _compact_string(reader: Reader) -> str | None:
    encoded = reader.optional(reader.uvarint() - 1)
    return None if encoded is None else encoded.decode()


def _skip_tagged_fields(reader: Reader) -> None:
    for _ in range(reader.uvarint()):
        reader.uvarint()
        reader.take(reader.uvarint())


if __name__ == "__main__":
    sys.exit(main())
