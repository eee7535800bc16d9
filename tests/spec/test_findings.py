"""The pages of findings claim what the commands show.

A claim is a line `- `fencepost COMMAND` → OUTCOME`. Of `check` the outcome is a verdict, or violated `PROPERTY` in N
states; of any other command it is the last line of its output, up to a colon. A check that is pinned in
tests/pins.toml is compared with its pin, which the tests of the models run; everything else is run here, once for each
command.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli.main import fencepost
from tests.conftest import ROOT, read_pins

PAGES = sorted((ROOT / "docs" / "findings").glob("*.md"))
NO_BUGS = "No bugs"
NO_FINDINGS = ("Where the document is open or contradicts itself", "What is not modelled")
LABELS = ("Shipped", "Known", "Draft only", NO_BUGS, *NO_FINDINGS)
CLAIM = re.compile(r"^- `fencepost (?P<command>[^`]+)` → (?P<outcome>.+)$")


@dataclass(frozen=True)
class Claim:
    """A command without its name, and what is said to come of it, without the quotes of code."""

    command: str
    outcome: str


def claims(text: str) -> list[Claim]:
    """The claims of a page, in order."""
    found = [CLAIM.match(line) for line in text.splitlines()]
    return [Claim(m["command"], m["outcome"].replace("`", "")) for m in found if m is not None]


def outcomes(command: str) -> set[str]:
    """Everything that may truly be said of a command."""
    return pinned(command) or ran(command)


def pinned(command: str) -> set[str]:
    """Pinned results of a check that has no options but --set and --setting; empty if it is not pinned."""
    words = shlex.split(command)
    if words[0] != "check" or not set(words[2::2]) <= {"--set", "--setting"}:
        return set()
    given = list(zip(words[2::2], words[3::2], strict=True))
    changes = dict(value.split("=", 1) for option, value in given if option == "--set")
    setting = next((value for option, value in given if option == "--setting"), None)
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if (pin.target, pin.setting, pin.changes) == (words[1], setting, changes):
            return said(pin.expected["verdict"], pin.expected.get("violated", {}))
    return set()


@functools.cache
def ran(command: str) -> set[str]:
    """Verdicts that a command prints."""
    words = shlex.split(command)
    options = ["--quiet", "--json"] if words[0] == "check" else ["--quiet"]
    output = CliRunner().invoke(fencepost, [*words, *options], prog_name="fencepost").stdout
    if words[0] != "check":
        verdict = [line for line in output.splitlines() if line[:1].strip()][-1]  # a long one goes on, indented
        return {verdict.split(":")[0]}
    found = json.loads(output)
    return said(
        found["verdict"], {p["name"]: p["trace_length"] for p in found["properties"] if p["verdict"] == "violated"}
    )


def said(verdict: str, violated: dict[str, int]) -> set[str]:
    return {f"violated {name} in {states} states" for name, states in violated.items()} or {verdict}


@pytest.mark.sample(4, verify=60)
@pytest.mark.parametrize("claim", [c for page in PAGES for c in claims(page.read_text())], ids=lambda c: c.command)
def test_what_is_claimed_is_shown(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert claim.outcome in outcomes(claim.command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_finding_has_a_label_and_a_claim(page: Path) -> None:
    label = ""
    for section in re.split(r"^(?=##)", page.read_text(), flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        if heading.startswith("## "):
            label = heading.removeprefix("## ")
            assert label in LABELS
        else:
            assert label and claims(section), f"{heading}: a finding without a command that shows it"
            assert re.search(r"\bGuard:\s", section) or label == NO_BUGS, f"{heading}: a finding without its guard"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_summary_leads_to_every_finding(page: Path) -> None:
    """As GitHub names anchors: lower case, hyphens for blanks, no punctuation."""
    text = page.read_text()
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-"): heading for heading in headings}
    rows = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \|", text, flags=re.MULTILINE)
    assert [anchors.get(anchor) for _, anchor in rows] == headings == [title for title, _ in rows]
    assert set(re.findall(r"\]\(#(.+?)\)", text)) == set(anchors)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_goes_without_its_outcome(page: Path) -> None:
    named = re.findall(r"`fencepost ([^`]+)`", page.read_text())
    assert named == [claim.command for claim in claims(page.read_text())]


@pytest.mark.parametrize(
    ("command", "outcome", "is_true"),
    [
        ("check kraft/lossy --set kip_903=false", "violated acknowledged_record_survives in 25 states", True),
        ("check kraft/lossy --set kip_903=false", "violated acknowledged_record_survives in 24 states", False),
        ("check kraft/lossy --set kip_903=false", "violated leader_may_lead in 25 states", False),
        ("check kraft/lossy --set kip_903=false", "holds", False),
        ("check docs/tutorial/lease.py --property one_leader_serves", "violated one_leader_serves in 6 states", True),
        ("check docs/tutorial/lease.py --property one_leader_serves", "violated one_leader_serves in 5 states", False),
        ("check docs/tutorial/lease.py --set broker_stops_first=true --max-depth 2", "holds", False),
        ("reach docs/tutorial/lease.py 'len(s.serving) == 2'", "reached in 6 states", True),
        ("reach docs/tutorial/lease.py 'len(s.serving) == 2'", "reached in 5 states", False),
        ("diff docs/tutorial/lease.py --set broker_stops_first=true", "differs", True),
        ("diff docs/tutorial/lease.py --set broker_stops_first=true", "same", False),
    ],
)
def test_a_false_claim_is_found(command: str, outcome: str, is_true: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [claim] = claims(f"- `fencepost {command}` → {outcome}")
    assert (claim.outcome in outcomes(claim.command)) is is_true
