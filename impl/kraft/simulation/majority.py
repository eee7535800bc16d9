"""After the quiet: a leader that resigns has a successor soon, and a majority goes on by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from impl.kraft.raft.roles import Leader
from impl.kraft.simulation.invariants import NotRecoveredError
from impl.kraft.simulation.swarm import QUIET_MS

if TYPE_CHECKING:
    from impl.kraft.simulation.simulation import Simulation


def go_on(run: Simulation) -> None:
    """Of a run that has recovered. Raises NotRecoveredError."""
    hand_over(run)
    run.run_until(run.now_ms + QUIET_MS // 2)
    without_a_minority(run)


def active(run: Simulation) -> list[int]:
    return [number for number, node in enumerate(run.nodes) if node.claimed is not None]


def hand_over(run: Simulation) -> None:
    """The leader resigns, and another one is active soon."""
    (before,) = active(run)
    epoch = run.rules.persisted[before].epoch
    run.resign_somewhere()
    run.run_until(run.now_ms + run.handover_ms)
    after = active(run)
    if not after or run.rules.persisted[after[0]].epoch <= epoch:
        raise NotRecoveredError(
            f"nobody takes over: {run.handover_ms} ms after {before} has resigned {after} are active"
        )


def without_a_minority(run: Simulation) -> None:
    """As many are switched off as may be, the leader among them; the others elect one, who commits."""
    voters = run.swarm.voters
    leader = next(n for n, node in enumerate(run.nodes) if node.raft and isinstance(node.raft.voter.role, Leader))
    for number in [(leader + at) % voters for at in range((voters - 1) // 2)]:
        run.switch_off(number)
    run.run_until(run.now_ms + QUIET_MS // 2)
    if not active(run):
        raise NotRecoveredError(f"a majority elects nobody: in {QUIET_MS // 2} ms without a minority")
    run.append_somewhere(run.rng)
    run.run_until(run.now_ms + QUIET_MS // 2)
    (number,) = active(run)
    end = run.rules.logs[number].end_offset
    if run.rules.applied[number] < end:
        raise NotRecoveredError(f"a majority commits nothing: {run.rules.applied[number]} of {end}")
