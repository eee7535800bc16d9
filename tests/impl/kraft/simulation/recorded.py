"""The model that simulated runs are validated on: the quorum's log on one page, with room for many elections."""

from __future__ import annotations

from checker.lang import Model, action, require
from spec.kraft.quorum_log import ACTIONS, Offset, QuorumLog, nobody_stood
from spec.kraft.types import Voter


@action(who="controller {voter}", source="KIP-595, High watermark")
def learn_committed(q: QuorumLog, voter: Voter, end: Offset) -> None:
    """A voter learns, late as it may be, that all before an offset is committed."""
    require(end <= len(q.committed) and q.members[voter].log[:end] == q.committed[:end])


MODELS = [
    Model(
        name="recorded",
        doc="Three voters, any elections, losses and crashes: for traces of simulated runs.",
        init=nobody_stood,
        actions=(*ACTIONS, learn_committed),
        properties=(),
        constants={"controllers": 3, "pending_batches": 16, "max_epoch": 12},
    )
]
