"""Drives an implementation of the metadata quorum for conformance: `fencepost conform kraft/raft --impl raft`."""

from impl.adapters.raft.system import SYSTEM, RaftUnderTest

__all__ = ["SYSTEM", "RaftUnderTest"]
