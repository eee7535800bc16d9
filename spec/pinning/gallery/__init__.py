"""Bugs of Kafka's history and holes of KIP-39, each with the guard that keeps the model free of it."""

from __future__ import annotations

from checker.lang import Bug

BUGS: list[Bug] = []
