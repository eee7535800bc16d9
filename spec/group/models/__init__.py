"""The models of the consumer coordinator, in the order in which `fencepost list` shows them."""

from spec.group.models import extents, full, pings, protocols, rebalances, timed

MODELS = [*rebalances.MODELS, *pings.MODELS, *extents.MODELS, *protocols.MODELS, *timed.MODELS, *full.MODELS]
