"""Apache Kafka's released controller, driven beside ours; and a real cluster, recorded and validated."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from checker.lang.loader import load
from checker.validate.corpus import CorpusOptions, validate
from impl.apache.recording import scenario
from impl.apache.recording.projection import MODEL
from impl.apache.recording.record import VERSION, record, setting_of, traced
from impl.apache.release import missing
from tests.benchmarks.conformance import measured
from tests.benchmarks.printing import line

DRIVEN, OF_CONTROLLER = f"apache-kafka:{VERSION}", "kafka_4_3_controller"
DEPTHS = {"kraft/zombie": 10, "kraft/membership": 9}
SEED, BROKERS, TIMES = 0, 3, 20


def apache() -> None:
    """Steps a second of the products with Kafka's controller and with ours; a recorded run of a cluster."""
    why = missing(VERSION)
    if why:
        print(f"  left out: {why}")
        return
    for model, depth in DEPTHS.items():
        one, two = (measured(model, depth, jobs, DRIVEN, OF_CONTROLLER) for jobs in (1, 2))
        ours = measured(model, depth, 1)
        rates = {name: found["all"] / found["seconds"] for name, found in (("one", one), ("two", two), ("ours", ours))}
        line(f"{model}: transitions and probes to depth {depth}", f"{one['all']:,}")
        line(f"{model}: Kafka's, one worker, a second", f"{rates['one']:,.0f}", "3,000")
        line(f"{model}: Kafka's, two workers, a second", f"{rates['two']:,.0f}", "6,000")
        line(f"{model}: two workers to one", f"{rates['two'] / rates['one']:.2f}")
        line(f"{model}: ours under `shipped`, one worker, to Kafka's", f"{rates['ours'] / rates['one']:.1f}")
    recording()


def recording() -> None:
    """One cluster of one controller, what it takes to make traces of its logs, and to judge them."""
    steps = scenario.seeded(SEED, 1, BROKERS)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        record(Path(folder) / "run", VERSION, 1, BROKERS, steps, "run", lambda _said: None)
        ran_s = time.perf_counter() - began
        began = time.perf_counter()
        found = traced(Path(folder) / "run", BROKERS, "run")
        traced_s = time.perf_counter() - began
    decisions = found.figures["decisions"]
    line("a real cluster ran, s; decisions", f"{ran_s:.0f}; {decisions}")
    line("traces of its logs are made in, s; to the run", f"{traced_s:.2f}; {traced_s / ran_s:.3f}", "0.05")
    model = load(MODEL, setting=setting_of(VERSION))
    validate(model, [("warm", found.text.encode())], CorpusOptions())
    began = time.perf_counter()
    for _ in range(TIMES):
        judged = validate(model, [("run", found.text.encode())], CorpusOptions())
        assert judged.exit_code == 0, judged.verdicts
    judged_s = (time.perf_counter() - began) / TIMES
    line("its traces are validated in, s; decisions/s", f"{judged_s:.3f}; {decisions / judged_s:,.0f}")
