"""Assumptions on constants: constants that violate one are refused, wherever they come from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from checker.lang.assumptions import assumptions_of
from checker.lang.errors import SpecError
from checker.lang.loader import bind_model, load, load_spec
from tests.lang.bad_spec import HEADER

ASSUMED = """

@assume
def brokers_are_few() -> bool:
    '''there are one to three brokers.'''
    return 1 <= Design.brokers <= 3


@assume
def fencing_needs_two() -> bool:
    '''with fencing, another broker takes over.'''
    return not Design.fencing or Design.brokers > 1


@assume
def {name}() -> bool:
    '''something else.'''
    return {condition}


{rest}
"""
OWN = """
@init
def other() -> Cluster:
    return start()


MODELS = [
    Model("any", "-", start, [tick], [], settings={"alone": {"brokers": 1}}),
    Model("four", "-", start, [tick], [], constants={"brokers": 4}),
]
"""


def load_with(
    folder: Path, name: str = "fine", condition: str = "True", rest: str = "", model: str = "",
    changes: dict[str, str] | None = None, setting: str | None = None,
) -> None:  # fmt: skip
    file = folder / "assuming.py"
    source = HEADER + ASSUMED.format(name=name, condition=condition, rest=rest)
    file.write_text(source, encoding="utf-8")
    load(f"{file}{model}", changes, setting)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"changes": {"brokers": "4"}}, r"assuming.py has no meaning with brokers=4: there are one to three brokers\."),
        ({"changes": {"brokers": "0"}}, "brokers=0: there are one to three brokers"),
        ({"changes": {"brokers": "1"}}, "fencing=True, brokers=1: with fencing, another broker takes over"),
        ({"rest": OWN, "model": "/four"}, "assuming.py/four has no meaning with brokers=4"),
        ({"rest": OWN, "setting": "alone"}, "fencing=True, brokers=1: with fencing"),
        ({"condition": "Design.brokers"}, "the assumption fine gives 2, and no boolean"),
        ({"condition": "1 // (Design.brokers - 2) > 0"}, "fine cannot be evaluated: ZeroDivisionError"),
        ({"condition": "random.nothing"}, "fine cannot be evaluated: AttributeError"),
    ],
)
def test_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        load_with(tmp_path, **given)
    text = str(refused.value)
    assert re.search(message, text), text
    assert re.match(r".*/assuming\.py:\d+\n    (def|return) ", text), "the line of the assumption"


@pytest.mark.parametrize("changes", [{}, {"brokers": "3"}, {"brokers": "1", "fencing": "false"}])
def test_accepted(changes: dict[str, str], tmp_path: Path) -> None:
    load_with(tmp_path, rest=OWN, changes=changes)


def test_a_model_lists_assumptions_of_its_own(tmp_path: Path) -> None:
    rest = 'MODELS = [Model("own", "-", start, [tick], [], assumptions=[tick])]'
    with pytest.raises(SpecError, match="tick is not an assumption"):
        load_with(tmp_path, rest=rest)
    with pytest.raises(SpecError, match="takes parameters"):
        load_with(tmp_path, rest="@assume\ndef of_a_state(s: Cluster) -> bool:\n    return True")


KRAFT = [
    ("lifecycle", "brokers=6", "brokers_have_ids"),
    ("lifecycle", "brokers=0", "brokers_have_ids"),
    ("lifecycle", "controllers=2", "log_is_that_of_its_quorum"),
    ("lifecycle", "pending_batches=1", "log_is_that_of_its_quorum"),
    ("quorum", "pending_batches=0", "log_is_that_of_its_quorum"),
    ("quorum", "controllers=7", "quorum_is_odd"),
    ("timed", "request_timeout_ticks=1", "requests_can_arrive"),
    ("timed", "max_stall_ticks=0", "requests_can_arrive"),
    ("lifecycle", "spare_brokers=2", "broker_0_holds_a_replica"),
    ("lifecycle", "spare_brokers=-1", "broker_0_holds_a_replica"),
    ("lifecycle", "min_insync_replicas=3", "isr_can_have_its_minimum"),
    ("lifecycle", "min_insync_replicas=0", "isr_can_have_its_minimum"),
    ("reassignment", "min_insync_replicas=3", "isr_can_have_its_minimum"),
    ("lifecycle", "partitions=3", "partitions_are_one_or_two"),
    ("lifecycle", "partitions=0", "partitions_are_one_or_two"),
    ("twins", "second_processes=2", "one_second_process"),
    ("lifecycle", "lifecycle_in_flight=0", "requests_can_be_sent"),
    ("lifecycle", "alter_in_flight=0", "requests_can_be_sent"),
    ("lifecycle", "snapshots=2", "parts_are_there_or_not"),
    ("lifecycle", "listings=-1", "parts_are_there_or_not"),
    ("lossy", "max_crashes=-1", "budgets_are_counts"),
]


@pytest.mark.parametrize(("model", "change", "assumption"), KRAFT, ids=lambda part: str(part))
def test_constants_that_no_model_of_kraft_can_have(model: str, change: str, assumption: str) -> None:
    name, _, value = change.partition("=")
    with pytest.raises(SpecError, match=f"kraft/{model} has no meaning with .*{change}") as refused:
        load(f"kraft/{model}", {name: value})
    assert f"def {assumption}()" in str(refused.value)
    assert "/spec/kraft/" in refused.value.place.file


NUMBERS = [
    ("lifecycle", {"controllers": "3", "pending_batches": "1"}, "one_controller"),
    ("quorum", {"controllers": "1", "pending_batches": "0"}, "several_controllers"),
    ("raft_torn", {"controllers": "5"}, "three_controllers"),
]


@pytest.mark.parametrize(("model", "changes", "assumption"), NUMBERS)
def test_a_model_of_kraft_elects_controllers_or_does_not(model: str, changes: dict[str, str], assumption: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(f"kraft/{model}", changes)
    assert f"def {assumption}()" in str(refused.value)


def test_every_assumption_of_kraft_can_fail_and_every_model_has_some() -> None:
    spec = load_spec("kraft")
    by_model = {m.name: assumptions_of(m, bind_model(spec, m.name).info) for m in spec.models}
    assumed = {declared.name for found in by_model.values() for declared in found}
    assert assumed == {assumption for _, _, assumption in [*KRAFT, *NUMBERS]}
    assert all(by_model.values())
