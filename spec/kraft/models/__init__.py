"""The models of KIP-631, in the order in which `fencepost list` shows them; the first is the design's default."""

from spec.kraft import abstract_isr
from spec.kraft.models import (
    administration,
    asked,
    composed,
    failover,
    full,
    open,
    quorum,
    raft,
    recorded,
    replica_logs,
    replication,
    shutdown,
    timed,
)

MODELS = [
    *replication.MODELS,
    abstract_isr.page.ABSTRACT_ISR,
    *administration.MODELS,
    *failover.MODELS,
    *full.MODELS,
    *quorum.MODELS,
    *raft.MODELS,
    *asked.MODELS,
    *open.MODELS,
    *shutdown.MODELS,
    *timed.MODELS,
    *composed.MODELS,
    *replica_logs.MODELS,
    *recorded.MODELS,
]

INCLUSIONS = [*asked.INCLUSIONS, *open.INCLUSIONS]
