"""Sessions in time: the dead have stopped (G1), nobody is suspected for nothing (L3)."""

from __future__ import annotations

from checker.lang import invariant, witness
from spec.group.timed import Session, fetches


@invariant(source="Consumer Coordinator, 8 (5), 10 (G1)")
def dead_has_stopped(s: Session) -> bool:
    """A consumer that is declared dead fetches no more."""
    return not s.dead or not fetches(s)


@invariant(source="Consumer Coordinator, 8 (L3)")
def nobody_dies_for_nothing(s: Session) -> bool:
    """A consumer that was neither paused nor cut off is not declared dead."""
    return not s.dead or s.cuts > 0 or s.pause > 0


@invariant(source="Consumer Coordinator, 10 (L3)")
def nobody_stops_for_nothing(s: Session) -> bool:
    """A consumer that was neither paused nor cut off does not stop."""
    return not s.stopped or s.cuts > 0 or s.pause > 0


@witness
def declared_dead(s: Session) -> bool:
    """A consumer is declared dead."""
    return s.dead


@witness
def stopped(s: Session) -> bool:
    """A consumer has stopped."""
    return s.stopped
