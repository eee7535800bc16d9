"""What brokers asked controllers for, and what these answered: as proxies saw it, and as a file has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from impl.apache.recording.proxies import Request
from impl.kraft.recorded.image import Place

KEYS = {56: "AlterPartition", 62: "BrokerRegistration", 63: "BrokerHeartbeat"}
"""By a request's key, what it is called, of those that are kept."""
_DUPLICATE = "duplicate_broker_registration"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request of a broker and its answer: bodies behind the first part of the header. answered_ms: when it was."""

    request: Request
    response: bytes
    broker: int
    controller: int
    answered_ms: int


@dataclass(frozen=True)
class Refused:
    """A registration of an incarnation that was refused because another one has the id. controller: who refused it."""

    sent_ms: int
    answered_ms: int
    broker: int
    controller: int
    incarnation: UUID


@dataclass(frozen=True)
class AskedForIsr:
    """What a leader asked for, of one partition, and was given. after: the partition epoch that it led to."""

    leader: int
    at: Place
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    after: int


def write(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Raises OSError."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a file. Raises OSError."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@dataclass(frozen=True)
class Seen:
    """What went over the network, as far as a trace has it."""

    refused: Sequence[Refused] = ()
    isr: Sequence[AskedForIsr] = ()


def seen(lines: Sequence[Mapping[str, Any]]) -> Seen:
    """What lines of a file say."""
    return Seen(list(_refused(lines)), list(_asked_for_isr(lines)))


def _refused(lines: Sequence[Mapping[str, Any]]) -> Iterator[Refused]:
    for line in lines:
        if line["api"] == "BrokerRegistration" and line["response"]["error_code"] == _DUPLICATE:
            incarnation = UUID(line["request"]["incarnation_id"])
            yield Refused(line["sent_ms"], line["answered_ms"], line["broker"], line["controller"], incarnation)


def _asked_for_isr(lines: Sequence[Mapping[str, Any]]) -> Iterator[AskedForIsr]:
    for line in lines:
        if line["api"] != "AlterPartition":
            continue
        after = {
            (topic["topic_id"], one["partition_index"]): one["partition_epoch"]
            for topic in line["response"]["topics"]
            for one in topic["partitions"]
            if one["error_code"] in ("none", "new_leader_elected")
        }
        for topic in line["request"]["topics"]:
            for one in topic["partitions"]:
                key = topic["topic_id"], one["partition_index"]
                if key in after:
                    yield AskedForIsr(
                        line["broker"], (UUID(key[0]), key[1]), one["leader_epoch"], one["partition_epoch"],
                        tuple(member["broker_id"] for member in one["new_isr_with_epochs"]), after[key],
                    )  # fmt: skip
