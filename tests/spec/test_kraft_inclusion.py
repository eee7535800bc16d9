"""What brokers and operators see of a quorum of messages and disks can be seen of one with elections in one step.

`raft` refines `quorum_log`, step by step; `quorum_as_seen` goes on from there, to `actions.quorum`. And what a
controller comes to with brokers that do as the document says, it comes to with some that ask for anything at any time.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace

import pytest

from checker.explicit.inclusion import Included, include
from checker.lang.inclusion import BoundInclusion, load_inclusion
from checker.lang.loader import load
from checker.running.limits import Limits
from tests.conftest import ROOT
from tests.planted import planted
from tests.spec.asked import not_offered

QUORUM_AS_SEEN = "kraft/quorum_as_seen"
MEMBERSHIP_AT_WILL, SHUTDOWN_AT_WILL = "kraft/membership_at_will", "kraft/shutdown_at_will"
PINS = tomllib.loads((ROOT / "tests" / "pins.toml").read_text(encoding="utf-8"))["inclusions"]


def judged(asked: BoundInclusion) -> Included:
    return include(asked, threads=2, limits=Limits())


def length(found: Included) -> int | None:
    return None if found.trace is None else len(found.trace.steps)


def pin(name: str, changes: str) -> None:
    """It comes out as it is pinned under these changes, or under a setting."""
    expected = PINS[name][changes]
    setting = changes if changes and "=" not in changes else None
    parts = changes.split(",") if "=" in changes else []
    found = judged(load_inclusion(name, dict(part.split("=", 1) for part in parts), setting))
    shown = {**found.to_json(), "states": list(found.states)}
    assert {name: shown[name] for name in expected} == expected


@pytest.mark.long("a model of 422,957 states")
def test_in_two_epochs() -> None:
    pin(QUORUM_AS_SEEN, "")


@pytest.mark.large("a model of 5,282,800 states: five minutes")
def test_in_three_epochs() -> None:
    pin(QUORUM_AS_SEEN, "max_epoch=3,max_failovers=4")


@pytest.mark.long("models of 237,292 to 2,752,202 states: a quarter of a minute each")
@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize(
    "model",
    ["membership", "isr_spurious", "shutdown", "rolling", "zombie", "unregistered", "recreated", "unfencing_ends"],
)
def test_of_a_controller(model: str) -> None:
    pin(f"kraft/{model}_at_will", "")


@pytest.mark.long("models of 237,292 to 1,362,131 states: up to half a minute each")
@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize(
    ("model", "changes", "requests"),
    [
        ("unfencing_ends", {}, 132),
        ("isr_spurious", {}, 150),
        ("unregistered", {}, 108),
        ("recreated", {}, 159),
        ("shutdown", {}, 1835),
        ("rolling", {"max_shutdowns": "1"}, 282),
    ],
    ids=str,
)
def test_what_is_asked_of_a_controller_may_be_asked_at_will(model: str, changes: dict[str, str], requests: int) -> None:
    """The inclusion compares what is decided, whatever is asked."""
    inclusion = load_inclusion(f"kraft/{model}_at_will", changes)
    assert not_offered(inclusion.model, inclusion.within) == (requests, [])


@pytest.mark.long("5 s of CPU")
def test_what_nobody_asks_at_will_is_missed() -> None:
    """Nobody shuts down in `open`."""
    model = load("kraft/shutdown", {"max_crashes": "0", "max_early_expiries": "0", "max_failovers": "0"})
    _, missed = not_offered(model, load("kraft/open"))
    assert any(one[0] == "beat" and one[3] for _, one in missed)


@pytest.mark.long("7 s of CPU")
def test_a_wish_that_nobody_has_at_will_is_missed() -> None:
    """The inclusion holds like that: what is seen comes about by other requests, too."""
    asked = load_inclusion("kraft/unfencing_ends_at_will")
    guard = "require(is_free(s, voter) and (not want_shut_down or Design.max_shutdowns > 0))"
    within = planted(asked.within, "heartbeat_at_will", guard, f"{guard}; require(not want_fence)")
    _, missed = not_offered(asked.model, within)
    assert missed and all(one[0] == "beat" and one[2] for _, one in missed)


@pytest.mark.large("models of 350,432 to 8,606,008 states: a minute to four each")
@pytest.mark.parametrize("model", ["isr_spurious", "shutdown", "rolling", "zombie"])
def test_of_a_controller_of_43(model: str) -> None:
    pin(f"kraft/{model}_at_will", "kafka_4_3_controller")


@dataclass(frozen=True)
class Planted:
    """In a function of the quorum's log, or of the other model (`within`), `new` stands for the fragment `old`."""

    side: str
    function: str
    old: str
    new: str
    states: int

    def __str__(self) -> str:
        return f"{self.function}, {self.side}"


PLANTED = [
    Planted("model", "grant", "require(is_as_good(standing.log, member.log))", "", 21),
    Planted("model", "committed_end", "2 * counted_up_to(member, name, end) > Design.controllers",
            "2 * counted_up_to(member, name, end) > 1", 13),
    Planted("model", "confirm", "require(holds_removal(member.log[: committed_end(member, leader)]))", "", 16),
    Planted("within", "claim", "require(controller.role == Role.ELECTED)",
            "require(controller.role == Role.ELECTED and controller.lags_since is None)", 17),
    Planted("within", "lacking_committed", "is_raft_leader(controller)", "controller.role == Role.ACTIVE", 17),
]  # fmt: skip
"""A vote for a worse log; one voter too few for a commit; a reply too early. And what a deposed leader may do."""


@pytest.mark.long("both models, explored again")
@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize("fault", PLANTED, ids=str)
def test_a_planted_fault_is_seen(fault: Planted) -> None:
    asked = load_inclusion(QUORUM_AS_SEEN)
    model = planted(getattr(asked, fault.side), fault.function, fault.old, fault.new)
    changed = replace(asked, model=model) if fault.side == "model" else replace(asked, within=model)
    assert length(judged(changed)) == fault.states


NEEDED = [
    (QUORUM_AS_SEEN, "renounce_epoch", 16),
    (QUORUM_AS_SEEN, "lose_batch", 16),
    (QUORUM_AS_SEEN, "claim", 7),
    (QUORUM_AS_SEEN, "confirm_removal", 11),
    (MEMBERSHIP_AT_WILL, "register_at_will", 7),
    (MEMBERSHIP_AT_WILL, "heartbeat_at_will", 9),
    (MEMBERSHIP_AT_WILL, "alter_isr_at_will", 21),
    (MEMBERSHIP_AT_WILL, "expire_lease", 10),
    (MEMBERSHIP_AT_WILL, "fence_two_expired", 21),
    (SHUTDOWN_AT_WILL, "expire_lease", 2),
    (SHUTDOWN_AT_WILL, "fail_over", 5),
    (SHUTDOWN_AT_WILL, "fence_expired", 6),
    ("kraft/rolling_at_will", "orderly_heartbeat", 4),
    ("kraft/rolling_at_will", "fail_over", 5),
    ("kraft/rolling_at_will", "register_at_will", 17),
    ("kraft/rolling_at_will", "alter_isr_at_will", 26),
    ("kraft/unregistered_at_will", "unregister", 2),
    ("kraft/recreated_at_will", "create_topic", 3),
    ("kraft/recreated_at_will", "delete_topic", 2),
]
"""Steps of the other model, and the states of a shortest trace that it cannot show without one."""


@pytest.mark.long("both models, explored again")
@pytest.mark.sample(1, verify=1)
@pytest.mark.parametrize(("name", "action", "states"), NEEDED)
def test_a_step_is_missed_where_it_is_needed(name: str, action: str, states: int) -> None:
    asked = load_inclusion(name)
    rest = [other for other in asked.within.model.actions if other.name != action]
    within = replace(asked.within, model=replace(asked.within.model, actions=rest))
    assert length(judged(replace(asked, within=within))) == states
