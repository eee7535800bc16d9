"""The fields of the quorum under test, and what each of them is: what its key is derived by.

Epochs and offsets are bounded by the model, and the clock stands still: nearly everything stands for itself. A field
that has no rule here is part of the key as it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache

from checker.conform.graph import Elsewhere, Graph, Rules, plain
from checker.conform.system import Structure
from impl.adapters.raft.cluster import Host, Quorum
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.raft import Raft
from impl.kraft.raft.roles import Candidate, Follower, Leader, Parked, Prospective, Receiving, Resigned, Unattached
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.epochs import EpochHistory

SHOWN = Elsewhere("what is observed")
_VALUES = (
    Host, Voter, RaftSettings, ElectionState, LogEnds, EpochHistory, Unattached, Prospective, Candidate, Leader,
    Resigned, Follower, Parked, Receiving, VoteRequest, VoteResponse, BeginQuorumEpochRequest, EndQuorumEpochRequest,
    FetchRequest, FetchResponse, FetchSnapshotRequest,
)  # fmt: skip
"""Of these every field stands for itself."""
_OF_A_HOST: Rules = {
    Raft: {"voter": plain},
    **{kind: {field.name: plain for field in fields(kind)} for kind in _VALUES},
}
_HOSTS = Graph(_OF_A_HOST)
_MOST_HOSTS = 1 << 14


@lru_cache(maxsize=_MOST_HOSTS)
def host_key(host: Host) -> Structure:
    """Steps share the hosts that they do not touch."""
    return _HOSTS.read(host)


def hosts(value: tuple[Host, ...], _: object, graph: Graph) -> Structure:
    return tuple(map(host_key, value))


RULES: Rules = {
    **_OF_A_HOST,
    Quorum: {
        "make": plain,
        "hosts": hosts,
        "loses_unflushed": plain,
        "votes": plain,
        "stood": SHOWN,
        "committed": SHOWN,
        "committed_in": SHOWN,
    },
}
GRAPH = Graph(RULES)


def key(quorum: Quorum) -> Hashable:
    """All that decides the quorum's next steps besides what is shown, read off its objects."""
    return GRAPH.read(quorum)
