"""The command that runs a node: what it takes, and what it refuses in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from impl.kraft.server.__main__ import main
from impl.kraft.tools.parsing import USAGE

USAGE_LINE = "usage: python -m impl.kraft.server [--uvloop] PROPERTIES"


@pytest.mark.parametrize("given", [[], ["--uvloop"], ["--uvlop", "a"], ["a", "b"], ["a", "--uvloop"]])
def test_what_is_no_command_is_told_the_usage(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == USAGE
    assert capsys.readouterr().err.strip() == USAGE_LINE


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().err.strip() == USAGE_LINE


def test_uvloop_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    path = tmp_path / "node.properties"
    path.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=C\ncontroller.quorum.voters=1@localhost:1\n"
        f"listeners=C://localhost:1\nlistener.security.protocol.map=C:PLAINTEXT\nlog.dirs={tmp_path}/data\n"
    )
    assert main(["--uvloop", str(path)]) == USAGE
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"{path}: --uvloop: uvloop is not installed; pip install 'fencepost[fast]' installs it"
    )
