"""The explored state graph as Parquet tables: states, transitions, actions, properties (see docs/state-graph.md).

Written a row group at a time, so that no more is held than the search holds anyway, into a folder beside the
wanted one that is renamed at the end: the export is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checker.errors import cannot_write
from checker.explicit.check import Report
from checker.explicit.kernel import abi
from checker.explicit.kernel.columns import arrow_type, codes_of, column, shown
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.slots import NotFixed, Slot, slots_of
from checker.explicit.search.store import Context
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lang.types import Type
from checker.reference.step import Reference
from checker.running.arrays import Longs, Numbers, Words
from traces.values import show

VERSION = 1
ROWS = 1 << 16  # of a row group
_BATCH = 1 << 15  # records a box takes


@dataclass(frozen=True)
class Written:
    """Progress of an export, in rows of a table."""

    table: str
    rows: int
    seconds: float


def export(report: Report, to: Path, progress: Callable[[Written], None] | None = None) -> dict[str, int]:
    """Write the tables of a finished search below `to`, which must be new or empty; gives their rows.

    Raises FileExistsError for a folder that holds something, OSError where it cannot be written.
    """
    if to.is_dir() and not any(to.iterdir()):
        to.rmdir()
    if to.exists():
        raise FileExistsError(17, "is there already: name a new folder", str(to))
    draft = to.with_name(f".{to.name}.{secrets.token_hex(4)}.tmp")
    draft.mkdir()
    try:
        rows = _Export(report, draft, progress).write()
        draft.replace(to)
    except OSError as error:
        raise cannot_write(to, error, "start again") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return rows


class _Export:
    def __init__(self, report: Report, folder: Path, progress: Callable[[Written], None] | None) -> None:
        self._report, self._folder, self._progress = report, folder, progress
        self._kernel = report.kernel
        self._shards = report.result.exploration.shards
        self._offsets = np.cumsum([0, *[shard.count for shard in self._shards]])
        self._started = time.monotonic()
        self._about = about(report)

    def write(self) -> dict[str, int]:
        report = self._report
        tables = {
            "states": (state_schema(report.model, self._kernel), self._states()),
            "transitions": (TRANSITIONS, self._transitions()),
            "actions": (ACTIONS, iter([action_batch(report)])),
            "properties": (PROPERTIES, iter([property_batch(report)])),
        }
        return {name: self._table(name, schema, batches) for name, (schema, batches) in tables.items()}

    def _table(self, name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
        """Write a table; gives its rows."""
        file = self._folder / name / "part-00000.parquet"
        file.parent.mkdir()

        def progress(rows: int) -> None:
            if self._progress is not None:
                self._progress(Written(name, rows, time.monotonic() - self._started))

        return write_file(file, schema.with_metadata(self._about), batches, progress)

    def _states(self) -> Iterator[pa.RecordBatch]:
        schema = state_schema(self._report.model, self._kernel)
        bounds = self._report.result.exploration.bounds
        for number, shard in enumerate(self._shards):
            starts = np.array([level[number] for level in bounds])
            for first in range(0, shard.count, ROWS):
                limit = min(shard.count, first + ROWS)
                places = np.arange(first, limit)
                depth = np.searchsorted(starts, places, side="right")
                numbers, words = places + self._offsets[number], shard.states(first, limit)
                yield state_batch(self._report.model, self._kernel, schema, words, numbers, depth)

    def _transitions(self) -> Iterator[pa.RecordBatch]:
        parameters = Parameters(self._report.model, self._kernel)
        context = Context(self._kernel, len(self._shards), _BATCH, edges=_BATCH)
        expand, find = self._kernel.calls["expand"], self._kernel.calls["find"]
        for number, shard in enumerate(self._shards):
            done = 0
            while done < shard.count:
                done = expand(context.address, shard.store_address, done, shard.count)
                context.close()
                broken = Broken(context.edges())
                for target, other in enumerate(self._shards):
                    records = context.records(target)
                    found = np.zeros(len(records), dtype=np.int64)
                    find(other.address, records.ctypes.data, len(records), found.ctypes.data)
                    metas = records[:, -1]
                    sources, instances = metas >> abi.META_SHIFT, metas & abi.NO_INSTANCE
                    yield transition_batch(
                        self._kernel, sources + self._offsets[number], found - 1 + self._offsets[target], instances,
                        parameters.column(shard.states(0, shard.count), sources, instances), broken.of(metas),
                    )  # fmt: skip


# The tables, a batch at a time: another engine that writes them calls these.

TRANSITIONS = pa.schema({
    "source": pa.int64(), "target": pa.int64(), "action": pa.string(), "parameters": pa.map_(pa.string(), pa.string()),
    "violates": pa.list_(pa.string()),
})  # fmt: skip
ACTIONS = pa.schema({
    "name": pa.string(), "who": pa.string(), "statement": pa.string(), "source": pa.string(), "enabled": pa.int64(),
    "fired": pa.int64(), "cut": pa.int64(),
})  # fmt: skip
PROPERTIES = pa.schema({
    "name": pa.string(), "kind": pa.string(), "statement": pa.string(), "source": pa.string(), "verdict": pa.string(),
    "trace_length": pa.int64(),
})  # fmt: skip


def write_file(
    sink: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch], progress: Callable[[int], None] = lambda rows: None
) -> int:
    """Write batches, as `schema` with its metadata, in row groups of about ROWS; gives the rows.

    sink: a path or an open stream. progress: called with the rows so far.
    """
    rows, plain = 0, schema.remove_metadata()
    waiting: list[pa.RecordBatch] = []
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:

        def write() -> None:
            writer.write_table(pa.Table.from_batches(waiting, plain).replace_schema_metadata(schema.metadata))

        for batch in batches:
            waiting.append(batch)
            if sum(len(b) for b in waiting) >= ROWS:
                write()
                waiting.clear()
            rows += len(batch)
            progress(rows)
        write()
    return rows


def action_batch(report: Report) -> pa.RecordBatch:
    """All rows of `actions`."""
    rows = [
        {"name": a.name, "who": a.who, "statement": a.doc, "source": a.source, "enabled": c.enabled,
         "fired": c.fired, "cut": c.cut}
        for a, c in zip(report.model.model.actions, report.result.actions, strict=True)
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, ACTIONS)


def property_batch(report: Report) -> pa.RecordBatch:
    """All rows of `properties`."""
    rows = []
    for found in report.properties:
        declared = report.model.declared(found.name)
        rows.append({
            "name": found.name, "kind": found.kind, "verdict": found.verdict, "trace_length": found.trace_length,
            "statement": declared.doc if declared else "", "source": declared.source if declared else "",
        })  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, PROPERTIES)


def state_schema(model: BoundModel, kernel: Kernel) -> pa.Schema:
    """The columns of `states`."""
    return pa.schema({
        "state": pa.int64(), "depth": pa.int32(), "packed": pa.binary(8 * kernel.words),
        "violates": pa.list_(pa.string()), "witnesses": pa.list_(pa.string()), "s": arrow_type(model.state_type),
    })  # fmt: skip


def state_batch(
    model: BoundModel, kernel: Kernel, schema: pa.Schema, words: Words, numbers: Longs, depth: Numbers
) -> pa.RecordBatch:
    """Rows of `states` for packed states, which must be contiguous. numbers: their names; depth: their levels."""
    bits = np.zeros(len(words), dtype=np.int64)
    kernel.calls["classify"](words.ctypes.data, len(words), bits.ctypes.data)
    buffer = pa.py_buffer(words.tobytes())
    packed = pa.FixedSizeBinaryArray.from_buffers(schema.field("packed").type, len(words), [None, buffer])
    return pa.RecordBatch.from_arrays([
        pa.array(numbers), pa.array(depth.astype(np.int32)), packed, _named(kernel, bits, "invariant"),
        _named(kernel, bits, "witness"), column(model.state_type, codes_of(kernel.layout, words)),
    ], schema=schema)  # fmt: skip


def transition_batch(
    kernel: Kernel, sources: Longs, targets: Longs, instances: Longs, parameters: pa.Array, broken: Longs
) -> pa.RecordBatch:
    """Rows of `transitions`. broken: per step the mask of the properties of steps that it breaks."""
    names, of_instance = pa.array(kernel.actions), np.array([a for a, _ in kernel.instances] or [0])
    actions = names.take(pa.array(of_instance[instances]))
    violates = _named(kernel, broken, "transition invariant", "refinement")
    columns = [pa.array(sources), pa.array(targets), actions, parameters, violates]
    return pa.RecordBatch.from_arrays(columns, schema=TRANSITIONS)


def _named(kernel: Kernel, bits: Longs, *kinds: str) -> pa.Array:
    """Per mask the names of its properties of these kinds."""
    wanted = [(i, p.name) for i, p in enumerate(kernel.properties) if p.kind in kinds]
    there = np.array([bits >> i & 1 for i, _ in wanted], dtype=bool).reshape(len(wanted), len(bits)).T
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    names = pa.array([name for _, name in wanted], pa.string()).take(pa.array(np.nonzero(there)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), names)


class Broken:
    """The properties of steps that steps break, from the edges that an expansion left."""

    def __init__(self, edges: Longs) -> None:
        codes = edges[:, -1]
        chosen = (codes > 0) & (codes & abi.OUTSIDE == 0)
        order = np.argsort(edges[chosen, -2])
        self._metas, self._masks = edges[chosen, -2][order], codes[chosen][order]

    def of(self, metas: Longs) -> Longs:
        """Per meta its mask."""
        if not len(self._metas):
            return np.zeros(len(metas), dtype=np.int64)
        at = np.searchsorted(self._metas, metas).clip(0, len(self._metas) - 1)
        return np.where(self._metas[at] == metas, self._masks[at], 0)


class Parameters:
    """The values of the parameters of steps, as texts."""

    def __init__(self, model: BoundModel, kernel: Kernel) -> None:
        self._layout, self._type, self._reference = kernel.layout, model.state_type, Reference(model)
        width = max([len(p) for p in self._reference.parameters], default=0)
        count = len(self._reference.instances)
        self._there = np.zeros((count, width), dtype=bool)
        self._names = np.full((count, width), "", dtype=object)
        self._texts = np.full((count, width), "", dtype=object)
        self._slots: dict[int, dict[int, Slot]] = {}  # instance -> position -> where it lies
        self._depends: set[int] = set()  # instances whose places depend on the state
        for instance, (action, binding) in enumerate(self._reference.instances):
            parameters = self._reference.parameters[action]
            self._there[instance, : len(parameters)] = True
            self._names[instance, : len(parameters)] = [p.name for p in parameters]
            try:
                found = slots_of(self._type, parameters, binding)
            except NotFixed:
                self._depends.add(instance)
                continue
            for position, parameter in enumerate(parameters):
                value = found[parameter.name]
                if isinstance(value, Slot):
                    self._slots.setdefault(instance, {})[position] = value
                else:
                    self._texts[instance, position] = show(parameter.type.itf(value))

    def column(self, states: Words, sources: Longs, instances: Longs) -> pa.Array:
        """A map from name to text for each step: `instances[i]` out of `states[sources[i]]`."""
        texts = self._texts[instances]
        for instance in np.unique(instances).tolist():
            if instance not in self._slots and instance not in self._depends:
                continue
            rows = np.flatnonzero(instances == instance)
            words = states[sources[rows]]
            if instance in self._depends:
                texts[rows] = self._looked_up(instance, words)
                continue
            for position, slot in self._slots[instance].items():
                codes = codes_of(self._layout, words, range(slot.first, slot.first + slot.type.width))
                text = _text_of(self._member(instance, position))
                texts[rows, position] = shown(slot.type, codes, text).to_numpy(zero_copy_only=False)
        there = self._there[instances]
        offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
        names = pa.array(self._names[instances][there], pa.string())
        return pa.MapArray.from_arrays(pa.array(offsets), names, pa.array(texts[there], pa.string()))

    def _member(self, instance: int, position: int) -> Type:
        return self._reference.parameters[self._reference.instances[instance][0]][position].type

    def _looked_up(self, instance: int, words: Words) -> list[list[str]]:
        rows = []
        action, _ = self._reference.instances[instance]
        for codes in codes_of(self._layout, words).tolist():
            values = self._reference.arguments(self._type.decode(codes), instance)
            assert values is not None, "a step was taken with a member that is not there"
            parameters = self._reference.parameters[action]
            texts = [show(p.type.itf(v)) for p, v in zip(parameters, values, strict=True)]
            rows.append(texts + [""] * (self._there.shape[1] - len(texts)))
        return rows


def _text_of(type_: Type) -> Callable[[Any], str]:
    return lambda value: show(type_.itf(value))


def about(report: Report) -> dict[bytes, bytes]:
    """The metadata of every file: where a table comes from. layout: equal where packed states mean the same."""
    layout = report.kernel.layout
    shape = repr([layout.words, layout.fields, [(v.path, v.kind, v.size, v.sort) for v in layout.leaves]])
    found = {
        "version": VERSION, "model": report.model.name,
        "constants": {name: to_itf(value) for name, value in report.model.constants.items()},
        "verdict": report.verdict, "distinct": report.result.distinct, "depth": report.result.depth,
        "layout": hashlib.sha256(shape.encode()).hexdigest()[:16],
    }  # fmt: skip
    return {b"fencepost": json.dumps(found).encode()}
