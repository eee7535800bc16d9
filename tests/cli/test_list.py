"""`fencepost list`: quick, and it names what there is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]


def test_designs_and_their_models_are_listed(run: Run) -> None:
    found = run("list")
    assert found.exit_code == 0
    names = [line.split()[0] for line in found.stdout.splitlines()]
    assert {"kraft/membership", "kraft/lossy", "kraft/twins", "kraft/isr"} <= set(names)
    assert {"constants", "switches", "settings", "properties"} <= set(names)
    for name in ("max_crashes", "kip_903", "shipped", "acknowledged_record_survives"):
        assert name in found.stdout
    assert "fencepost list group/join says" in found.stderr


def test_models_of_a_file_are_listed(run: Run) -> None:
    lines = run("list", "tests/models/bounds.py").stdout.splitlines()
    assert len([line for line in lines if line.startswith("tests/models/bounds.py/")]) == 9
    starts = {line.index(text) for line, text in zip(lines, ("Two counters", "A counter that a bound"), strict=False)}
    assert len(starts) == 1, "the descriptions stand in a column"


def test_inclusions_are_listed(run: Run) -> None:
    lines = [line.split() for line in run("list", "kraft").stdout.splitlines()]
    assert ["inclusions", "quorum_as_seen,", "membership_at_will,"] in [line[:3] for line in lines]


def test_a_model_is_described(run: Run) -> None:
    text = run("list", "tests/models/philosophers.py").stdout
    for line in (
        "constants (--set NAME=VALUE):\n  seats  3  How many philosophers sit at the table.",
        "design switches (--set NAME=VALUE):\n  last_picks_right_first  false  The philosopher",
        "settings (--setting NAME):\n  repaired  last_picks_right_first=true",
        "  put_forks_down    A philosopher has eaten, and puts both forks down.",
        "  deadlock_free                      deadlock  Some action is enabled",
    ):
        assert line in text


def test_a_model_without_properties_says_so(run: Run) -> None:
    assert run("list", "tests/models/verdicts.py/many_starts").stdout.endswith("properties:\n  none\n")


def test_two_settings_are_compared(run: Run) -> None:
    found = run("list", "kraft", "--setting", "kafka_3_9", "--against", "kafka_4_3")
    assert found.exit_code == 0
    lines = [line.split() for line in found.stdout.splitlines()]
    assert lines[0] == ["kafka_3_9", "kafka_4_3"]
    assert ["kafka_19975", "false", "true"] in [line[:3] for line in lines]
    assert "kip_903" not in {line[0] for line in lines if line}
    same = run("list", "kraft/membership", "--setting", "kafka_4_1", "--against", "kafka_4_2")
    assert same.stdout == "kafka_4_1 and kafka_4_2 are the same\n"


def test_settings_that_cannot_be_compared_get_one_message(run: Run) -> None:
    assert run("list", "kraft", "--setting", "shipped").exit_code == 2
    unknown = run("list", "kraft", "--setting", "shipped", "--against", "kafka_9")
    assert unknown.exit_code == 2 and "has no setting kafka_9" in unknown.stderr


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys; from checker.cli.main import fencepost\n"
        "try: fencepost(['list'])\n"
        "except SystemExit as end: assert not end.code\n"
        "print('heavy:', sorted({'numpy', 'llvmlite', 'rich', 'checker.explicit'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("heavy: []\n")
