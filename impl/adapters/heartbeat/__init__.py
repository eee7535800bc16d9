"""Drives an implementation of KIP-343 for conformance: `fencepost conform heartbeat/MODEL --impl heartbeat`."""

from impl.adapters.heartbeat.system import SYSTEM, HeartbeatUnderTest

__all__ = ["SYSTEM", "HeartbeatUnderTest"]
