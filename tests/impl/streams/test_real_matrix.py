"""Cells of the document's test matrix with an application of real Kafka Streams beside our member on a real Kafka."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from impl.streams.matrix import Cell
from tests.cluster.kafka import missing
from tests.impl.streams.real_cells import REAL_CELLS, Found, Stage, Step, key, steps, table
from tests.impl.streams.real_releases import missing_applications

_NO_KIO = "" if importlib.util.find_spec("kio") else "there is no kio (pip install fencepost[streams])"
WHY = missing() or missing_applications() or _NO_KIO
if not WHY:
    from tests.impl.streams.real_group import Broker, broker
    from tests.impl.streams.real_matrix import main, recorded, upgrade

with_applications = pytest.mark.skipif(bool(WHY), reason=WHY or "there are applications of Kafka Streams")


def test_who_follows_is_bounced_first_and_twice_where_the_old_release_cannot_probe() -> None:
    held, free = Stage("1.2", held=True), Stage("1.2")
    assert list(steps(Cell("1.1", "1.2"), real_leads=True)) == [
        Step(False, held, 2, 2),
        Step(True, held, 2, 2),
        Step(False, free, 2, 3),
        Step(True, free, 3, 3),
    ]
    probing = [Step(True, Stage("post-1.2"), 3, 3), Step(False, Stage("post-1.2"), 4, 4)]
    assert list(steps(Cell("1.2", "post-1.2"), real_leads=False)) == probing
    assert len(REAL_CELLS) == 15


def test_the_table_says_what_broke_and_what_was_not_run() -> None:
    cell = Cell("1.2", "post-1.2")
    found: dict[str, Found] = {
        key(cell, True): {"version": 4, "rebalances": 2},
        key(cell, False): {"broken": "it died"},
    }
    *_, last, _, note = table(found).splitlines()
    assert last == "| 1.2 |  |  |  |  | 4, 2 / (1) |"
    assert note == "(1) it died"
    assert "not run / not run" in table(found)


@with_applications
def test_what_is_in_a_file_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found"
    found = [{"run": key(Cell("1.1", "1.2"), leads), "version": 3, "rebalances": 1} for leads in (True, False)]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in found))
    assert main(["--results", str(file), "--from", "1.1", "--to", "1.2"]) == 0
    assert "| 1.1 |  |  |  | 3, 1 / 3, 1 | not run / not run |" in capsys.readouterr().out


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with broker() as found:
        yield found


RUNS = [(cell, leads) for cell in REAL_CELLS for leads in (True, False)]
SAMPLE = {(Cell("1.1", "1.2"), False), (Cell("1.2", "post-1.2"), True)}


@with_applications
@pytest.mark.xdist_group("streams_broker")
@pytest.mark.parametrize(
    ("cell", "real_leads"),
    [
        pytest.param(
            cell,
            leads,
            marks=pytest.mark.long("JVMs, one after the other")
            if (cell, leads) in SAMPLE
            else pytest.mark.large("JVMs, one after the other: half a minute each"),
        )
        for cell, leads in RUNS
    ],
    ids=[key(*run) for run in RUNS],
)
def test_a_group_with_a_real_application_is_upgraded(
    kafka: Broker, cell: Cell, real_leads: bool, tmp_path: Path
) -> None:
    run = recorded(tmp_path / "traces", cell)
    found = asyncio.run(upgrade(kafka, cell, real_leads, tmp_path, run))
    assert "broken" not in found, found
    run.assert_accepted()
