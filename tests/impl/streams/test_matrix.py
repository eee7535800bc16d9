"""The document's test matrix, run by emulated members, with faults and mistakes; and pairs of releases that shipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from impl.streams.errors import Cause
from impl.streams.matrix import CELLS, Cell, Disturbance, Outcome, Upgrade, text_table, worst
from impl.streams.tool import main

PROBING = Cell("1.2", "post-1.2")
MISTAKES = {
    Disturbance.FORGOTTEN: {Cause.FUTURE_SUBSCRIPTION},
    Disturbance.EARLY: {Cause.FUTURE_SUBSCRIPTION},
    Disturbance.UNFIXED: {Cause.FUTURE_SUBSCRIPTION, Cause.CANNOT_READ},
}
"""What old members die of: as leaders, and of what a leader of 1.1.0 answers version 1 with."""


def version(cell: Cell) -> int:
    """The version of the new line."""
    return {"1.2": 3, "post-1.2": 4}.get(cell.new, 2)


@pytest.mark.long("every cell in three orders and by four seeds: some seconds")
def test_every_cell_of_the_document_holds() -> None:
    """After the last bounce one rebalance, and where versions are probed three."""
    found = {cell: worst(cell) for cell in CELLS}
    assert len(CELLS) == 28
    assert found == {cell: Outcome("", (), version(cell), 3 if cell == PROBING else 1) for cell in CELLS}


@pytest.mark.parametrize("cell", [Cell("0.10.0", "1.1"), PROBING], ids=str)
def test_a_cell_holds_in_one_order(cell: Cell) -> None:
    assert Upgrade(cell).run().broken == ""


@pytest.mark.long("each with three orders, three times, and four seeds: some seconds")
@pytest.mark.parametrize("disturbance", Disturbance, ids=lambda one: one.option)
@pytest.mark.parametrize("cell", [Cell("0.10.0", "1.1"), PROBING], ids=str)
def test_a_cell_with_a_fault_or_a_mistake(cell: Cell, disturbance: Disturbance) -> None:
    """Faults are survived. Without upgrade.from or the back port old members die; left in place, it holds all back."""
    outcome = worst(cell, disturbance)
    if cell.has_two_bounces and disturbance in MISTAKES:
        assert set(outcome.deaths) == MISTAKES[disturbance] and outcome.broken.startswith("V1: as leader")
    else:
        held = disturbance is Disturbance.LEFT and cell.has_two_bounces
        assert (outcome.broken, outcome.version) == ("", 1 if held else version(cell))


@pytest.mark.long("three orders and four seeds")
def test_all_old_members_die_where_upgrade_from_is_forgotten() -> None:
    outcome = worst(Cell("0.10.2", "1.2"), Disturbance.FORGOTTEN)
    assert outcome.deaths == (Cause.FUTURE_SUBSCRIPTION,) * 4, (
        "both threads of the processes that are not bounced first"
    )


@pytest.mark.long("three orders and four seeds")
@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("2.0", "2.1", Cause.CANNOT_ENCODE),  # KAFKA-8649
        ("2.0", "2.3.1", None),
        ("2.3.1", "2.4", None),
        ("2.6.0", "2.6.1", None),
        ("2.6.0", "3.9", None),
    ],
)
def test_releases_that_shipped(old: str, new: str, cause: Cause | None) -> None:
    outcome = worst(Cell(old, new))
    assert set(outcome.deaths) == ({cause} if cause else set()) and bool(outcome.broken) == bool(cause)


def test_the_table_says_what_does_not_hold() -> None:
    cells = {Cell("0.10.0", "0.10.1"): Outcome("V1: why", (Cause.CANNOT_READ,), 2, 1), PROBING: Outcome("", (), 4, 2)}
    lines = text_table(cells).splitlines()
    assert lines[1] == "0.10.0.x   (1)" and lines[7].split() == ["1.2.x", "4,", "2"]
    assert lines[-1] == "(1) V1: why (1 die)"


# The command.


def test_decode_prints_fields(capsys: pytest.CaptureFixture[str]) -> None:
    process = "0102030405060708 1112131415161718"
    tasks = "00000001 00000000 00000001 00000001 00000002 00000003"
    assert main(["decode", f"00000003 00000004 {process} {tasks} 00000004 683a3830"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "subscription",
        "  used version          3, the newest of 2.0",
        "  supported version     4",
        "  process id            01020304-0506-0708-1112-131415161718",
        "  previous tasks        0_1",
        "  standby tasks         2_3",
        "  user endpoint         h:80",
    ]
    hosts = "00000001 0001 68 00000050 00000001 0001 74 00000001"
    standby = "00000001 00000002 00000003 00000001 0001 74 00000003"
    assert main(["decode", "--as", "assignment", f"00000002 00000001 00000000 00000001 {standby} {hosts}"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "assignment",
        "  used version          2, the newest of 0.10.1, 0.10.1.2, 0.10.2.1, 0.10.2.2, 0.11.0.2, 0.11.0.3, 1.0.1, "
        "1.0.2, 1.1.0, 1.1.1",
        "  supported version     not said",
        "  active tasks          0_1",
        "  standby tasks         2_3 (t-3)",
        "  partitions by host    h:80: t-1",
    ]


def test_decode_of_a_version_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--as", "subscription", "0000000c 0000000c 00"]) == 0
    assert "used version          12, of no release\n" in capsys.readouterr().out
    assert main(["decode", "--simulated", "00000004 00000004 00000000 00000000 00000000"]) == 0
    assert "used version          4, simulated: laid out as 3\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["decode", "00000004"], 1, "not the user data of a subscription: byte 4: supported version: 4 bytes expected"),
        (["decode", "0g"], 2, "0g: not hexadecimal digits in pairs"),
        (["matrix", "--with", "rain"], 2, "--with rain: known are none, impatient, "),
        (["matrix", "--from", "2.0"], 2, "--from and --to go together"),
        (["matrix", "--from", "2.0", "--to", "2.9"], 2, "2.9: known are 0.10.0, "),
        (["matrix", "--from", "2.4", "--to", "2.0"], 2, "2.4 to 2.0: no upgrade"),
        ([], 2, "COMMAND"),
    ],
)
def test_what_the_command_refuses(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert says in capsys.readouterr().err


def test_a_member_that_is_not_configured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.properties"
    file.write_text("application.id=app\nrelease=2.0\nupgrade.from=2.0\n")
    assert main(["member", str(file), "--bootstrap-servers", "h:1", "--topics", "t"]) == 2
    assert "upgrade.from=2.0: 2.0 takes null, 0.10.0, 0.10.1" in capsys.readouterr().err


@pytest.mark.long("twelve runs of a cell, twice")
def test_one_cell_of_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--from", "0.10.0", "--to", "1.1"]) == 0
    assert capsys.readouterr().out == (
        "none\n\n0.10.0 to 1.1: holds; version 2, 1 rebalances after the last bounce\n\n"
    )
    assert main(["matrix", "--from", "0.10.0", "--to", "1.1", "--with", "unfixed", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is False and set(found["deaths"]) == {"FUTURE_SUBSCRIPTION", "CANNOT_READ"}
