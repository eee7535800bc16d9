"""The gallery: every bug is found as it is declared, and its page is what the run gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli.commands import gallery_pages as pages
from checker.cli.main import fencepost
from checker.explicit.gallery import reproduce
from checker.lang import Bug, SpecError
from checker.lang.loader import load_spec
from checker.reference import switches
from spec.group.gallery import BUGS as GROUP
from spec.heartbeat.gallery import BUGS as HEARTBEAT
from spec.kraft import gallery, models
from spec.pinning.gallery import BUGS as PINNING
from spec.streams.gallery import BUGS as STREAMS
from tests.conftest import ROOT, pin_of
from tests.spec.retold import OutOfDate, retold

DESIGNS = {"group": GROUP, "heartbeat": HEARTBEAT, "kraft": gallery.BUGS, "pinning": PINNING, "streams": STREAMS}
EVERY = [(design, bug) for design, bugs in DESIGNS.items() for bug in bugs]


LAST_MEMBER = gallery.replication.LAST_MEMBER_STAYS


def page_of(name: str) -> str:
    return (ROOT / "docs" / "gallery" / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(ROOT)

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(fencepost, ["gallery", "--quiet", *map(str, arguments)], prog_name="fencepost")

    return call


@pytest.mark.parametrize(("design", "bug"), EVERY, ids=[bug.name for _, bug in EVERY])
def test_each_bug_is_pinned(design: str, bug: Bug) -> None:
    """The run of the pin compares the page, too."""
    pin = pin_of(design, bug)
    assert pin is not None, f"pin what fencepost check finds with {bug.constants} on {design}/{bug.model.name}"
    assert pin.expected["violated"][bug.violates.name] == bug.states


@pytest.mark.sample(10, verify=60)
@pytest.mark.parametrize(("design", "bug"), EVERY, ids=[bug.name for _, bug in EVERY])
def test_each_page_is_what_its_steps_give(design: str, bug: Bug) -> None:
    """All of a page but that no run is shorter, and what a lasso never does: pins see to these by a search."""
    page = page_of(bug.name)
    assert retold(design, bug, page) == page, "run `make docs`"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("the last one\nincluded", "and the last one"),
        ("| switched off | `", "| set | `"),
        ("and no shorter trace does it", "and a shorter trace does it"),
        ("Note over p1: 2 crash", "Note over p1: 2 shut_down"),
        ("A process dies", "A process is killed"),
        ("expired_leases {} → **{broker0}**", "expired_leases {} → **{broker1}**"),
        ("if Design.last_member_stays and not rest else", "if Design.last_member_stays else"),
        ("In `spec/kraft/decisions/partition.py`:", "In `spec/kraft/partition.py`:"),
    ],
)
def test_a_page_that_says_what_its_steps_do_not_give(said: str, instead: str) -> None:
    page = page_of("last-member")
    assert said in page
    assert retold("kraft", LAST_MEMBER, page.replace(said, instead)) == page


def test_a_page_whose_steps_cannot_be_taken() -> None:
    page = page_of("last-member").replace("**expire_lease**", "**lease_expires**")
    with pytest.raises(OutOfDate, match="step 3 is not taken"):
        retold("kraft", LAST_MEMBER, page)


def test_a_line_more_that_asks_for_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = switches.guards
    more = switches.Guard("require(Design.last_member_stays)", str(ROOT / "spec" / "kraft" / "another.py"), 1)
    monkeypatch.setattr(
        switches, "guards", lambda model, names: {n: [*found, more] for n, found in asked(model, names).items()}
    )
    assert more.text in retold("kraft", LAST_MEMBER, page_of("last-member"))


def test_the_index_lists_every_page(run: Callable[..., Result]) -> None:
    result = run("--check", "last-member")
    assert result.exit_code == 0, result.stdout


@pytest.mark.long("8 s of CPU")
def test_a_page_that_is_no_longer_true(run: Callable[..., Result], tmp_path: Path) -> None:
    arguments = ("--to", tmp_path, "last-member")
    assert "there is no page" in run("--check", *arguments).stdout
    assert run(*arguments).exit_code == 0
    assert run("--check", *arguments).exit_code == 0
    page = tmp_path / "last-member.md"
    page.write_text(page.read_text().replace("fence_expired", "fence"))
    result = run("--check", *arguments)
    assert (result.exit_code, "the page is out of date" in result.stdout) == (1, True)
    assert run(*arguments).exit_code == 0
    (tmp_path / "another.md").write_text("")
    result = run("--check", *arguments)
    assert (result.exit_code, "another.md" in result.stdout) == (1, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"states": 8}, "isr_is_never_empty violated in 7 states; declared: isr_is_never_empty violated in 8 states"),
        ({"constants": {"max_duplicates": 0, "max_crashes": 0}}, "isr_is_never_empty: holds; declared:"),
    ],
)
def test_a_bug_that_is_not_as_declared(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    changed = dataclasses.replace(LAST_MEMBER, **changes)
    monkeypatch.setattr(gallery, "BUGS", [changed])
    result = run("--to", tmp_path, changed.name)
    assert (result.exit_code, said in result.stdout) == (1, True), result.stdout
    assert not (tmp_path / "last-member.md").exists()


def test_a_name_that_nobody_has(run: Callable[..., Result]) -> None:
    result = run("kip-9")
    assert (result.exit_code, "there is no bug kip-9 in the gallery" in result.stderr) == (2, True)


def test_bugs_that_cannot_be() -> None:
    with pytest.raises(SpecError, match="which membership does not claim"):
        dataclasses.replace(gallery.replication.KIP_903, model=models.replication.MEMBERSHIP)
    with pytest.raises(SpecError, match="cannot be a bug's name"):
        dataclasses.replace(gallery.replication.KIP_841, name="../kip")


def test_what_never_happens_has_a_page_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lasso: the philosophers who starve."""
    monkeypatch.chdir(ROOT)
    spec = load_spec("tests/models/liveness_philosophers.py")
    model = spec.model("strong")
    starves = next(p for p in model.properties if p.name == "nobody_starves")
    bug = Bug("starving", "-", "-", "-", "-", model, {"last_picks_right_first": False}, starves, 4, "-")
    found = reproduce(spec, bug, threads=1)
    assert found.as_declared
    page = pages.page(found)
    assert "4 states, in the last of which it stays" in page
    assert "From here on it stays as it is, forever." in page
    assert "in step 4 no fair action is enabled" in page
