"""Drives an implementation of KIP-39 for conformance: `fencepost conform pinning/MODEL --impl pinning`."""

from impl.adapters.pinning.system import SYSTEM, PinningUnderTest

__all__ = ["SYSTEM", "PinningUnderTest"]
