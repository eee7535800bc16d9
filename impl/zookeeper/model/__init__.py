"""A ZooKeeper in memory, behind the same seam as the real one: for conformance, simulation and tests.

`tree` is the tree and the effect of each write on it; `service` adds servers that lag, sessions, watches and
connections. tests/impl/zookeeper holds it to a real server, operation by operation.
"""

from impl.zookeeper.model.service import Client, ModelError, ZooKeeper
from impl.zookeeper.model.tree import Tree, Znode

__all__ = ["Client", "ModelError", "Tree", "Znode", "ZooKeeper"]
