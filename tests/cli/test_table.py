"""Tables and lines keep to the width of the terminal, and lose nothing by it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from click.testing import Result

from checker.cli.output.table import fold, table, width

ROWS = [
    ("claim", "kind", "verdict", "queries", "rests on"),
    ("committed_record_is_with_the_isr", "invariant", "proved", "48", ""),
    ("leader_and_copies_are_in_the_isr", "transition invariant", "not proved (not inductive: unreachable)", "1,047",
     "committed_record_is_with_the_isr, epoch_is_of_one_leader"),
]  # fmt: skip
RIGHT = (False, False, False, True, False)


def joined(lines: list[str]) -> str:
    return "".join("".join(lines).split())


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_a_table_fits(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = table(ROWS, RIGHT)
    assert max(map(len, lines)) <= columns
    assert sorted(joined(lines)) == sorted("".join("".join(row).replace(" ", "") for row in ROWS)), "nothing is lost"
    assert all(lines), "a cell below that is empty makes no empty line"


def test_numbers_stay_whole_and_their_titles_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("action", "driven", "refused by both"), ("receive_alter_isr_reply_of_the_leader", "1,234,567", "89")]
    assert table(rows, (False, True, True)) == [
        "  action                   driven  refused",
        "                                   by both",
        "  receive_alter_isr_    1,234,567       89",
        "  reply_of_the_leader",
    ]


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    assert width() == sys.maxsize
    assert len(table(ROWS, RIGHT)) == len(ROWS)


def test_a_long_name_is_broken_after_a_sign_within_it() -> None:
    assert fold("  see image.partitions.topicpartition0.leader_epoch there", 30, "  ") == [
        "  see", "    image.partitions.", "    topicpartition0.leader_", "    epoch", "    there",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "kraft/lossy"),
        ("check", "tests/models/philosophers.py", "--coverage"),
        ("prove", "docs/tutorial/lease.py", "--set", "broker_stops_first=true"),
        ("diff", "docs/tutorial/lease.py", "--against", "broker_stops_first=true"),
    ],
)
def test_what_commands_print_fits(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, run(*command).stdout.splitlines())) <= columns


def test_the_verdict_comes_last_after_coverage_and_counterexample(run: Callable[..., Result]) -> None:
    text = run("check", "docs/tutorial/lease.py", "--coverage").stdout
    assert text.index("  field ") < text.index("generated, ") < text.index("✗ invariant one_leader_serves")
    assert text.splitlines()[-1] == "violated: one_leader_serves"
