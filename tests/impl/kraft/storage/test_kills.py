"""Processes that are killed while they write to the real disk lose nothing that was flushed."""

from __future__ import annotations

import pytest

from tests.impl.kraft.storage.kills import main


@pytest.mark.long("starts and kills processes")
def test_killed_processes_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "5"]) == 0
    assert capsys.readouterr().out.startswith("5 of 5 processes killed")
