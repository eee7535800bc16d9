"""`kafka-metadata-quorum describe`: who leads, and how far everybody is, printed as by Kafka 4.3's tool.

Exit codes: 0 done, 1 refused or no answer, 2 usage or configuration.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_cluster.v2.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.types import TopicName
from kio.static.primitive import i8, i32

from impl.kraft.storage.directories import encode_id
from impl.kraft.tools.connection import Connection, RefusedError, connection_of, refuse
from impl.kraft.tools.metadata_quorum_text import DESCRIBE, QUORUM
from impl.kraft.tools.parsing import USAGE, Parser, until_nobody_reads
from impl.runtime.properties import ConfigError
from impl.runtime.wire import WireError

DONE, FAILED = 0, 1
CLIENT_ID = "kafka-metadata-quorum"
NOBODY, NEVER = -1, -1
BROKERS, CONTROLLERS = 1, 2
"""Types of endpoints (KIP-919)."""
_TOPIC = TopicName("__cluster_metadata")
_NO_DIRECTORY = encode_id(UUID(int=0))
_COLUMNS = (
    "NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the answer, and return the exit code."""
    options = parser().parse_args(arguments)
    name = "--bootstrap-server" if options.bootstrap_controller is None else "--bootstrap-controller"
    bootstrap = options.bootstrap_server or options.bootstrap_controller or ""
    try:
        connection = connection_of(name, bootstrap, options.command_config, CLIENT_ID)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        cluster_id, described, quorum = ask(connection, BROKERS if name == "--bootstrap-server" else CONTROLLERS)
    except (RefusedError, WireError) as error:
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{bootstrap}: {error}", file=sys.stderr)
        return FAILED
    now_ms = time.time_ns() // 1_000_000 if options.human_readable else None
    lines = status(cluster_id, described, quorum) if options.status else replication(quorum, now_ms)

    def show() -> int:
        for line in lines:
            print(line)
        return DONE

    return until_nobody_reads(show)


def parser() -> Parser:
    made = Parser("kafka-metadata-quorum", QUORUM)
    nodes = made.add_mutually_exclusive_group(required=True)
    nodes.add_argument("--bootstrap-server")
    nodes.add_argument("--bootstrap-controller")
    made.add_argument("--command-config", type=Path)
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)
    describe = commands.add_parser("describe", text=DESCRIBE)
    what = describe.add_mutually_exclusive_group(required=True)
    what.add_argument("--status", action="store_true")
    what.add_argument("--replication", action="store_true")
    describe.add_argument("--human-readable", action="store_true")
    return made


def ask(connection: Connection, endpoints: int) -> tuple[str, Any, Any]:
    """The cluster's id, the response of DescribeQuorum, and the quorum in it. Raises RefusedError, WireError, OSError.

    Brokers ask the leader themselves; of controllers, it is the leader that must be asked.
    """
    of_cluster = connection.entity(
        DescribeClusterRequest(
            include_cluster_authorized_operations=False, endpoint_type=i8(endpoints), include_fenced_brokers=False
        ),
        DescribeClusterResponse,
    )
    refuse(int(of_cluster.error_code), of_cluster.error_message, "tell its id")
    if endpoints == CONTROLLERS:
        leaders = [one for one in of_cluster.brokers if one.broker_id == of_cluster.controller_id]
        if not leaders:
            raise RefusedError("The quorum has no leader now.")
        connection = connection._replace(nodes=tuple((one.host, int(one.port)) for one in leaders))
    partition = quorum_request.PartitionData(partition_index=i32(0))
    of_topic = quorum_request.TopicData(topic_name=_TOPIC, partitions=(partition,))
    described = connection.entity(quorum_request.DescribeQuorumRequest(topics=(of_topic,)), DescribeQuorumResponse)
    refuse(int(described.error_code), described.error_message, "describe its quorum")
    found = [one for topic in described.topics for one in topic.partitions]
    if len(found) != 1:
        raise WireError(f"{len(found)} quorums are described, and one was asked for")
    refuse(int(found[0].error_code), found[0].error_message, "describe its quorum")
    if not any(voter.replica_id == found[0].leader_id for voter in found[0].current_voters):
        raise WireError(f"the leader, {found[0].leader_id}, is no voter")
    return str(of_cluster.cluster_id), described, found[0]


# Status.


def status(cluster_id: str, described: Any, quorum: Any) -> Iterator[str]:
    leader = next(one for one in quorum.current_voters if one.replica_id == quorum.leader_id)
    last = min(quorum.current_voters, key=lambda voter: int(voter.log_end_offset))
    values = {
        "ClusterId": cluster_id,
        "LeaderId": int(quorum.leader_id),
        "LeaderEpoch": int(quorum.leader_epoch),
        "HighWatermark": int(quorum.high_watermark),
        "MaxFollowerLag": leader.log_end_offset - last.log_end_offset,
        "MaxFollowerLagTimeMs": lag_ms(leader, last),
        "CurrentVoters": nodes_of(described, quorum.current_voters),
        "CurrentObservers": nodes_of(described, quorum.observers),
    }
    for name, value in values.items():
        yield f"{name + ':':<24}{value}"


def lag_ms(leader: Any, last: Any) -> int:
    """Since when a replica is not caught up; -1: it is not known."""
    if last is leader:
        return 0
    times = int(leader.last_caught_up_timestamp), int(last.last_caught_up_timestamp)
    return NEVER if NEVER in times else times[0] - times[1]


def nodes_of(described: Any, replicas: Iterable[Any]) -> str:
    listeners = {node.node_id: node.listeners for node in described.nodes}
    return f"[{', '.join(node_text(one, listeners.get(one.replica_id, ())) for one in replicas)}]"


def node_text(replica: Any, listeners: Iterable[Any]) -> str:
    directory = directory_of(replica)
    of_directory = "" if directory == _NO_DIRECTORY else f', "directoryId": "{directory}"'
    endpoints = ", ".join(f'"{one.name}://{bracketed(one.host)}:{one.port}"' for one in listeners)
    of_endpoints = f', "endpoints": [{endpoints}]' if endpoints else ""
    return f'{{"id": {replica.replica_id}{of_directory}{of_endpoints}}}'


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def directory_of(replica: Any) -> str:
    found = replica.replica_directory_id
    return _NO_DIRECTORY if found is None else encode_id(found)


# Replication.


def replication(quorum: Any, now_ms: int | None) -> Iterator[str]:
    """A table: the leader, the other voters, the observers. now_ms: for times that are told as so long ago."""
    leader = next(one for one in quorum.current_voters if one.replica_id == quorum.leader_id)
    followers = [one for one in quorum.current_voters if one is not leader]
    parts = (("Leader", [leader]), ("Follower", followers), ("Observer", quorum.observers))
    rows = [_COLUMNS, *(row_of(one, leader, part, now_ms) for part, replicas in parts for one in replicas)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True))


def row_of(replica: Any, leader: Any, part: str, now_ms: int | None) -> tuple[str, ...]:
    end = int(replica.log_end_offset)
    return (
        str(replica.replica_id), directory_of(replica), str(end), str(int(leader.log_end_offset) - end),
        time_text(int(replica.last_fetch_timestamp), now_ms), time_text(int(replica.last_caught_up_timestamp), now_ms),
        part,
    )  # fmt: skip


def time_text(time_ms: int, now_ms: int | None) -> str:
    return str(time_ms) if now_ms is None or time_ms == NEVER else f"{max(0, now_ms - time_ms)} ms ago"


if __name__ == "__main__":
    sys.exit(main())
