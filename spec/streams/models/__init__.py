"""The models of KIP-268, in the order in which `fencepost list` shows them; the first is the design's default."""

from spec.streams.models import faults, full, matrix, probing, rebalances, tasks, upgrades

MODELS = [
    *probing.MODELS,
    *faults.MODELS,
    *upgrades.MODELS,
    *matrix.MODELS,
    *tasks.MODELS,
    *rebalances.MODELS,
    *full.MODELS,
]
