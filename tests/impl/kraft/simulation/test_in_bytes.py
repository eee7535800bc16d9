"""What simulated nodes say is read as it was written; a codec that loses something is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.server import controller_wire, quorum_wire
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import cluster_plan_of, plan_of
from tests.impl.kraft.simulation.in_bytes import main, run


def test_a_run_in_bytes_is_the_run_in_objects() -> None:
    found = run(plan_of(3))
    assert found.exchanged > 500
    assert found.digest == Simulation(plan_of(3)).go()


@pytest.mark.sample(1, verify=10)
@pytest.mark.parametrize("seed", range(100))
def test_what_nodes_of_a_cluster_say_goes_through_the_wire(seed: int) -> None:
    assert run(cluster_plan_of(seed)).exchanged > 1_000


def test_a_codec_that_loses_something_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = quorum_wire.read_response

    def lossy(*given: Any) -> Any:
        return replace(right(*given), error=ErrorCode.FENCED_LEADER_EPOCH)

    monkeypatch.setattr(quorum_wire, "read_response", lossy)
    with pytest.raises(BrokenRuleError, match=r"bytes: .*Response.* is read as"):
        run(plan_of(0))


def test_a_request_of_a_broker_is_noticed_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right: Callable[..., Any] = controller_wire.read_request
    monkeypatch.setattr(controller_wire, "read_request", lambda *given: replace(right(*given), broker_id=0))
    assert main(["--cluster", "--seeds", "1"]) == 1
    assert "seed 0: bytes: BrokerRegistrationRequest(broker_id=" in capsys.readouterr().out
