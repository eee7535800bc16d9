"""A corpus on Spark is judged as it is here, trace by trace."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from checker.lang.errors import SpecError
from checker.lang.loader import load
from checker.spark.corpus import Where, validate_on_spark
from checker.validate.corpus import CorpusOptions, Verdict, validate
from checker.validate.reader import Recorded, files_below
from tests.validate.walks import Walks, text

LOCAL = Where("local[2]")


@pytest.mark.parametrize("target", ["kraft/abstract_isr", "docs/tutorial/lease.py"])
def test_verdicts_coverage_and_rejected_traces_are_the_same(target: str, tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    model = load(str(root / target) if target.endswith(".py") else target)
    walks = Walks(model, seed=2)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(12):
        traces = [walks.walk(8) for _ in range(3)]
        traces.insert(0, walks.corrupted(traces[0]))
        content = b"".join(map(text, traces)) + b"{" * (number == 5)
        if number % 3:
            (corpus / f"t{number}.ndjson").write_bytes(content)
        else:
            (corpus / f"t{number}.ndjson.gz").write_bytes(gzip.compress(content)[: -9 if number == 6 else None])

    kept_here: dict[str, bytes] = {}
    kept: dict[str, bytes] = {}

    def keep(verdict: Verdict, trace: Recorded) -> None:
        kept_here[verdict.trace] = b"\n".join([*trace.source, b""])

    files = [(str(file), file.read_bytes()) for file in files_below([corpus])]
    here = validate(model, files, CorpusOptions(), keep=keep)
    there = validate_on_spark(model, [str(corpus)], CorpusOptions(), LOCAL, keep=kept.__setitem__)

    here.verdicts.sort(key=lambda verdict: verdict.trace)
    assert there.counts == here.counts and here.counts["rejected"] > 3 and here.counts["unreadable"] == 2
    assert there.verdicts == here.verdicts and kept == kept_here
    assert (there.events, there.endless, there.actions) == (here.events, here.endless, here.actions)
    assert there.transitions.tolist() == here.transitions.tolist()
    assert there.exit_code == 1 and replace(there, counts={**there.counts, "rejected": 0}).exit_code == 3


def test_files_that_are_not_there() -> None:
    model = load("kraft/membership")
    with pytest.raises(SpecError, match="there is no file"):
        validate_on_spark(model, ["none"], CorpusOptions(), LOCAL)
