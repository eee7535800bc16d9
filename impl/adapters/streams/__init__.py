"""Drives an implementation of KIP-268 for conformance: `fencepost conform streams/MODEL --impl streams`."""

from impl.adapters.streams.system import SYSTEM, StreamsUnderTest

__all__ = ["SYSTEM", "StreamsUnderTest"]
