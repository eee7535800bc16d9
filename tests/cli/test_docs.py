"""The pages show what the command prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

ROOT = Path(__file__).parent.parent.parent


def unnumbered(text: str) -> str:
    """Text without the numbers of a spec's lines, which every edit above them moves."""
    return re.sub(r"(\.py):\d+", r"\1", text)


def test_the_page_on_counterexamples_shows_a_real_one(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    printed = run("check", "kraft/lossy", "--set", "kafka_13173=false", "--quiet").stdout
    page = (ROOT / "docs" / "reading-a-counterexample.md").read_text()
    shown = page.split("```\n")[1]
    assert unnumbered(shown) == unnumbered(
        printed[printed.index("kraft/lossy  ✗") :].rpartition("\n\nviolated: ")[0] + "\n"
    )


@pytest.mark.long("7 s of CPU")
def test_the_readme_shows_steps_of_a_real_one(run: Callable[..., Result]) -> None:
    printed = unnumbered(run("check", "kraft/lossy", "--set", "kip_903=false", "--quiet").stdout)
    readme = (ROOT / "README.md").read_text()
    block = readme.split("$ fencepost check kraft/lossy --set kip_903=false\n")[1].split("\n$ ")[0]
    for line in unnumbered(block).splitlines():
        assert line in printed or line.strip() == "..."


def test_the_page_on_comparing_shows_a_real_one(run: Callable[..., Result]) -> None:
    command = "diff docs/tutorial/lease.py --against broker_stops_first=true"
    page = (ROOT / "docs" / "comparing-settings.md").read_text()
    shown = page.split(f"$ fencepost {command}\n")[1].split("\n```")[0].splitlines()
    printed = run(*command.split(), "--quiet").stdout.rstrip("\n").splitlines()
    assert [line for line in shown if " s in all" not in line] == [line for line in printed if " s in all" not in line]


def test_the_page_on_comparing_shows_a_real_sweep(run: Callable[..., Result]) -> None:
    command = "check docs/tutorial/lease.py --set broker_stops_first=true,false"
    page = (ROOT / "docs" / "comparing-settings.md").read_text()
    shown = page.split(f"$ fencepost {command}\n")[1].split("\n```")[0]
    printed = run(*command.split(), "--quiet").stdout.rstrip("\n")
    assert re.sub(r"\d+\.\d\d", "S", shown) == re.sub(r"\d+\.\d\d", "S", printed)


_FILE = re.compile(r"(?:\]\(|`)([\w./-]+\.(?:py|md|toml))[#)`]")


@pytest.mark.parametrize(
    "page",
    sorted(
        p.relative_to(ROOT).as_posix()
        for p in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    ),
)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    """A link is relative to its page, a path in backquotes to the root; a bare name is of some file in the tree."""
    assert not [name for name in _FILE.findall((ROOT / page).read_text(encoding="utf-8")) if not _is_there(page, name)]


def _is_there(page: str, name: str) -> bool:
    if "NAME" in name:  # stands for any
        return True
    rooms = (ROOT / page).parent, ROOT, ROOT / "checker"
    if any((room / name).is_file() for room in rooms):
        return True
    tree = ("checker", "spec", "impl", "traces", "tests", "docs")
    return any(path.as_posix().endswith(f"/{name}") for top in tree for path in (ROOT / top).rglob(Path(name).name))
