"""A node of the controller quorum: `impl.kraft.raft` below, `impl.kraft.controller` above."""

from impl.kraft.node.codec import RecordCodec
from impl.kraft.node.effects import NodeEffect, NodeEffects
from impl.kraft.node.node import Node

__all__ = ["Node", "NodeEffect", "NodeEffects", "RecordCodec"]
