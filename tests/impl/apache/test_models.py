"""Models explored with a released controller: what is said of each, and that one which was explored is not again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from checker.verdicts import CONFORMS, DIVERGES, INCOMPLETE
from tests.cluster import stopping
from tests.impl.apache import models

EXPLORED = {
    "model": "quorum", "verdict": INCOMPLETE, "reason": "time limit of 5 s", "driven": 9, "refusals": 3, "probes": 4,
    "pairs": 5, "depth": 2, "places": [],
    "spec": {"states": None, "states_covered": 2, "transitions": None, "transitions_covered": 1_234},
}  # fmt: skip
WHOLE = {**EXPLORED, "verdict": CONFORMS, "reason": "", "spec": {"transitions": 1_234, "transitions_covered": 1_234}}
DIVERGING = {**EXPLORED, "verdict": DIVERGES, "reason": "It does more.", "places": ["image.topic", "log"]}
NONE = {"model": "raft", "verdict": models.NOT_DRIVEN, "reason": "kraft/raft has no setting kafka_9_9\nhint: another"}


def test_a_row_says_how_much_was_driven_and_what_came() -> None:
    assert models.written(EXPLORED) == "| `kraft/quorum` | 1,234, to depth 2 | 7 | incomplete: time limit of 5 s |"
    assert models.written(WHOLE) == "| `kraft/quorum` | 1,234 of 1,234 | 7 | conforms |"
    assert models.written(DIVERGING).endswith("| diverges: It does more. (image.topic, log) |")
    assert models.written(NONE) == "| `kraft/raft` | | | kraft/raft has no setting kafka_9_9 |"


def test_what_was_explored_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def explored(model: str, *_arguments: object) -> dict[str, object]:
        ran.append(model)
        return {**WHOLE, "model": model}

    monkeypatch.setattr(models, "explored", explored)
    monkeypatch.setattr(models, "missing", lambda _version: "")
    done = tmp_path / "done.ndjson"
    assert models.main(["--done", str(done), "quorum"]) == 0
    assert models.main(["--done", str(done), "quorum", "isr"]) == 0
    assert ran == ["quorum", "isr"]
    assert [json.loads(line)["model"] for line in done.read_text().splitlines()] == ran
    assert capsys.readouterr().out.count("conforms") == 3
    monkeypatch.setattr(models, "explored", lambda *_arguments: DIVERGING)
    assert models.main(["zombie"]) == 1


def test_what_was_not_explored_to_its_end_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(command: list[str]) -> tuple[str, str]:
        ran.append(command[command.index("--quiet") + 1 :])
        saved = Path(ran[-1][1])
        saved.mkdir(parents=True, exist_ok=True)
        (saved / "manifest.json").touch()
        line = EXPLORED if len(ran) == 1 else WHOLE
        return json.dumps({**line, "divergence": None}), ""

    monkeypatch.setattr(models, "outputs_of", run)
    monkeypatch.setattr(models, "missing", lambda _version: "")
    done, saved = str(tmp_path / "done.ndjson"), tmp_path / "saved"
    for _ in range(3):
        assert models.main(["--done", done, "--checkpoints", str(saved), "--release", "4.3.1", "quorum"]) == 0
    directory = str(saved / "apache-kafka-4.3.1" / "quorum")
    assert ran == [["--checkpoint", directory], ["--resume", directory]]


def test_a_model_that_is_explored_ends_when_this_process_is_asked_to_stop() -> None:
    with stopping.on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        assert models.outputs_of(["sleep", "600"]) == ("", "")
