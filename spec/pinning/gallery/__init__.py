"""Bugs of Kafka's history and holes of KIP-39, each with the guard that keeps the model free of it.

`fencepost gallery` switches the guard off, looks for the counterexample and writes the page. What is said here of
Kafka's versions is from its issues and source.
"""

from __future__ import annotations

from spec.pinning.gallery import document, kafka

BUGS = [*document.BUGS, *kafka.BUGS]
