"""Speed of validating recorded traces: on one core, and a corpus of 100,000 of them on Spark."""

from __future__ import annotations

import gc
import json
import tempfile
import time
from pathlib import Path

from checker.lang.loader import BoundModel, load
from checker.validate.corpus import CorpusOptions, validate
from tests.benchmarks.printing import line
from tests.validate.walks import Event, Walks, text

WALKS, STEPS, REPEATS = 1000, 40, 4
MODELS = ("tests/models/async_isr.py", "kraft/membership")
CORPUS, PER_FILE = 100_000, 1000


def validation() -> None:
    """Random walks, distinct ones and each of them REPEATS times, on one core; plain `json.loads` beside it."""
    for name in MODELS:
        model = load(name)
        walks = [Walks(model, seed).walk(STEPS) for seed in range(WALKS)]
        actions = [[Event(e.action, e.parameters, None) for e in walk] for walk in walks]
        for what, traces, aim in (("full states", walks, "150,000"), ("actions only", actions, "500,000")):
            content = b"".join(map(text, traces))
            first, again = _events_per_s(model, content), _events_per_s(model, content * REPEATS)
            parsing = _lines_per_s(content)
            size = len(content) / sum(map(len, traces))
            line(f"{name}, {what} ({size:.0f} bytes an event), events/s", f"{first:,.0f}", aim)
            line("  each trace four times, events/s", f"{again:,.0f}", aim)
            line("  to json.loads of the same lines", f"{first / parsing:.2f}")


def _events_per_s(model: BoundModel, content: bytes) -> float:
    gc.collect()
    started = time.process_time()
    found = validate(model, [("walks", content)], CorpusOptions())
    seconds = time.process_time() - started
    assert found.exit_code == 0, found.counts
    return found.events / seconds


def _lines_per_s(content: bytes) -> float:
    lines = content.split(b"\n")[:-1]
    started = time.process_time()
    for one in lines:
        json.loads(one)
    return len(lines) / (time.process_time() - started)


def corpus() -> None:
    """100,000 traces of `kraft/membership` with full states, in files of 1,000: one process, then local[2]."""
    from checker.spark.corpus import Where, validate_on_spark

    model = load("kraft/membership")
    contents = [text(Walks(model, seed).walk(10)) for seed in range(2 * PER_FILE)]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(CORPUS // PER_FILE):
            half = number % 2 * PER_FILE
            Path(folder, f"{number:03}.ndjson").write_bytes(b"".join(contents[half : half + PER_FILE]))
        started = time.perf_counter()
        files = [(str(file), file.read_bytes()) for file in sorted(Path(folder).iterdir())]
        here = validate(model, files, CorpusOptions())
        line("one process, seconds", f"{time.perf_counter() - started:.1f}")
        assert here.exit_code == 0, here.counts
        line("  traces, events", f"{here.traces:,} {here.events:,}")
        started = time.perf_counter()
        there = validate_on_spark(model, [folder], CorpusOptions(), Where("local[2]"))
        line("Spark local[2], with its start, seconds", f"{time.perf_counter() - started:.1f}")
        assert there.counts == here.counts
