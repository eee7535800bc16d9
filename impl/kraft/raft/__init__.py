"""The replicated log of the controller quorum as a core without clock, network and disk (KIP-595, static voters).

`Raft` is handed messages, timers and what the disk has done, and asks for effects, which are carried out in order.
"""

from impl.kraft.raft.raft import Raft
from impl.kraft.raft.settings import RaftSettings

__all__ = ["Raft", "RaftSettings"]
