"""What goes wrong between Fencepost and a JVM, and with what Kafka does in it."""

from __future__ import annotations


class ApacheError(Exception):
    """The released classes cannot be run, or their JVM is gone. The message says what to do."""

    system_is_lost = True  # whoever drives them has no verdict


class FaultError(AssertionError):
    """Kafka's fault handler was called: a real controller would have ended, or raised an alarm."""
