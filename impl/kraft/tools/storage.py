"""`kafka-storage`: formats log directories, and says what is in them (KIP-631, kafka-storage.sh).

Exit codes: 0 done, 1 a directory has a problem, 2 usage or configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from impl.kraft.config.configuration import Configuration
from impl.kraft.metadata.encoding import encode
from impl.kraft.storage.batches import Record
from impl.kraft.storage.directories import (
    META_PROPERTIES,
    MetaProperties,
    check_id,
    encode_id,
    format_directories,
    read_directories,
    read_identity,
    several_clusters,
)
from impl.kraft.storage.errors import StorageError
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.bootstrap import BootstrapError, bootstrap_records, level_of, name_of
from impl.kraft.tools.parsing import USAGE, Parser, configuration_at
from impl.kraft.tools.storage_text import FORMAT, INFO, RANDOM_UUID, STORAGE

DONE, FAILED = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit code."""
    options = parser().parse_args(arguments)
    if options.command == "random-uuid":
        print(random_uuid())
        return DONE
    configuration = configuration_at(options.config)
    if configuration is None:
        return USAGE
    if options.command == "info":
        return info(configuration)
    try:
        check_id("cluster id", options.cluster_id)
        level = level_of(options.release_version, options.feature)
        records = [Record(encode(one)) for one in bootstrap_records(level, options.add_scram)]
    except (BootstrapError, StorageError) as error:
        print(error, file=sys.stderr)
        return USAGE
    try:
        format_storage(configuration, options.cluster_id, level, records, ignore_formatted=options.ignore_formatted)
    except (StorageError, OSError) as error:
        print(error, file=sys.stderr)
        return FAILED
    return DONE


def parser() -> Parser:
    made = Parser("kafka-storage", STORAGE)
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)
    info_parser = commands.add_parser("info", text=INFO)
    format_parser = commands.add_parser("format", text=FORMAT)
    commands.add_parser("random-uuid", text=RANDOM_UUID)
    for one in (info_parser, format_parser):
        one.add_argument("--config", "-c", required=True)
    format_parser.add_argument("--cluster-id", "-t", required=True)
    format_parser.add_argument("--ignore-formatted", "-g", action="store_true")
    format_parser.add_argument("--add-scram", "-S", action="append", default=[])
    format_parser.add_argument("--release-version", "-r")
    format_parser.add_argument("--feature", "-f", action="append", default=[])
    return made


def random_uuid() -> str:
    """Without a leading dash, which would make it an option of a command."""
    while True:
        text = encode_id(uuid4())
        if not text.startswith("-"):
            return text


def info(configuration: Configuration) -> int:
    """Print what is in the log directories. 1: a directory has a problem."""
    found: list[str] = []
    problems: list[str] = []
    identities: dict[str, MetaProperties] = {}
    for directory in configuration.all_directories:
        if not Path(directory).is_dir():
            problems.append(f"{directory} {'is not a directory' if Path(directory).exists() else 'does not exist'}")
            continue
        found.append(directory)
        try:
            identities[directory] = read_identity(RealDisk(), directory)
        except FileNotFoundError:
            problems.append(f"{directory} is not formatted.")
        except (StorageError, OSError) as error:
            problems.append(str(error))
    problems += _contradictions(configuration, identities)
    _print_section("Found log director", ("y:", "ies:"), found)
    if identities:
        print(f"Found metadata: {_text_of(next(iter(identities.values())))}\n")
    _print_section("Found problem", (":", "s:"), problems)
    return FAILED if problems else DONE


def format_storage(
    configuration: Configuration, cluster_id: str, level: int, records: Sequence[Record], *, ignore_formatted: bool
) -> None:
    """Format the log directories. Raises OSError; StorageError where one is formatted and may not be ignored."""
    disk, directories = RealDisk(), configuration.all_directories
    formatted = [directory for directory in directories if (Path(directory) / META_PROPERTIES).exists()]
    for directory, identity in read_directories(disk, formatted, configuration.node_id).items():
        if identity.cluster_id != cluster_id:
            path = f"{directory}/{META_PROPERTIES}"
            raise StorageError(f"Invalid cluster.id in: {path}. Expected {cluster_id}, but read {identity.cluster_id}")
    fresh = format_directories(
        disk, directories, cluster_id, configuration.node_id, records, ignore_formatted=ignore_formatted
    )
    for directory in fresh:
        kind = "metadata" if directory == configuration.metadata_log_dir else "data"
        print(f"Formatting {kind} directory {directory} with metadata.version {name_of(level)}.")
    if not fresh:
        print("All of the log directories are already formatted.")


def _contradictions(configuration: Configuration, identities: dict[str, MetaProperties]) -> list[str]:
    """Directories of another node, or of several clusters."""
    others = [
        f"{directory} is of node.id {identity.node_id}, and this node is {configuration.node_id}"
        for directory, identity in identities.items()
        if identity.node_id != configuration.node_id
    ]
    return [*others, *filter(None, [several_clusters(identities)])]


def _print_section(title: str, endings: tuple[str, str], lines: Sequence[str]) -> None:
    if lines:
        print(title + endings[len(lines) > 1])
        print("".join(f"  {line}\n" for line in lines))


def _text_of(identity: MetaProperties) -> str:
    return (
        f"{{cluster.id={identity.cluster_id}, directory.id={identity.directory_id}, "
        f"node.id={identity.node_id}, version=1}}"
    )


if __name__ == "__main__":
    sys.exit(main())
