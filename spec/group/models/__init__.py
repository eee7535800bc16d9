from spec.group.models import extents, full, pings, protocols, rebalances, timed

MODELS = [*rebalances.MODELS, *pings.MODELS, *extents.MODELS, *protocols.MODELS, *timed.MODELS, *full.MODELS]
