"""Errors that a caller of the core meets; a message from another node raises the first only."""

from __future__ import annotations


class CommittedTruncationError(Exception):
    """The leader lacks what is committed: the process must end, for nothing that it does can be right any more."""


class NotLeadingError(Exception):
    """The node does not lead the epoch for which its controller has decided something: the controller renounces."""
