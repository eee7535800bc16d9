"""Holes of the consumer coordinator's document and of its first repairs, each with the guard that closes it.

`fencepost gallery` switches the guard off, looks for the counterexample and writes the page. What is said here of
Kafka's versions is from its issues and source.
"""

from __future__ import annotations

from spec.group.gallery import rebalances, sessions

BUGS = [*rebalances.BUGS, *sessions.BUGS]
"""In the order in which the page of findings has them."""
