"""What findings say of Kafka is seen on real clusters of it; and what is no finding's name is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.apache.recording.record import VERSION
from tests.impl.apache.reproduced import KNOWN, main, reproduced
from tests.impl.kraft.released import released

FINDINGS = Path(__file__).parents[3] / "docs" / "findings" / "kip-631.md"


@released
@pytest.mark.large("minutes: clusters of Kafka, and leases that run out")
@pytest.mark.parametrize("name", KNOWN)
def test_it_is_there(name: str, tmp_path: Path) -> None:
    seen = reproduced(name, VERSION, tmp_path / "cluster")
    assert seen.is_there, seen.said


@pytest.mark.parametrize("name", KNOWN)
def test_it_has_a_page(name: str) -> None:
    """The summary's links lead to it: tests/spec/test_findings.py."""
    assert f"](#{name})" in FINDINGS.read_text()


def test_what_is_no_finding_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["a-fenced-holder"])
    assert ended.value.code == 2 and "known are a-fenced-holder-keeps-its-id" in capsys.readouterr().err
