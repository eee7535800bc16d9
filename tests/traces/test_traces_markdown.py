"""Traces in Markdown: the table of steps, the state at the start, and Mermaid's text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from traces import Column, Step, Trace, Violation
from traces.markdown import escaped, first_state, sequence_diagram, steps_table
from traces.trace import Value

ALIVE: Value = {"leader": "broker0", "up": True}
DEAD: Value = {"leader": "broker0", "up": False}


@pytest.fixture
def trace() -> Trace:
    """Broker 0 dies, the network forgets something, and the controller tells broker 1 that it leads."""
    states: list[dict[str, Value]] = [
        {"view": "broker0", "brokers": {"#map": [["broker0", ALIVE], ["broker1", ALIVE]]}, "sent": {"#set": ["a|b"]}},
        {"view": "broker0", "brokers": {"#map": [["broker0", DEAD], ["broker1", ALIVE]]}, "sent": {"#set": ["a|b"]}},
        {"view": "broker0", "brokers": {"#map": [["broker0", DEAD], ["broker1", ALIVE]]}, "sent": {"#set": []}},
        {
            "view": "broker1",
            "brokers": {"#map": [["broker0", DEAD], ["broker1", {"leader": "broker1", "up": True}]]},
            "sent": {"#set": []},
        },
    ]
    steps = (
        Step(1, "init", "", {}, states[0]),
        Step(2, "crash", "broker 0", {"broker": "broker0"}, states[1], ("A broker dies: `kill -9`",)),
        Step(3, "lose", "network", {}, states[2]),
        Step(4, "elect", "active controller", {"leader": "broker1"}, states[3], ("LeaderAndIsr v5",)),
    )
    columns = (
        Column("controller", (("view", ("view",)),)),
        Column("broker 0", (("", ("brokers", "broker0")),)),
        Column("broker 1", (("", ("brokers", "broker1")),)),
        Column("shared", (("sent", ("sent",)),)),
    )
    broken = Violation("never_elects", "invariant", "No election.", "-")
    return Trace("small", {}, steps, broken, columns=columns)


def test_the_table_of_steps(trace: Trace) -> None:
    assert steps_table(trace).splitlines() == [
        "| # | step | what changes |",
        "|--:|---|---|",
        "| 2 | broker 0: **crash**(broker=broker0)<br>A broker dies: `kill -9` | *broker 0*: up true → **false** |",
        "| 3 | network: **lose** | *shared*: sent {a\\|b} → **{}** |",
        "| ✗ 4 | active controller: **elect**(leader=broker1)<br>LeaderAndIsr v5 "
        "| *controller*: view broker0 → **broker1**<br>*broker 1*: leader broker0 → **broker1** |",
    ]


def test_a_long_value_that_was_there_before_is_left_out(trace: Trace) -> None:
    long = {**(trace.steps[1].state or {}), "view": "b" * 40}
    steps = (trace.steps[0], replace(trace.steps[1], state=long), *trace.steps[2:])
    table = steps_table(replace(trace, steps=steps))
    assert f"view broker0 → **{'b' * 40}**" in table
    assert "*controller*: view → **broker0**" in table


def test_a_loop_is_marked_and_told(trace: Trace) -> None:
    lines = steps_table(replace(trace, loop=2)).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| 2", "| ↻ 3", "| 4"]
    assert lines[-1] == "From here it goes back to step 3, and so on, forever."
    assert steps_table(replace(trace, loop=3)).endswith("From here on it stays as it is, forever.")


def test_a_step_that_broke(trace: Trace) -> None:
    broken = replace(trace, steps=(*trace.steps[:3], replace(trace.steps[3], state=None)))
    assert "It broke while it ran: there is no state after it." in steps_table(broken)


def test_the_state_at_the_start(trace: Trace) -> None:
    assert first_state(trace).splitlines()[2:] == [
        "| controller | view broker0 |",
        "| broker 0 | leader broker0 · up true |",
        "| broker 1 | leader broker0 · up true |",
        "| shared | sent {a\\|b} |",
    ]


def test_the_sequence_diagram(trace: Trace) -> None:
    """A process that acts has a lane; a step done to a process that never acts is a note where it is done."""
    assert sequence_diagram(trace).splitlines() == [
        "sequenceDiagram",
        "    participant p0 as controller",
        "    participant p1 as broker 0",
        "    participant p2 as network",
        "    Note over p1: 2 crash",
        "    Note over p2: 3 lose",
        "    Note over p0: 4 elect",
    ]
    acts = replace(trace.steps[2], action="fetch", actor="broker 1")
    assert sequence_diagram(replace(trace, steps=(*trace.steps[:2], acts, trace.steps[3]))).splitlines() == [
        "sequenceDiagram",
        "    participant p0 as controller",
        "    participant p1 as broker 0",
        "    participant p2 as broker 1",
        "    Note over p1: 2 crash",
        "    Note over p2: 3 fetch",
        "    p0->>p2: 4 elect",
    ]


def test_what_has_a_meaning_in_markdown_is_escaped() -> None:
    assert escaped("a * b | <c> & [d]\n e") == "a \\* b \\| &lt;c&gt; &amp; \\[d\\] e"
