"""docs/findings/kip-268-matrix.md is what the pins say now; a cell that is not as pinned is told from one that is."""

from __future__ import annotations

import pytest

from tests import streams_matrix
from tests.conftest import Pin
from tests.streams_matrix import CELLS, PAGE, page, pins


def test_it_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_it_has_the_cells_of_the_document() -> None:
    assert len(CELLS) == 28


def test_a_cell_that_is_not_as_pinned_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [Pin(p.target, p.setting, p.changes, {"violated": {"group_settles": 3}}, large=False) for p in pins()]
    first = next(iter(streams_matrix.representatives().items()))
    monkeypatch.setattr(streams_matrix, "COLUMNS", streams_matrix.COLUMNS[:1])
    monkeypatch.setattr(streams_matrix, "representatives", lambda: dict([first]))
    assert streams_matrix.run_all()
    monkeypatch.setattr(streams_matrix, "pins", lambda: wrong)
    assert not streams_matrix.run_all()
    assert capsys.readouterr().out.splitlines()[-1] == "0.10.0 to 0.10.1, no fault: holds, NOT as pinned"
