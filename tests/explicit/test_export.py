"""The state graph as tables: every state decoded as plain Python has it, every transition of the reference there."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from checker.explicit.check import CheckOptions, check
from checker.explicit.export import export
from checker.explicit.kernel.columns import codes_of
from checker.explicit.kernel.layout import Layout
from checker.lang.ir import Kind, Leaf
from checker.lang.loader import BoundModel, load
from checker.lang.types import BagType, MapType, OptionType, OrdinalType, RecordType, SeqType, SetType, Type, UnionType
from checker.reference.step import Reference
from traces.values import show

ROOT = Path(__file__).parent.parent.parent
MODELS = [
    "docs/tutorial/lease.py", "tests/models/two_phase_commit.py", "tests/models/ordinals.py/sessions",
    "tests/models/collections_of_values.py/stamped_bag", "tests/models/collections_of_values.py/granted",
    "tests/models/collections_of_values.py/first_served", "tests/models/collections_of_values.py/orders",
    "tests/models/shapes.py/locks", "tests/models/shapes.py/mail", "tests/models/shapes.py/fleet",
    "tests/models/shapes.py/copied_levels", "tests/models/verdicts.py",
    *[f"tests/models/members.py/{name}" for name in ("many", "posted", "quorums", "linked", "claims")],
]  # fmt: skip


COUNTS = """
from typing import Annotated
from checker.lang import Range, action, init, require, state, transition_invariant

@state
class Count:
    n: Annotated[int, Range(0, 2)]

@init
def start() -> Count:
    return Count(n=0)

@action(who="-", source="-")
def up(s: Count) -> None:
    \"\"\"One more.\"\"\"
    require(s.n < 2)
    s.n += 1

@action(who="-", source="-")
def back(s: Count) -> None:
    \"\"\"From the top.\"\"\"
    require(s.n == 2)
    s.n = 0

@transition_invariant(source="-")
def never_back(before: Count, after: Count) -> bool:
    \"\"\"Upwards only.\"\"\"
    return before.n <= after.n
"""


def plain(type_: Type, value: Any) -> Any:
    """A value as a row of a table has it."""
    match type_:
        case OptionType():
            return None if value is None else plain(type_.inner, value)
        case RecordType():
            fields = {n: plain(t, getattr(value, n)) for n, t in type_.fields.items()}
            return fields or str(type_)
        case MapType():
            return [(plain(type_.key_type, k), plain(type_.value_type, value[k])) for k in type_.keys]
        case SetType():
            return [plain(type_.element, m) for m in type_.members if m in value]
        case SeqType():
            return [plain(type_.element, element) for element in value]
        case BagType():
            return [plain(type_.element, m) for m in sorted(value, key=type_.element.key)]
        case UnionType():
            own = type_.variants[type_.tags[type(value)]]
            others = {str(v): plain(v, value) if v is own else None for v in type_.variants if v.fields}
            return {"tag": str(own), **others}
        case OrdinalType():
            return value.value
    return type_.itf(value)


def exported(model: BoundModel, folder: Path, threads: int = 1) -> dict[str, list[dict[str, Any]]]:
    report = check(model, CheckOptions(threads=threads, all_violations=True), started=time.perf_counter())
    rows = export(report, folder)
    tables = {name: pq.read_table(folder / name).to_pylist() for name in rows}
    assert {name: len(table) for name, table in tables.items()} == rows
    return tables


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 3])
def test_tables_are_what_plain_python_says(name: str, threads: int, tmp_path: Path) -> None:
    model = load(str(ROOT / name))
    reference = Reference(model)
    tables = exported(model, tmp_path / "graph", threads)

    decoded = {row["state"]: row for row in tables["states"]}
    assert sorted(decoded) == list(range(len(decoded)))
    stated, edges = Counter[str](), Counter[tuple[str, str, str, str]]()
    frontier, depth, seen = model.initial_states(), 1, set[tuple[int, ...]]()
    while frontier:
        later = []
        for state in frontier:
            if reference.canonical(state) in seen:
                continue
            seen.add(reference.canonical(state))
            ranked = model.state_type.decode(list(reference.canonical(state)))
            stated[f"{depth} {plain(model.state_type, ranked)}"] += 1
            for instance, after in reference.successors(ranked):
                number, _ = reference.instances[instance]
                given = zip(reference.parameters[number], reference.arguments(ranked, instance) or (), strict=True)
                parameters = {p.name: show(p.type.itf(value)) for p, value in given}
                target = model.state_type.decode(list(reference.canonical(after)))
                edges[str(plain(model.state_type, ranked)), reference.actions[number].name, str(parameters),
                      str(plain(model.state_type, target))] += 1  # fmt: skip
                later.append(after)
        frontier, depth = later, depth + 1

    assert Counter(f"{row['depth']} {row['s']}" for row in tables["states"]) == stated
    found = Counter(
        (str(decoded[t["source"]]["s"]), t["action"], str(dict(t["parameters"])), str(decoded[t["target"]]["s"]))
        for t in tables["transitions"]
    )
    assert found == edges
    assert [row["name"] for row in tables["actions"]] == [a.name for a in model.model.actions]
    fired = Counter(t["action"] for t in tables["transitions"])
    assert Counter({row["name"]: row["fired"] for row in tables["actions"]}) == fired


def test_properties_of_states_and_steps_are_named(tmp_path: Path) -> None:
    model = load(str(ROOT / "docs/tutorial/lease.py"))
    tables = exported(model, tmp_path / "graph")
    broken = [row for row in tables["states"] if "one_leader_serves" in row["violates"]]
    assert broken and all(len(row["s"]["serving"]) > 1 for row in broken)
    assert len(broken) == sum(len(row["s"]["serving"]) > 1 for row in tables["states"])
    assert [(p["name"], p["verdict"]) for p in tables["properties"]] == [("one_leader_serves", "violated")]

    spec = tmp_path / "counts.py"
    spec.write_text(COUNTS)
    steps = exported(load(str(spec)), tmp_path / "steps")["transitions"]
    assert {(t["action"], *t["violates"]) for t in steps} == {("up",), ("back", "never_back")}


def test_a_set_of_64_is_decoded() -> None:
    layout = Layout([Leaf("s", Kind.SET, 64)], [], {})
    codes = codes_of(layout, np.array([[1 << 63 | 1]], dtype=np.uint64))
    assert codes.tolist() == [[(1 | 1 << 63) - (1 << 64)]]


def test_an_export_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(str(ROOT / "docs/tutorial/lease.py"))
    report = check(model, CheckOptions(all_violations=True), started=time.perf_counter())

    def stop(done: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(report, tmp_path / "graph", stop)
    assert list(tmp_path.iterdir()) == []
    export(report, tmp_path / "graph")
    with pytest.raises(FileExistsError):
        export(report, tmp_path / "graph")


def test_a_search_that_was_stopped_is_not_exported(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from checker.cli.commands.export import export as command

    runner = CliRunner()
    target, lease = str(tmp_path / "graph"), str(ROOT / "docs/tutorial/lease.py")
    done = runner.invoke(command, [lease, "--to", target, "--max-states", "2"], standalone_mode=False)
    assert done.return_value == 3 and "incomplete" in done.output and not Path(target).exists()
    done = runner.invoke(command, [lease, "--to", target], standalone_mode=False)
    assert done.return_value == 0 and "12 states" in done.output, done.output
    done = runner.invoke(command, [lease, "--to", target])
    assert done.exit_code == 2 and "is there already" in done.output
