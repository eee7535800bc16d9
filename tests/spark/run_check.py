"""A check on Spark in a process of its own, to be killed: MASTER PLACE start|resume. Every level is a job."""

from __future__ import annotations

import json
import sys
import time

from checker.lang.loader import load
from checker.running.limits import Progress
from checker.spark.check import SparkOptions, check
from tests.spark.outcomes import outcome
from tests.spark.standalone import CONF


def main(master: str, place: str, how: str) -> None:
    def progress(now: Progress) -> None:
        print("level", now.depth, flush=True)

    options = SparkOptions(master=master, conf=CONF, partitions=2, small=0, checkpoint=place)
    if how == "resume":
        options = SparkOptions(master=master, conf=CONF, small=0, resume=place)
    report = check(load("tests/models/two_phase_commit.py"), options, started=time.perf_counter(), progress=progress)
    print(json.dumps(outcome(report)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
