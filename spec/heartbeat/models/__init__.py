"""The models of KIP-343, in the order in which `fencepost list` shows them; the first is the design's default."""

from spec.heartbeat.models import full, leases, liveness, operations, sessions, timed

MODELS = [*leases.MODELS, *sessions.MODELS, *operations.MODELS, *liveness.MODELS, *timed.MODELS, *full.MODELS]
