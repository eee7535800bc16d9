"""`kafka-dump-log`: prints segments and snapshots of `__cluster_metadata`, line for line as Kafka's tool does.

Exit codes: 0 printed, 1 something is damaged or cannot be read, 2 usage, 141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from impl.kraft.metadata.encoding import decode as decode_metadata
from impl.kraft.metadata.json_form import payload_json, to_json
from impl.kraft.storage.batches import HEADER, HEADER_BYTES, BatchError, Header, Record, RecordBatch, decode
from impl.kraft.storage.control import ControlType, control_type, last_contained_ms, read_leader_change
from impl.kraft.storage.directories import BOOTSTRAP
from impl.kraft.storage.snapshots import id_of
from impl.kraft.tools.parsing import until_nobody_reads

DONE, DAMAGED = 0, 1
_SEGMENT = re.compile(r"(\d+)(\.\w+)?\.log")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_CODEC_BITS, _TRANSACTIONAL = 0x07, 0x10


class Style(NamedTuple):
    """What of each record is printed: decoded: its payload, with_metadata: its offset, times and sizes."""

    decoded: bool
    with_metadata: bool


class UnreadableError(Exception):
    """Part of a file is no batch, or no metadata record; what could be read was printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the files, and return the exit code."""
    options = parser().parse_args(arguments)
    style = Style(options.cluster_metadata_decoder, not options.skip_record_metadata)
    return until_nobody_reads(lambda: _print_all(options.files.split(","), style))


def _print_all(names: Sequence[str], style: Style) -> int:
    code = DONE
    for name in names:
        try:
            for line in dumped(Path(name), style):
                print(line)
        except UnreadableError:
            code = DAMAGED
        except BrokenPipeError:
            raise
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr)
            code = DAMAGED
    return code


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="kafka-dump-log",
        description="Parse a log file and dump its contents to the console.",
        epilog="Exit codes: 0 printed, 1 something is damaged or cannot be read, 2 usage.",
    )
    made.add_argument(
        "--files", required=True, metavar="file1,file2,...", help="The comma separated list of log files to be dumped."
    )
    made.add_argument(
        "--cluster-metadata-decoder", action="store_true", help="Log data will be parsed as cluster metadata records."
    )
    made.add_argument(
        "--skip-record-metadata",
        action="store_true",
        help="Skip metadata when printing records. This flag also skips control records.",
    )
    return made


def dumped(path: Path, style: Style) -> Iterator[str]:
    """The lines that say what is in a file. Raises OSError, and behind the last line UnreadableError."""
    with path.open("rb") as file:
        yield f"Dumping {path}"
        yield title(path.name)
        if os.fstat(file.fileno()).st_size == 0:
            return
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data, memoryview(data) as view:
            yield from _batches(str(path), view, style)


def title(name: str) -> str:
    """What a file's name says of it. Raises OSError where it is none of a segment or a snapshot."""
    if name == BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    if (snapshot := id_of(name)) is not None:
        end_offset, epoch = snapshot
        return f"Snapshot end offset: {end_offset}, epoch: {epoch}"
    if (segment := _SEGMENT.fullmatch(name)) is not None:
        return f"Log starting offset: {int(segment[1])}"
    raise OSError(0, "neither a segment (OFFSET.log) nor a snapshot (OFFSET-EPOCH.checkpoint)")


def _batches(path: str, data: memoryview, style: Style) -> Iterator[str]:
    at, is_whole = 0, True
    while len(data) - at >= HEADER_BYTES:
        header = Header(*HEADER.unpack_from(data, at))
        if header.length_bytes <= 0 or header.size_bytes > len(data) - at:
            break
        try:
            batch = decode(data, at)
        except BatchError:
            batch, is_whole = None, False
        yield batch_line(header, at, is_valid=batch is not None)
        if batch is not None and style.decoded:
            for line, is_record in _records(batch, style):
                is_whole &= is_record
                yield line
        at += header.size_bytes
    if at < len(data):
        yield f"Found {len(data) - at} invalid bytes at the end of {path}"
    if at < len(data) or not is_whole:
        raise UnreadableError


def batch_line(header: Header, position: int, *, is_valid: bool) -> str:
    attributes = header.attributes
    codec = attributes & _CODEC_BITS
    fields = {
        "baseOffset": header.base_offset,
        "lastOffset": header.end_offset - 1,
        "count": header.records,
        "baseSequence": header.base_sequence,
        "lastSequence": -1 if header.base_sequence == -1 else header.base_sequence + header.last_offset_delta,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.epoch,
        "isTransactional": to_json(bool(attributes & _TRANSACTIONAL)),
        "isControl": to_json(header.is_control),
        "deleteHorizonMs": "OptionalLong.empty",
        "position": position,
        "CreateTime": header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _CODECS[codec] if codec < len(_CODECS) else codec,
        "crc": header.crc,
        "isvalid": to_json(is_valid),
    }
    return " ".join(f"{name}: {value}" for name, value in fields.items())


def _records(batch: RecordBatch, style: Style) -> Iterator[tuple[str, bool]]:
    """A line for each record, and whether it could be read."""
    for delta, record in enumerate(batch.records):
        offset, said, is_record = batch.base_offset + delta, "", True
        if not batch.is_control:
            payload, is_record = _payload(record, offset)
            said = f" payload: {payload}"
        elif style.with_metadata:
            said = f" {control_text(record)}"
        if style.with_metadata:
            said = f" {_record_metadata(batch, offset, record)}{said}"
        yield f"|{said}" if said else "", is_record


def _record_metadata(batch: RecordBatch, offset: int, record: Record) -> str:
    sizes = [-1 if part is None else len(part) for part in (record.key, record.value)]
    created = batch.timestamp_ms + record.timestamp_delta_ms
    return (
        f"offset: {offset} CreateTime: {created} keySize: {sizes[0]} valueSize: {sizes[1]} sequence: -1 headerKeys: []"
    )


def _payload(record: Record, offset: int) -> tuple[str, bool]:
    try:
        return payload_json(decode_metadata(record.value or b"")), True
    except ValueError as error:
        return f"Error at {offset}, skipping. {error}", False


def control_text(record: Record) -> str:
    """A control record of version 0 with its fields; of another, its type."""
    type_ = control_type(record)
    version = int.from_bytes((record.value or b"")[:2], "big")
    match type_, version:
        case ControlType.LEADER_CHANGE, 0:
            change = read_leader_change(record)
            voters, granting = (tuple({"voterId": id_} for id_ in ids) for ids in (change.voters, change.granting))
            fields = {"version": 0, "leaderId": change.leader, "voters": voters, "grantingVoters": granting}
            return f"LeaderChange: {to_json(fields)}"
        case ControlType.SNAPSHOT_HEADER, 0:
            return f"SnapshotHeader {to_json({'version': 0, 'lastContainedLogTimestamp': last_contained_ms(record)})}"
        case ControlType.SNAPSHOT_FOOTER, 0:
            return f"SnapshotFooter {to_json({'version': 0})}"
    return (
        f"controlType: {'UNKNOWN' if type_ is None else type_.name}({int.from_bytes((record.key or b'')[2:], 'big')})"
    )


if __name__ == "__main__":
    sys.exit(main())
