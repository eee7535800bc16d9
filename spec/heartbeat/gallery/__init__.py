"""Bugs of KIP-343 and of what Kafka shipped in its stead, each with the guard that repairs it."""

from checker.lang import Bug

BUGS: list[Bug] = []
