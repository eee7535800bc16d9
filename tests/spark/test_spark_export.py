"""The tables that executors write are those that the local engine writes, but for the numbers of the states."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from checker.cli.main import fencepost
from checker.explicit.check import CheckOptions
from checker.explicit.check import check as check_locally
from checker.explicit.export import about
from checker.explicit.export import export as export_locally
from checker.lang.loader import load
from checker.spark import export as spark_export
from checker.spark import runs
from checker.spark.check import SparkOptions, checked
from checker.spark.export import Draft, Tables, export, numbered
from checker.spark.models import ship
from checker.spark.session import Cluster, TaskError

LEASE = "docs/tutorial/lease.py"
MODELS = [
    (LEASE, {}, 1), ("tests/models/bounds.py/constraint_is_checked", {}, 3),
    ("kraft/membership", {"max_crashes": "0", "max_early_expiries": "0", "lifecycle_in_flight": "1"}, 2),
]  # fmt: skip


def tables(folder: Path, *names: str) -> dict[str, Any]:
    """All rows, in no order. States go by what is packed, not by their numbers, which are 0 to n - 1."""
    found = {name: pq.read_table(folder / name).to_pylist() for name in names}
    packed = {row["state"]: row["packed"] for row in found["states"]}
    assert sorted(packed) == list(range(len(packed)))
    for row in found["states"]:
        del row["state"]
    for row in found["transitions"]:
        row["source"], row["target"] = packed[row["source"]], packed[row["target"]]
    metadata = {pq.read_schema(file).metadata[b"fencepost"] for file in folder.glob("*/*.parquet")}
    return {"metadata": metadata, **{name: Counter(map(str, rows)) for name, rows in found.items()}}


@pytest.mark.sample(1)
@pytest.mark.parametrize(("target", "changes", "partitions"), MODELS)
def test_rows_are_those_of_the_local_engine(
    spark: Cluster, target: str, changes: dict[str, str], partitions: int, tmp_path: Path
) -> None:
    model = load(target, changes)
    _, rows = export(model, SparkOptions(partitions=partitions), str(tmp_path / "there"), started=time.perf_counter())
    model.bind()
    report = check_locally(model, CheckOptions(threads=2, all_violations=True), started=time.perf_counter())
    assert export_locally(report, tmp_path / "here") == rows
    assert tables(tmp_path / "there", *rows) == tables(tmp_path / "here", *rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]
    assert {path.name for path in (tmp_path / "there").iterdir()} == {
        "_SUCCESS", "states", "transitions", "actions", "properties"
    }  # fmt: skip


@pytest.mark.usefixtures("no_cluster")
def test_tasks_that_take_a_few_steps_at_a_time_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks alone, without Spark: with many row groups, parts that are sent, and lookups."""
    model = load("tests/models/shapes.py/mail")
    local = check_locally(model, CheckOptions(all_violations=True), started=time.perf_counter())
    export_locally(local, tmp_path / "here")
    monkeypatch.setattr(runs, "GROUP", 8)
    monkeypatch.setattr(spark_export, "SENT_BYTES", 2000)
    monkeypatch.setattr(spark_export, "HELD_BYTES", 2000)
    to = str(tmp_path / "there")
    shipped: Any = SimpleNamespace(load=lambda: model)
    options = SparkOptions(partitions=3, small=1 << 60, all_violations=True)
    with checked(model, options, started=time.perf_counter()) as report:
        exploration = report.result.exploration
        tasks = Tables(exploration.job, shipped, numbered(exploration), to, about(report))
        sent = [item for shard in range(3) for item in tasks.send(shard)]
        assert len(sent) > 6
        for shard in range(3):
            tasks.write_states(shard)
            tasks.write_transitions(shard, (data for target, data in sent if target == shard))
    assert tables(Path(to), "states", "transitions") == tables(tmp_path / "here", "states", "transitions")


@pytest.mark.parametrize("renames", [True, False])
def test_what_is_not_whole_is_not_there(renames: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not renames:
        monkeypatch.setattr(spark_export, "RENAMES", ())
    to = tmp_path / "graph"
    to.mkdir()
    draft = Draft(f"file://{to}")
    (Path(draft.place_of("_search").removeprefix("file://")) / "levels").mkdir(parents=True)
    draft.folder.write("states/part-00000.parquet", b"rows")
    assert to.exists() != renames
    draft.discard()
    assert list(tmp_path.iterdir()) == []

    draft = Draft(str(to))
    Path(draft.place_of("_search")).mkdir()
    draft.folder.write("states/part-00000.parquet", b"rows")
    draft.commit()
    draft.discard()
    assert sorted(path.name for path in to.iterdir()) == ["_SUCCESS", "states"]
    with pytest.raises(FileExistsError):
        Draft(str(to))


def test_a_task_that_fails_leaves_nothing(spark: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = spark_export.numbered
    monkeypatch.setattr(spark_export, "numbered", lambda exploration: [found[:-1] for found in parts(exploration)])
    with pytest.raises(TaskError, match="a successor was not explored"):
        export(load(LEASE), SparkOptions(partitions=2), str(tmp_path / "graph"), started=time.perf_counter())
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_task_that_ran_twice_go(spark: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def left_over(model: Any) -> Any:  # called when the draft is there and nothing is written
        [draft] = tmp_path.iterdir()
        (draft / "states").mkdir()
        (draft / "states" / "part-00000-of-a-killed-task.parquet").write_bytes(b"half")
        return ship(model)

    monkeypatch.setattr(spark_export, "ship", left_over)
    export(load(LEASE), SparkOptions(partitions=2), str(tmp_path / "graph"), started=time.perf_counter())
    assert len(list((tmp_path / "graph" / "states").iterdir())) == 2
    assert pq.read_table(tmp_path / "graph" / "states").num_rows == 12


def test_the_command(spark: Cluster, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(fencepost, ["export", LEASE, "--to", *arguments], prog_name="fencepost")

    to = f"{tmp_path}/graph"
    stopped = run(to, "--engine", "spark", "--max-states", "2")
    assert stopped.exit_code == 3 and "no tables are written" in stopped.output and not list(tmp_path.iterdir())
    done = run(f"file://{to}", "--engine", "spark", "--partitions", "2")
    assert done.exit_code == 0, done.output
    assert f"12 states, 36 transitions in file://{to}; violated: one_leader_serves" in done.output
    assert "is there already: name a new folder" in run(f"file://{to}", "--engine", "spark").output
    unknown = run("nowhere://namenode/graph", "--engine", "spark")
    assert unknown.exit_code == 2 and "error: nowhere://namenode/graph: Unrecognized filesystem" in unknown.output
    assert "a URI is for --engine spark" in run("hdfs://namenode/graph").output
    assert "--partitions: this is for --engine spark" in run(f"{to}2", "--partitions", "2").output
