"""What a raw trace costs a broker: batches a second that are produced and replicated, with and without one, in turns.

No sockets: requests and responses are bytes, so that what a trace costs of what a client sees is less.
"""

from __future__ import annotations

import tempfile
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from kio.static.primitive import i32Timedelta

from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.storage.batches import Record, RecordBatch, encode
from tests.benchmarks.printing import line
from tests.impl.kraft.server.one_broker import EPOCHS, ID, OTHER, TOPIC, TOPIC_ID, OneBroker

PRODUCE, FETCH = 0, 1
BATCHES, REPEATS = 1_000, 5
SIZES = (100, 10_000)
NO_TIME = i32Timedelta.parse(timedelta())


def traced_broker() -> None:
    """A leader of two replicas appends a batch, and serves a fetch that commits it."""
    for size_bytes in SIZES:
        data = encode(RecordBatch(0, 0, 0, (Record(bytes(size_bytes)),)))
        rates: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(REPEATS):
            for is_traced in rates:
                rates[is_traced].append(rate(data, is_traced=is_traced))
        ratios = [traced / bare for bare, traced in zip(rates[False], rates[True], strict=True)]
        line(f"batches of {size_bytes:,} bytes per second", f"{median(rates[False]):,.0f}")
        line("of these, where a raw trace is written", f"{median(ratios):.0%}", "95%")


def rate(data: bytes, *, is_traced: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "logs").mkdir()
        trace = ReplicaTrace(Path(folder) / "raw.ndjson", ID) if is_traced else None
        one = OneBroker(Path(folder) / "logs", trace=trace)
        one.create_topic((ID, OTHER))
        produced = {"topic_data": [{"name": TOPIC, "partition_data": [{"index": 0, "records": data}]}]}

        async def go_on() -> None:
            for offset in range(1, BATCHES + 1):
                await one.ask(PRODUCE, 9, {"transactional_id": None, "acks": 1, "timeout": NO_TIME, **produced})
                await one.ask(FETCH, 17, fetch(offset))

        began = time.perf_counter()
        one.run(go_on)
        took_s = time.perf_counter() - began
        assert one.broker.logs[TOPIC_ID, 0].high_watermark == BATCHES
        return BATCHES / took_s


def fetch(offset: int) -> dict[str, Any]:
    """Of the other replica."""
    partition = {
        "partition": 0, "current_leader_epoch": 0, "fetch_offset": offset, "last_fetched_epoch": 0,
        "partition_max_bytes": 1 << 20,
    }  # fmt: skip
    return {
        "replica_state": {"replica_id": OTHER, "replica_epoch": EPOCHS[OTHER]}, "max_wait": NO_TIME, "min_bytes": 1,
        "max_bytes": 1 << 20, "forgotten_topics_data": (),
        "topics": [{"topic_id": TOPIC_ID, "partitions": [partition]}],
    }  # fmt: skip
