"""Drives an implementation of the consumer coordinator: `fencepost conform group/MODEL --impl group`."""

from impl.adapters.group.system import SYSTEM, GroupUnderTest

__all__ = ["SYSTEM", "GroupUnderTest"]
