"""The tree that metadata is shown as: its paths are those of Kafka's shell, what files say is JSON.

Only records of snapshots have a place here. One that changes what another said is for the cores to replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from uuid import UUID

from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.metadata.json_form import to_json
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE
from impl.kraft.security.scram import MECHANISMS
from impl.kraft.storage.batches import header_at
from impl.kraft.storage.directories import encode_id
from impl.kraft.storage.snapshots import data_batches

Steps = tuple[str, ...]
Fields = Mapping[str, Any]
_RESOURCES = {TOPIC_RESOURCE: "TOPIC", BROKER_RESOURCE: "BROKER", 16: "CLIENT_METRICS", 32: "GROUP"}
_MECHANISMS = {one.number: name for name, one in MECHANISMS.items()}
_ROOTS = ("acls", "clientQuotas", "cluster", "configs", "features", "producerIds", "scram", "tokens", "topics")


class ShellError(Exception):
    """What a command cannot do. The message is for the person at the shell."""


class Tree:
    """Directories and files below `/`. A path is a tuple of names."""

    def __init__(self, records: Iterable[MetadataRecord]) -> None:
        """Raises ShellError where a record is no part of a snapshot."""
        self._root: dict[str, Any] = {"image": {name: {} for name in _ROOTS}}
        self._topics: dict[UUID, str] = {}
        for record in records:
            place = _PLACES.get(record.type)
            if place is None:
                raise ShellError(f"{record.type} is no part of a snapshot")
            place(self, record.fields)

    def put(self, path: Steps, content: str | None) -> None:
        """A file, or without content a directory; what is above it is made."""
        *above, name = path
        directory = self._root["image"]
        for step in above:
            directory = directory.setdefault(step, {})
        if content is None:
            directory.setdefault(name, {})
        else:
            directory[name] = content

    def is_directory(self, path: Steps) -> bool:
        return isinstance(self._at(path), dict)

    def content(self, path: Steps) -> str:
        """Of a file. Raises ShellError."""
        found = self._at(path)
        if not isinstance(found, str):
            raise ShellError(f"{text_of(path)} is not a file")
        return found

    def names(self, path: Steps) -> list[str]:
        """In a directory, numbers by their size. Raises ShellError."""
        found = self._at(path)
        if not isinstance(found, dict):
            raise ShellError(f"{text_of(path)} is not a directory")
        return sorted(found, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))

    def below(self, path: Steps) -> Iterator[Steps]:
        """The path itself, and all below it."""
        yield path
        if self.is_directory(path):
            for name in self.names(path):
                yield from self.below((*path, name))

    def matching(self, start: Steps, text: str) -> list[Steps]:
        """The paths that a text names, which may have `*`, `?` and `[...]`. Raises ShellError where there is none."""
        found: list[Steps] = [() if text.startswith("/") else start]
        for step in (step for step in text.split("/") if step not in ("", ".")):
            if step == "..":
                found = [path[:-1] for path in found]
                continue
            directories = [path for path in found if self.is_directory(path)]
            found = [(*path, name) for path in directories for name in self.names(path) if fnmatchcase(name, step)]
        if not found:
            raise ShellError(f"{text}: no such file or directory")
        return found

    def register_topic(self, fields: Fields) -> None:
        self._topics[fields["topicId"]] = fields["name"]
        self.put(("topics", "byName", fields["name"]), None)
        self.put(("topics", "byId", encode_id(fields["topicId"])), None)

    def put_partition(self, fields: Fields) -> None:
        """Below its topic's name and id, which come before it. Raises ShellError."""
        topic = fields["topicId"]
        if topic not in self._topics:
            raise ShellError(f"a partition of the topic {encode_id(topic)}, of which there is no record")
        for path in (("byName", self._topics[topic]), ("byId", encode_id(topic))):
            self.put(("topics", *path, str(fields["partitionId"])), to_json(fields))

    def _at(self, path: Steps) -> Any:
        found: Any = self._root
        for step in path:
            found = found[step]
        return found


def read_snapshot(path: Path) -> Tree:
    """The tree of a snapshot. Raises OSError, and ShellError where the file is damaged, or none."""
    data = path.read_bytes()
    try:
        batches = data_batches(data, header_at(data).epoch if data else 0)
        return Tree(decode(one.value or b"") for batch in batches for one in batch.records)
    except ValueError as error:
        raise ShellError(f"{path} is no snapshot that is whole: {error}") from None


def text_of(path: Steps) -> str:
    return "/" + "/".join(path)


def _file(*steps: Callable[[Fields], str] | str, content: Callable[[Fields], str] = to_json) -> Any:
    """The place of a record that is one file: names, or how they are read from its fields."""

    def place(tree: Tree, fields: Fields) -> None:
        tree.put(tuple(step if isinstance(step, str) else step(fields) for step in steps), content(fields))

    return place


def _of(name: str) -> Callable[[Fields], str]:
    def text(fields: Fields) -> str:
        value = fields[name]
        return encode_id(value) if isinstance(value, UUID) else str(value).replace("/", "%2F")

    return text


def _resource(fields: Fields) -> str:
    type_ = _RESOURCES.get(fields["resourceType"], str(fields["resourceType"]))
    return f"{type_}:{fields['resourceName']}" if fields["resourceName"] else type_


def _entity(fields: Fields) -> str:
    named = (f"{one['entityType']}={one['entityName'] or '<default>'}" for one in fields["entity"])
    return ",".join(named).replace("/", "%2F")


def _without_secrets(fields: Fields) -> str:
    return to_json({"name": fields["name"], "mechanism": fields["mechanism"], "iterations": fields["iterations"]})


_PLACES: Mapping[str, Callable[[Tree, Fields], None]] = {
    "REGISTER_BROKER_RECORD": _file("cluster", "brokers", _of("brokerId")),
    "REGISTER_CONTROLLER_RECORD": _file("cluster", "controllers", _of("controllerId")),
    "TOPIC_RECORD": Tree.register_topic,
    "PARTITION_RECORD": Tree.put_partition,
    "CONFIG_RECORD": _file("configs", _resource, _of("name"), content=lambda fields: str(fields["value"])),
    "FEATURE_LEVEL_RECORD": _file("features", _of("name"), content=lambda fields: str(fields["featureLevel"])),
    "CLIENT_QUOTA_RECORD": _file("clientQuotas", _entity, _of("key"), content=lambda fields: to_json(fields["value"])),
    "PRODUCER_IDS_RECORD": _file("producerIds", "nextProducerId", content=_of("nextProducerId")),
    "ACCESS_CONTROL_ENTRY_RECORD": _file("acls", "byId", _of("id")),
    "DELEGATION_TOKEN_RECORD": _file("tokens", _of("tokenId")),
    "USER_SCRAM_CREDENTIAL_RECORD": _file(
        "scram",
        lambda fields: _MECHANISMS.get(fields["mechanism"], str(fields["mechanism"])),
        _of("name"),
        content=_without_secrets,
    ),
}
