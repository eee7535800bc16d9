"""The SQL of docs/state-graph.md runs as it stands, and answers what plain Python answers over the same tables."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checker.explicit.check import CheckOptions, check
from checker.explicit.export import export
from checker.lang.loader import load
from checker.spark.session import cluster

pytestmark = pytest.mark.long("exports of two kraft models, and SQL")

ROOT = Path(__file__).parent.parent.parent
SHRINKS, LEADS_OUT, DIFFERS = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "state-graph.md").read_text(), re.DOTALL)
Table = list[dict[str, Any]]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Table]]:
    """The tables of two settings of one model: as they are, and with the prefix "other_" without KIP-841."""
    found: dict[str, dict[str, Table]] = {}
    for prefix, changes in (("", {}), ("other_", {"kip_841": "false"})):
        model = load("kraft/membership", {"max_crashes": "0", "lifecycle_in_flight": "1", **changes})
        folder = tmp_path_factory.mktemp("graphs") / f"{prefix}graph"
        export(check(model, CheckOptions(all_violations=True), started=time.perf_counter()), folder)
        states = pq.read_table(folder / "states", columns=["state", "packed", "s.controllers"])
        transitions = pq.read_table(folder / "transitions", columns=["source", "target", "action", "parameters"])
        found[prefix] = {
            "folder": [{"path": str(folder)}], "states": states.to_pylist(), "transitions": transitions.to_pylist()
        }  # fmt: skip
    return found


@pytest.fixture(scope="module")
def sql(graphs: dict[str, dict[str, Table]]) -> Iterator[Callable[[str], dict[str, int]]]:
    with cluster("local[2]", {"spark.sql.shuffle.partitions": "2"}):
        session = SparkSession.builder.getOrCreate()
        for prefix, tables in graphs.items():
            for name in ("states", "transitions", "actions", "properties"):
                session.read.parquet(f"{tables['folder'][0]['path']}/{name}").createOrReplaceTempView(prefix + name)
        yield lambda query: {row.action: row.steps for row in session.sql(query).collect()}


def partition(state: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict(dict(state["controllers"])["controller0"]["image"]["partitions"])["partition0"]
    return found


def steps(tables: dict[str, Table], wanted: Callable[[dict[str, Any], dict[str, Any]], bool]) -> dict[str, int]:
    partitions = {row["state"]: partition(row) for row in tables["states"]}
    return Counter(
        t["action"] for t in tables["transitions"] if wanted(partitions[t["source"]], partitions[t["target"]])
    )


def test_what_shrinks_an_isr_to_one_member(sql: Any, graphs: dict[str, dict[str, Table]]) -> None:
    expected = steps(graphs[""], lambda before, after: len(before["isr"]) > 1 and len(after["isr"]) == 1)
    assert sql(SHRINKS) == expected and expected


def test_what_leads_out_of_leaderless_states(sql: Any, graphs: dict[str, dict[str, Table]]) -> None:
    expected = steps(graphs[""], lambda before, after: before["leader"] is None and after["leader"] is not None)
    assert sql(LEADS_OUT) == expected and expected


def test_what_only_one_setting_has(sql: Any, graphs: dict[str, dict[str, Table]]) -> None:
    found = {}
    for prefix, tables in graphs.items():
        packed = {row["state"]: row["packed"] for row in tables["states"]}
        found[prefix] = {
            (packed[t["source"]], t["action"], str(t["parameters"]), packed[t["target"]]) for t in tables["transitions"]
        }
    expected = Counter(action for _, action, _, _ in found["other_"] - found[""])
    assert sql(DIFFERS) == expected and expected
